/* Inside probe/: what is held of our kernel-side programs. Not for other rooms. */
#ifndef METRON_PROBE_BPF_STATE_H
#define METRON_PROBE_BPF_STATE_H

#include "bpf/handover.h"
#include "probe/bpf/programs.h"
#include "probe/bpf/ring.h"

struct bpf_programs {
    int parts[HANDOVER_PARTS]; /* -1: not there */
    int links[HANDOVER_LINKS_MAX];
    size_t link_count;
    char *memory; /* shared with the kernel */
    size_t memory_size;
    struct wire_control *control; /* in it */
    struct bpf_ring ring;
    struct wire_task *tasks;
    size_t task_bytes, task_capacity;
    struct wire_call_key *call_keys; /* scratch of one batch */
    struct wire_call *call_values;
};

/* Takes over the descriptors, all of them, also where it fails. */
int bpf_programs_new(const struct handover *message, const int *fds, size_t count, struct bpf_programs **out,
                     struct metron_error *error);

#endif
