/* Snapshots made up for tests. */
#ifndef METRON_TESTS_SNAPSHOT_FIXTURE_H
#define METRON_TESTS_SNAPSHOT_FIXTURE_H

#include <stddef.h>

#include "schema/snapshot.h"

/* So many processes, pid 1000 and up, everything measured, the odd ones of job "night". */
static inline struct snapshot *snapshot_of(struct snapshot_pool *pool, size_t count)
{
    struct snapshot *snapshot = snapshot_new(pool);
    struct snapshot_process *processes =
        snapshot ? arena_alloc(&snapshot->arena, count * sizeof(*processes)) : NULL;

    if (!processes)
        return NULL;
    snapshot->wall = (struct timespec){1763192573, 250000000};
    snapshot->daemon_pid = 77;
    snapshot->uptime_seconds = 12.5;
    snapshot->processes = processes;
    snapshot->process_count = count;
    for (size_t i = 0; i < count; i++) {
        processes[i] = (struct snapshot_process){
            .serial = i + 1,
            .pid = (pid_t)(1000 + i),
            .ppid = (pid_t)(999 + i),
            .start_ticks = 123456 + 7 * i,
            .command =
                arena_printf(&snapshot->arena,
                             "/usr/bin/python3 -m train --epochs %zu --settings /home/user/thing.yaml", i),
            .state = 'S',
            .has = PROCESS_HAS_CPU | PROCESS_HAS_RSS | PROCESS_HAS_VMS | PROCESS_HAS_THREADS |
                   PROCESS_HAS_FDS | PROCESS_HAS_AGE | PROCESS_HAS_IO | PROCESS_HAS_SHEET,
            .cpu = 0.01 * (double)i / 3,
            .rss_bytes = 4096 * (12345 + i),
            .vms_bytes = 4096 * (1234567 + i),
            .threads = 4,
            .open_fds = 17,
            .age_seconds = 1234.56 + (double)i,
            .read_bytes = 4096 * 37 * i,
            .write_bytes = 4096 * 11 * i,
            .job_id = i % 2 ? "night" : NULL,
            .sheet_num = (int64_t)(i % 50),
            .membership = i % 2 ? MEMBER_BY_EVENTS : MEMBER_OF_NONE,
        };
    }
    return snapshot;
}

#endif
