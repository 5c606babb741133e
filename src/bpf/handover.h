/*
 * How the program that loads the kernel-side programs (metron-bpf) hands them over: one message through a
 * socket, with descriptors. Whoever holds these keeps the programs attached; when the last is closed, however
 * that comes, everything is gone. Nothing is pinned.
 */
#ifndef METRON_BPF_HANDOVER_H
#define METRON_BPF_HANDOVER_H

#include <linux/types.h>

enum handover_part {
    HANDOVER_CONTROL, /* shared memory: struct wire_control at `control_offset` */
    HANDOVER_EVENTS,  /* the ring */
    HANDOVER_SEEDS,   /* the table of pids to follow */
    HANDOVER_SEEDER,  /* iterator that follows them */
    HANDOVER_TASKS,   /* iterator that reads processes */
    HANDOVER_CALLS,   /* the table of system calls */
    HANDOVER_PARTS
};

#define HANDOVER_LINKS_MAX 16 /* attachments: only to be held */
#define HANDOVER_TEXT_SIZE 256

/* The descriptors that come with it: the parts that are there, in their order, then the links. */
struct handover {
    __s32 code;  /* 0, or a negative errno and `text` says why nothing came */
    __u32 parts; /* bit N: part N is there */
    __u32 links;
    __u32 control_offset, control_size;
    __u32 ring_size; /* bytes */
    char text[HANDOVER_TEXT_SIZE];
};

#endif
