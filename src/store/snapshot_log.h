/*
 * The log of snapshots: one line of JSON each, as daemon.top has it, for whoever wants to read along with
 * tail -f or a few lines of script. The newest lines are in PATH, older ones in PATH.1 and PATH.2; what is
 * older still is gone.
 *
 * For one thread: that of store/writer, whose sink it is.
 */
#ifndef METRON_STORE_SNAPSHOT_LOG_H
#define METRON_STORE_SNAPSHOT_LOG_H

#include <stdint.h>

#include "base/error.h"
#include "schema/snapshot.h"

#define SNAPSHOT_LOG_LIMIT_BYTES (UINT64_C(50) * 1000 * 1000)

struct snapshot_log;

/* Opens nothing yet: a disk that is not there at the start may come later. `limit_bytes`: of the file, before
 * it becomes PATH.1; 0: the default. NULL for want of memory. */
struct snapshot_log *snapshot_log_new(const char *path, uint64_t limit_bytes);
void snapshot_log_free(struct snapshot_log *log);

/* Appends one line, whole or not at all. After a failure the next call tries again from the start: opens the
 * file, making its folder where that is missing. `log` is a struct snapshot_log (void for writer_sink). */
int snapshot_log_write(void *log, const struct snapshot *snapshot, struct metron_error *error);

#endif
