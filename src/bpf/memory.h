/*
 * How many pages a process has in memory and in swap, exactly.
 *
 * The kernel counts them per CPU and only now and then adds the parts up; the sum that it keeps may be off by
 * dozens of pages for each CPU. Here the parts are added to it, as /proc does from Linux 6.17 on.
 */
#ifndef METRON_BPF_MEMORY_H
#define METRON_BPF_MEMORY_H

#include "bpf/shared.h"

/* Something that every CPU has its own of: it tells where their memory lies. (The kernel's own variables
 * would too, but not every kernel knows their names: CONFIG_KALLSYMS_ALL.) */
struct landmark_table {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
};

extern struct landmark_table landmark SEC(".maps");
extern __u64 cpu_offsets[WIRE_CPUS_MAX]; /* of the CPUs' own memory: looked up once */
extern __u64 cpu_offsets_known;

static __always_inline void find_cpu_offsets(void)
{
    const void *volatile map = &landmark;
    struct bpf_array *array = 0;
    __u64 base;
    __u32 zero = 0;

    /* From Linux 5.19 on; without it resident memory is as exact as the kernel's own sums. */
    if (cpu_offsets_known || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem))
        return;
    /* Read back from memory, the address of a map is a plain number, and may be calculated with. */
    bpf_probe_read_kernel(&array, sizeof(array), (const void *)&map);
    base = (__u64)BPF_CORE_READ(array, pptrs[0]);
    for (__u32 cpu = 0; cpu < WIRE_CPUS_MAX && cpu < settings.cpu_count; cpu++) {
        const void *volatile own = bpf_map_lookup_percpu_elem(&landmark, &zero, cpu);
        __u64 address = 0;

        bpf_probe_read_kernel(&address, sizeof(address), (const void *)&own);
        cpu_offsets[cpu] = address - base;
    }
    cpu_offsets_known = 1;
}

struct pages {
    __s64 resident, swapped;
};

static __always_inline void add_parts(struct pages *pages, const __s32 parts[RSS_KINDS])
{
    pages->resident += parts[RSS_FILE] + parts[RSS_ANON] + parts[RSS_SHMEM];
    pages->swapped += parts[RSS_SWAP];
}

/* From 6.6 on the counters of one CPU lie side by side. */
static __always_inline void add_parts_of_cpu(struct pages *pages, __u64 first)
{
    __s32 parts[RSS_KINDS] = {};

#ifdef CAN_POINT
    if (CAN_POINT) {
        for (int kind = 0; kind < RSS_KINDS; kind++)
            /* A struct of nothing but an int, by one of its names. */
            parts[kind] = POINT(struct refcount_struct, first + kind * sizeof(__s32))->refs.counter;
        add_parts(pages, parts);
        return;
    }
#endif
    bpf_probe_read_kernel(parts, sizeof(parts), (const void *)first);
    add_parts(pages, parts);
}

static __always_inline void add_parts_side_by_side(struct pages *pages, __u64 first)
{
    for (__u32 cpu = 0; cpu < WIRE_CPUS_MAX && cpu < settings.cpu_count; cpu++)
        add_parts_of_cpu(pages, first + cpu_offsets[cpu]);
}

static __always_inline void add_parts_one_by_one(struct pages *pages, const __u64 counters[RSS_KINDS])
{
    for (__u32 cpu = 0; cpu < WIRE_CPUS_MAX && cpu < settings.cpu_count; cpu++) {
        __s32 parts[RSS_KINDS] = {};

        for (int kind = 0; kind < RSS_KINDS; kind++)
            bpf_probe_read_kernel(&parts[kind], sizeof(parts[kind]),
                                  (const void *)(counters[kind] + cpu_offsets[cpu]));
        add_parts(pages, parts);
    }
}

/* The iterator reads it of every process, the others once in the life of one (member_of). */
#ifdef CAN_POINT
#define MM_READ(mm, field) ((mm)->field)
#else
#define MM_READ(mm, field) BPF_CORE_READ(mm, field)
#endif

static __always_inline struct pages pages_of(struct mm_struct *mm)
{
    struct pages pages = {};

    find_cpu_offsets();
    if (bpf_core_field_exists(mm->rss_stat[0].count)) {
        __u64 counters[RSS_KINDS];

        pages.resident = MM_READ(mm, rss_stat[RSS_FILE].count) + MM_READ(mm, rss_stat[RSS_ANON].count) +
                         MM_READ(mm, rss_stat[RSS_SHMEM].count);
        pages.swapped = MM_READ(mm, rss_stat[RSS_SWAP].count);
        counters[RSS_FILE] = (__u64)MM_READ(mm, rss_stat[RSS_FILE].counters);
        counters[RSS_SHMEM] = (__u64)MM_READ(mm, rss_stat[RSS_SHMEM].counters);
        if (cpu_offsets_known) {
            if (counters[RSS_SHMEM] == counters[RSS_FILE] + RSS_SHMEM * sizeof(__s32)) {
                add_parts_side_by_side(&pages, counters[RSS_FILE]);
            } else {
                counters[RSS_ANON] = (__u64)MM_READ(mm, rss_stat[RSS_ANON].counters);
                counters[RSS_SWAP] = (__u64)MM_READ(mm, rss_stat[RSS_SWAP].counters);
                add_parts_one_by_one(&pages, counters);
            }
        }
    } else {
        struct mm_struct___before_6_2 *old = (void *)mm;

        pages.resident += BPF_CORE_READ(old, rss_stat.count[RSS_FILE].counter);
        pages.resident += BPF_CORE_READ(old, rss_stat.count[RSS_ANON].counter);
        pages.resident += BPF_CORE_READ(old, rss_stat.count[RSS_SHMEM].counter);
        pages.swapped = BPF_CORE_READ(old, rss_stat.count[RSS_SWAP].counter);
    }
    if (pages.resident < 0)
        pages.resident = 0;
    if (pages.swapped < 0)
        pages.swapped = 0;
    return pages;
}

#endif
