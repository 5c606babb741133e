/*
 * The layout is the kernel's interface (kernel/bpf/ringbuf.c): a page with the consumer's position, a page
 * with the producer's, then the data, mapped twice in a row so that no record is broken at the end. A record
 * is a header of 8 bytes (its length with two flag bits, and a number of the kernel's own) and its data,
 * rounded up to 8 bytes.
 */
#include "probe/bpf/ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#define LENGTH_MASK (~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT))

int bpf_ring_open(struct bpf_ring *ring, int fd, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    *ring = (struct bpf_ring){.page_size = page, .size = size};
    void *consumed = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (consumed == MAP_FAILED)
        return -errno;
    const void *kernel = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)page);
    if (kernel == MAP_FAILED) {
        int code = -errno;
        (void)munmap(consumed, page);
        return code;
    }
    /* A child would begin with all of it as its resident memory. */
    (void)madvise(consumed, page, MADV_DONTFORK);
    (void)madvise((void *)kernel, page + 2 * size, MADV_DONTFORK);
    ring->consumed = consumed;
    ring->kernel = kernel;
    return 0;
}

void bpf_ring_close(struct bpf_ring *ring)
{
    if (ring->consumed)
        (void)munmap(ring->consumed, ring->page_size);
    if (ring->kernel)
        (void)munmap((void *)ring->kernel, ring->page_size + 2 * ring->size);
    *ring = (struct bpf_ring){0};
}

size_t bpf_ring_read(struct bpf_ring *ring, void (*visit)(void *context, const void *record, size_t length),
                     void *context)
{
    const unsigned long end = __atomic_load_n((const unsigned long *)ring->kernel, __ATOMIC_ACQUIRE);
    const char *data = (const char *)ring->kernel + ring->page_size;
    unsigned long position = __atomic_load_n(ring->consumed, __ATOMIC_RELAXED);
    size_t count = 0;

    while (position < end) {
        const char *record = data + (position & (ring->size - 1));
        uint32_t header = __atomic_load_n((const uint32_t *)(const void *)record, __ATOMIC_ACQUIRE);
        size_t length = header & LENGTH_MASK;

        if (header & BPF_RINGBUF_BUSY_BIT)
            break; /* still being written */
        if (!(header & BPF_RINGBUF_DISCARD_BIT)) {
            visit(context, record + BPF_RINGBUF_HDR_SZ, length);
            count++;
        }
        position += (length + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
        __atomic_store_n(ring->consumed, position, __ATOMIC_RELEASE);
    }
    return count;
}
