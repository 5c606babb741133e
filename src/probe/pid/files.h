/*
 * The other files of /proc/PID: bytes in, struct out.
 *
 *   statm   "size resident shared text lib data dt" in pages
 *   status  "Name:\tcat\n…VmHWM:\t    1234 kB\n…voluntary_ctxt_switches:\t12\n…"
 *   io      "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\n…": of the process, its ended threads and its
 *           waited-for children
 *   limits  "Max open files            1024                 1048576              files     \n"
 *   children  "12 13 14 " (task/TID/children; needs CONFIG_PROC_CHILDREN)
 *   cmdline arguments, each ended by NUL; empty for kernel threads and zombies
 */
#ifndef METRON_PROBE_PID_FILES_H
#define METRON_PROBE_PID_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pid_statm {
    uint64_t size_pages, resident_pages, shared_pages;
};
int pid_statm_parse(const char *text, size_t length, struct pid_statm *out);

struct pid_status {
    bool has_hwm, has_swap; /* zombies and kernel threads have none */
    uint64_t hwm_bytes, swap_bytes;
    bool has_switches; /* of this one thread, not of the process */
    uint64_t voluntary_switches, involuntary_switches;
};
int pid_status_parse(const char *text, size_t length, struct pid_status *out);

/* From status too: which process this is a thread of, and whose. */
struct pid_identity {
    pid_t leader;    /* "Tgid:\t4711" */
    uid_t uid;       /* "Uid:\t1000\t1000\t1000\t1000": the first, the real one */
    bool has_memory; /* it has a line VmSize: it is no zombie, is not exiting, and is no thread of the kernel
                      */
};
/* 0, or -EBADMSG if it is not such a file, or cut off before these lines. */
int pid_identity_parse(const char *text, size_t length, struct pid_identity *out);

/* From status too: the signals that wait for its first thread, or for the whole process, and that this thread
 * neither blocks nor ignores nor handles. Bit N - 1: signal N. 0, or -EBADMSG if it is not such a file, or
 * cut off before these lines. */
int pid_pending_parse(const char *text, size_t length, uint64_t *signals);

/* Bytes and calls. `read_bytes` and `write_bytes` are those that reached storage (or will: a write counts
 * when a page is dirtied); `rchar` and `wchar` those that passed through read and write, cache and pipes
 * included. */
struct pid_io {
    uint64_t rchar, wchar, syscr, syscw, read_bytes, write_bytes;
};
int pid_io_parse(const char *text, size_t length, struct pid_io *out);
struct pid_io pid_io_minus(const struct pid_io *a, const struct pid_io *b);

/* Soft limit of "Max open files"; UINT64_MAX for unlimited. */
int pid_limits_parse(const char *text, size_t length, uint64_t *open_files);

/* Calls `visit` for each pid of a children listing; a cut-off last number (no space after it) is not visited.
 * Returns the number visited or -EBADMSG. */
int pid_children_parse(const char *text, size_t length, void (*visit)(void *context, pid_t pid),
                       void *context);

#endif
