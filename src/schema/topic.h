/*
 * Which question a measurement answers: what reports, plots and suggestions choose by, so that they name no
 * key and a new source appears in them.
 *
 * The name of a topic has its group before the first dot: "cpu.user" is of the group "cpu". A topic that is
 * its group alone is the whole of it ("cpu"), or what has no topic of its own there ("io", "self").
 */
#ifndef METRON_SCHEMA_TOPIC_H
#define METRON_SCHEMA_TOPIC_H

#include <stdbool.h>
#include <stddef.h>

/* Each group begins with the topic that has its name. */
enum topic {
    TOPIC_OTHER,
    TOPIC_CPU, /* all CPU time: seconds, or a rate */
    TOPIC_CPU_USER,
    TOPIC_CPU_SYSTEM,
    TOPIC_CPU_PART,      /* of the living or of the reaped only; what is missing */
    TOPIC_CPU_THROTTLED, /* how long a quota held it back */
    TOPIC_MEMORY,        /* memory held at one time, all of it */
    TOPIC_MEMORY_MARK,   /* the largest so far, kept by the kernel */
    TOPIC_MEMORY_PART,   /* one part of it only, or more than it: page cache, address space */
    TOPIC_MEMORY_SWAP,
    TOPIC_MEMORY_LIMIT,
    TOPIC_IO,
    TOPIC_IO_READ, /* from storage */
    TOPIC_IO_WRITE,
    TOPIC_IO_READ_CALLS, /* by calls: from the page cache and pipes too */
    TOPIC_IO_WRITE_CALLS,
    TOPIC_STALL,
    TOPIC_STALL_CPU, /* share of the time in which some task of the target waited for a CPU */
    TOPIC_STALL_MEMORY,
    TOPIC_STALL_IO,
    TOPIC_STALL_MACHINE, /* the same of all tasks of the machine */
    TOPIC_STALL_MACHINE_CPU,
    TOPIC_STALL_MACHINE_MEMORY,
    TOPIC_STALL_MACHINE_IO,
    TOPIC_FAULT, /* without storage */
    TOPIC_FAULT_MAJOR,
    TOPIC_SWITCH,
    TOPIC_PROCESS, /* how many */
    TOPIC_PROCESS_ZOMBIES,
    TOPIC_PROCESS_OOM_KILLS,
    TOPIC_PROCESS_COMMAND,
    TOPIC_PROCESS_START,
    TOPIC_PROCESS_AGE,
    TOPIC_THREAD,
    TOPIC_FILE, /* open file descriptors */
    TOPIC_SYSCALL,
    TOPIC_SYSCALL_ERRORS,
    TOPIC_SYSCALL_ERROR_NAMES,
    TOPIC_GPU,
    TOPIC_MACHINE,
    TOPIC_MACHINE_CPU,
    TOPIC_SELF, /* what metron itself uses */
    TOPIC_SELF_CPU,
    TOPIC_SELF_MEMORY,
    TOPIC_SELF_SAMPLES,
    TOPIC_SELF_MISSED,
    TOPIC_COUNT
};

const char *topic_name(enum topic topic);
/* TOPIC_COUNT: there is none of this name. */
enum topic topic_named(const char *name, size_t length);
/* The topic with the name of the group: TOPIC_CPU of TOPIC_CPU_USER. */
enum topic topic_group(enum topic topic);
/* Whether it is about the whole machine, not about the target. */
bool topic_is_of_machine(enum topic topic);

#endif
