/*
 * Births, deaths and signals of processes, as the kernel tells them: from our programs in the kernel (bpf) or
 * from the process connector. Who reads them need not know which.
 */
#ifndef METRON_PROBE_LIFECYCLE_H
#define METRON_PROBE_LIFECYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "probe/pid/files.h"

enum lifecycle_what {
    LIFECYCLE_FORK,         /* a process was born */
    LIFECYCLE_EXEC,         /* it has another program */
    LIFECYCLE_EXIT,         /* it has ended, with all its threads */
    LIFECYCLE_SIGNAL,       /* it was sent a signal */
    LIFECYCLE_OOM,          /* the OOM killer chose it */
    LIFECYCLE_THREAD_BEGIN, /* only from the connector, which tells threads and not whole processes: */
    LIFECYCLE_THREAD_END,   /* the last of them ends the process, and the first may not be the last */
};

/* What a process had used itself, all its threads, no children. */
struct lifecycle_use {
    uint64_t cpu_ns;
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    struct pid_io io;
};

struct lifecycle_event {
    enum lifecycle_what what;
    uint64_t stamp_ns; /* CLOCK_MONOTONIC, the kernel's */
    pid_t pid;         /* of the process */
    uint64_t start_ns; /* CLOCK_BOOTTIME: with the pid, which process; 0: not told */
    uint64_t id;       /* of this process in the kernel's tables (system calls); 0: none */
    union {
        struct {
            pid_t parent;
        } fork;
        struct {
            const char *arguments; /* each ended by NUL; NULL: not told. Borrowed for the visit */
            size_t length;
            bool is_truncated; /* they are only the beginning of the command line */
        } exec;
        struct {
            int wait_status;
            /* From here on 0 where not told. */
            uint64_t lifetime_ns; /* from its birth until it left the CPU for the last time */
            uint64_t peak_bytes;  /* largest resident memory of its last program */
            bool has_use;         /* what it used is told, */
            bool is_whole;        /* and it is all that it ever used */
            struct lifecycle_use use;
        } exit; /* and THREAD_END: wait_status alone */
        struct {
            int number, code;
            pid_t sender;     /* 0: the kernel */
            bool deadly;      /* no handler: it ends the process, */
            bool blocked;     /* unless it is blocked */
            const char *name; /* of the sender; borrowed for the visit */
        } signal;
    };
};

typedef void lifecycle_visit(void *context, const struct lifecycle_event *event);

enum lifecycle_method { LIFECYCLE_CONNECTOR, LIFECYCLE_BPF };

struct bpf_programs;
struct lifecycle;

/* Listens to the process connector; NULL and why it does not answer. */
struct lifecycle *lifecycle_connector(struct metron_error *error);
/* Reads the events of our programs, which must outlive it; NULL for want of memory. */
struct lifecycle *lifecycle_bpf(struct bpf_programs *programs);
void lifecycle_free(struct lifecycle *lifecycle);

enum lifecycle_method lifecycle_method(const struct lifecycle *lifecycle);
int lifecycle_fd(const struct lifecycle *lifecycle); /* to poll */
/* Whether it takes long until unread events are lost: then they may be read seldom. */
bool lifecycle_is_patient(const struct lifecycle *lifecycle);
/* Reads what is there when it begins, and visits it. 0; or -ENOBUFS: some were lost before these. */
int lifecycle_read(struct lifecycle *lifecycle, lifecycle_visit *visit, void *context);
/* Events lost so far. For the connector: of all processes of the machine. */
uint64_t lifecycle_lost(const struct lifecycle *lifecycle);
/* Which processes are followed that live already (bpf; the connector tells of everybody). Their ids come
 * back, 0 where there is none; `ids` may be NULL, and comes zeroed. 0 or a negative errno. */
int lifecycle_follow(struct lifecycle *lifecycle, const pid_t *pids, size_t count, uint64_t *ids);

#endif
