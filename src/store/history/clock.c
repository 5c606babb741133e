/*
 * The retention clock: how old something is, whatever somebody sets the wall clock to.
 *
 * It is the machine's time since boot (CLOCK_BOOTTIME, which counts while the machine sleeps and which nobody
 * can set) plus an offset. The offset is stored with the boot it belongs to. A daemon that starts in the same
 * boot goes on with it: the time in between counts. After another boot the clock goes on from where it was
 * with the last snapshot: how long the machine was off, no clock but the wall clock knows, and what is kept a
 * little longer is no harm. It never goes back.
 */
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "store/history/state.h"

#define BOOT_ID      "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 64

/* The offset of this boot, if it is stored: 1. */
static int read_offset(struct history *history, const char *boot, double *offset)
{
    sqlite3_stmt *find = history_statement(history, SQL_CLOCK_FIND);

    bind_text(find, 1, boot);
    int code = database_step(history->database, find);
    if (code == 1)
        *offset = sqlite3_column_double(find, 0);
    (void)sqlite3_reset(find);
    return code;
}

static int write_offset(struct history *history, const char *boot, double offset)
{
    int code = database_run(history->database, "DELETE FROM clock");
    if (code < 0)
        return code;
    sqlite3_stmt *add = history_statement(history, SQL_CLOCK_ADD);
    bind_text(add, 1, boot);
    bind_real(add, 2, true, offset);
    return history_run(history, add);
}

static int find_offset(struct history *history, double boot_seconds)
{
    struct history_counters *counters = &history->counters;
    char boot[BOOT_ID_SIZE];
    bool known = file_read(AT_FDCWD, BOOT_ID, boot, sizeof(boot)) > 0;
    int code = known ? read_offset(history, boot, &counters->clock_offset) : 0;

    if (code == 0) {
        counters->clock_offset = counters->clock - boot_seconds;
        code = write_offset(history, known ? boot : "", counters->clock_offset);
    }
    counters->has_clock_offset = code >= 0;
    return code < 0 ? code : 0;
}

int retention_clock_advance(struct history *history, double boot_seconds)
{
    struct history_counters *counters = &history->counters;
    int code = counters->has_clock_offset ? 0 : find_offset(history, boot_seconds);

    if (code == 0 && boot_seconds + counters->clock_offset > counters->clock)
        counters->clock = boot_seconds + counters->clock_offset;
    return code;
}
