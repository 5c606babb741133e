/*
 * The reading side of a BPF ring buffer: the kernel writes records into memory that we see, and we tell it
 * how far we have read. (libbpf has this as well; metron itself does without that library, which would cost
 * every start of it.)
 */
#ifndef METRON_PROBE_BPF_RING_H
#define METRON_PROBE_BPF_RING_H

#include <stddef.h>
#include <stdint.h>

struct bpf_ring {
    unsigned long *consumed; /* our position: a page of its own */
    const void *kernel;      /* the kernel's position, and the records behind it, twice in a row */
    size_t page_size, size;
};

/* Maps the ring of a descriptor. 0 or a negative errno. */
int bpf_ring_open(struct bpf_ring *ring, int fd, size_t size);
/* Safe on a zeroed struct. */
void bpf_ring_close(struct bpf_ring *ring);
/* Visits the records that are there and frees their room; returns how many. */
size_t bpf_ring_read(struct bpf_ring *ring, void (*visit)(void *context, const void *record, size_t length),
                     void *context);

#endif
