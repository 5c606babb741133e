/*
 * The parser of pressure files. Only `total` is taken: the averages are of fixed spans that no window of ours
 * matches, and are brought up to date every two seconds; `total` is counted up to the moment of the read.
 */
#include "probe/pressure.h"

#include <errno.h>
#include <string.h>

#include "probe/digits.h"

/* The number behind " total=", which ends the line: microseconds. */
static bool total_read(const char *line, const char *line_end, double *seconds)
{
    static const char key[] = " total=";
    const size_t key_length = sizeof(key) - 1;
    const char *at = memmem(line, (size_t)(line_end - line), key, key_length);
    uint64_t microseconds;

    if (at == NULL || digits_read(at + key_length, line_end, &microseconds) != line_end)
        return false;
    *seconds = (double)microseconds / 1e6;
    return true;
}

/*
 * psi_show() in kernel/sched/psi.c:
 *
 *   some avg10=0.17 avg60=0.23 avg300=1.21 total=2906386116\n
 *   full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n
 *
 * `cpu` had no second line before Linux 5.13 (the machine's is always 0: somebody runs), `irq` has no first
 * one. Where pressure was switched off at boot, older kernels have the files and refuse the read.
 */
int pressure_parse(const char *text, size_t length, struct pressure *out)
{
    const char *line = text, *end = text + length, *line_end;

    *out = (struct pressure){0};
    for (; (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        if (line_end - line < 5)
            continue;
        if (memcmp(line, "some ", 5) == 0) {
            if (!total_read(line, line_end, &out->some_seconds))
                return -EBADMSG;
            out->has_some = true;
        } else if (memcmp(line, "full ", 5) == 0) {
            if (!total_read(line, line_end, &out->full_seconds))
                return -EBADMSG;
            out->has_full = true;
        }
    }
    return line == end && (out->has_some || out->has_full) ? 0 : -EBADMSG;
}
