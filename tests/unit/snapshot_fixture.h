/* Snapshots made up for tests. */
#ifndef METRON_TESTS_SNAPSHOT_FIXTURE_H
#define METRON_TESTS_SNAPSHOT_FIXTURE_H

#include <stddef.h>

#include "columns_fixture.h"

/* So many processes, pid 1000 and up, everything measured, the odd ones of job "night". */
static inline struct snapshot *snapshot_of(struct snapshot_pool *pool, size_t count)
{
    struct snapshot *snapshot = snapshot_new(pool);
    struct snapshot_process *processes = NULL;

    if (snapshot && snapshot_set_columns(snapshot, all_columns()) == 0)
        processes = snapshot_make_processes(snapshot, count);
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
            .values = processes[i].values,
            .has_age = true,
            .has_sheet = true,
            .age_seconds = 1234.56 + (double)i,
            .job_id = i % 2 ? "night" : NULL,
            .sheet_num = (int64_t)(i % 50),
            .membership = i % 2 ? MEMBER_BY_EVENTS : MEMBER_OF_NONE,
        };
        set_value(&processes[i], "cpu_percent", 0.01 * (double)i / 3);
        set_value(&processes[i], "rss_mb", 4096.0 * (12345 + (double)i));
        set_value(&processes[i], "vms_mb", 4096.0 * (1234567 + (double)i));
        set_value(&processes[i], "threads", 4);
        set_value(&processes[i], "open_fds", 17);
        set_value(&processes[i], "read_bytes", 4096.0 * 37 * (double)i);
        set_value(&processes[i], "write_bytes", 4096.0 * 11 * (double)i);
    }
    return snapshot;
}

#endif
