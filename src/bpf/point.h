/*
 * Reading the kernel's memory at any address by plain loads, which yield 0 where there is nothing.
 *
 * To be included by one source alone, before others: bpftool up to 7.1 cannot link two that know a function
 * of the kernel's.
 */
#ifndef METRON_BPF_POINT_H
#define METRON_BPF_POINT_H

#include "bpf/shared.h"

/* From Linux 6.2 on. Before, and in the other sources, bpf_probe_read_kernel does it, which costs as much as
 * ten loads. */
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

#define CAN_POINT            (bpf_rdonly_cast != 0)
#define POINT(type, address) ((type *)bpf_rdonly_cast((const void *)(address), bpf_core_type_id_kernel(type)))

#endif
