/*
 * The process connector (netlink): fork, exec and exit of every process of the machine, as they happen.
 *
 * From about Linux 6.6 an ordinary user may listen, before that CAP_NET_ADMIN is needed; it does not answer
 * outside the initial pid and user namespaces or in another network namespace. Whether it works is known from
 * the kernel's acknowledgement of LISTEN, which comes before the call returns.
 */
#ifndef METRON_PROBE_CONNECTOR_H
#define METRON_PROBE_CONNECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* OTHER: of no interest but for its number. */
enum connector_what { CONNECTOR_FORK, CONNECTOR_EXEC, CONNECTOR_EXIT, CONNECTOR_OTHER };

struct connector_event {
    enum connector_what what;
    uint32_t cpu;      /* where it happened; UINT32_MAX in some answers of the kernel */
    uint32_t sequence; /* of that CPU's messages, one after the other: what is left out was lost */
    uint64_t stamp_ns; /* CLOCK_MONOTONIC, the kernel's */
    pid_t pid, tgid;   /* the new task, the one that executed, the one that ended; pid != tgid is a thread */
    pid_t parent_tgid; /* FORK: who forked; of a thread, or with CLONE_PARENT: their parent */
    int wait_status;   /* EXIT: as from waitpid */
};

/* Opens and subscribes. Returns a non-blocking descriptor, or a negative errno with the reason (permission,
 * namespace, no answer). Asks for an 8 MiB receive buffer. */
int connector_open(struct metron_error *error);
/* Reads what is there, at most a bounded number of datagrams, and calls `visit` for each event. Returns the
 * number of datagrams read (0: none waiting), -ENOBUFS if events were lost (call again: the rest is still
 * there), or another negative errno. */
int connector_read(int fd, void (*visit)(void *context, const struct connector_event *event), void *context);
/* Tells the kernel that nobody listens any more, and closes. */
void connector_close(int fd);
/* Parses one datagram. Returns the number visited or -EBADMSG. */
int connector_parse(const void *bytes, size_t length,
                    void (*visit)(void *context, const struct connector_event *event), void *context);

#endif
