/*
 * Parsers of the small files of /proc/PID. Each takes bytes and a length, looks only at what is needed, and
 * never takes a number that the text was cut off in: a number counts only with the byte that ends it.
 */
#include "probe/pid/files.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "probe/digits.h"

/*
 * /proc/PID/statm, proc_pid_statm() in fs/proc/array.c; pages, summed exactly over the per-CPU counters:
 *
 *   2120 371 340 10 0 138 0\n
 *   size resident shared text lib data dt
 */
int pid_statm_parse(const char *text, size_t length, struct pid_statm *out)
{
    const char *at = text, *end = text + length;
    uint64_t values[3];

    for (size_t i = 0; i < 3; i++) {
        at = digits_read(at, end, &values[i]);
        if (at == NULL || at == end || *at != ' ')
            return -EBADMSG;
        at++;
    }
    out->size_pages = values[0];
    out->resident_pages = values[1];
    out->shared_pages = values[2];
    return 0;
}

/* The number of a line "Key:\t   123 kB" or "Key:\t123" whose key is passed already. False if it is not
 * there or not whole. `line_end` is the newline, so that digits always end before it. */
static bool line_number(const char *at, const char *line_end, uint64_t *value)
{
    at = digits_read(text_skip_blanks(at, line_end), line_end, value);
    return at != NULL && (at == line_end || text_is_blank(*at));
}

/* The same in KiB, as bytes. */
static bool line_kib(const char *at, const char *line_end, uint64_t *bytes)
{
    bool found = line_number(at, line_end, bytes);

    if (__builtin_mul_overflow(*bytes, 1024U, bytes))
        *bytes = UINT64_MAX;
    return found;
}

/* Whether the line begins with `key`, a literal. */
#define LINE_IS(line, line_end, key)                                                                         \
    ((size_t)((line_end) - (line)) >= sizeof(key) - 1 && memcmp((line), (key), sizeof(key) - 1) == 0)

/*
 * /proc/PID/status, proc_pid_status() in fs/proc/array.c and task_mem() in fs/proc/task_mmu.c:
 *
 *   Name:\tcat\n
 *   Umask:\t0022\n
 *   ...
 *   VmHWM:\t    1480 kB\n
 *   ...
 *   VmSwap:\t       0 kB\n
 *   ...
 *   voluntary_ctxt_switches:\t1\n
 *   nonvoluntary_ctxt_switches:\t0\n
 *
 * The name is escaped ("\n" as backslash-n), so that no process can forge a line. Newer kernels put lines
 * anywhere (after the switches too: x86_Thread_features), so the order is not relied on.
 */
int pid_status_parse(const char *text, size_t length, struct pid_status *out)
{
    const char *line = text, *end = text + length, *line_end;
    bool has_voluntary = false, has_involuntary = false;

    memset(out, 0, sizeof(*out));
    if (length < 5 || memcmp(text, "Name:", 5) != 0)
        return -EBADMSG;
    /* A last line that is cut off is not there. */
    for (; !(out->has_hwm && out->has_swap && has_voluntary && has_involuntary) &&
           (line_end = line_end_of(line, end)) != NULL;
         line = line_end + 1) {
        if (*line == 'V' && LINE_IS(line, line_end, "VmHWM:")) {
            out->has_hwm = line_kib(line + 6, line_end, &out->hwm_bytes);
        } else if (*line == 'V' && LINE_IS(line, line_end, "VmSwap:")) {
            out->has_swap = line_kib(line + 7, line_end, &out->swap_bytes);
        } else if (*line == 'v' && LINE_IS(line, line_end, "voluntary_ctxt_switches:")) {
            has_voluntary = line_number(line + 24, line_end, &out->voluntary_switches);
        } else if (*line == 'n' && LINE_IS(line, line_end, "nonvoluntary_ctxt_switches:")) {
            has_involuntary = line_number(line + 27, line_end, &out->involuntary_switches);
        }
    }
    out->has_switches = has_voluntary && has_involuntary;
    return 0;
}

int pid_identity_parse(const char *text, size_t length, struct pid_identity *out)
{
    const char *line = text, *end = text + length, *line_end;
    uint64_t leader = 0, uid = UINT64_MAX;

    *out = (struct pid_identity){0};
    if (length < 5 || memcmp(text, "Name:", 5) != 0)
        return -EBADMSG;
    for (; (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        if (LINE_IS(line, line_end, "Tgid:"))
            (void)line_number(line + 5, line_end, &leader);
        else if (LINE_IS(line, line_end, "Uid:"))
            (void)line_number(line + 4, line_end, &uid);
        else if (LINE_IS(line, line_end, "VmSize:"))
            out->has_memory = true;
    }
    if (leader == 0 || leader > INT32_MAX || uid > UINT32_MAX)
        return -EBADMSG;
    out->leader = (pid_t)leader;
    out->uid = (uid_t)uid;
    return 0;
}

/* The mask of a line "SigPnd:\t0000000000000100" whose key is passed already: 16 digits. */
static bool line_mask(const char *at, const char *line_end, uint64_t *mask)
{
    *mask = 0;
    at = text_skip_blanks(at, line_end);
    if (line_end - at != 16)
        return false;
    for (; at < line_end; at++) {
        unsigned digit = *at >= 'a' ? (unsigned)(*at - 'a') + 10 : (unsigned)(*at - '0');
        if (digit > 15 || (*at < 'a' && digit > 9))
            return false;
        *mask = *mask << 4 | digit;
    }
    return true;
}

int pid_pending_parse(const char *text, size_t length, uint64_t *signals)
{
    static const char *const keys[] = {"SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:"};
    enum { COUNT = sizeof(keys) / sizeof(keys[0]), KEY_LENGTH = 7 };
    const char *line = text, *end = text + length, *line_end;
    uint64_t masks[COUNT];
    size_t found = 0;

    if (length < 5 || memcmp(text, "Name:", 5) != 0)
        return -EBADMSG;
    for (; found < COUNT && (line_end = line_end_of(line, end)) != NULL; line = line_end + 1)
        if (line_end - line > KEY_LENGTH && memcmp(line, keys[found], KEY_LENGTH) == 0 &&
            line_mask(line + KEY_LENGTH, line_end, &masks[found]))
            found++;
    if (found < COUNT)
        return -EBADMSG;
    *signals = (masks[0] | masks[1]) & ~(masks[2] | masks[3] | masks[4]);
    return 0;
}

/*
 * /proc/PID/io, do_io_accounting() in fs/proc/base.c:
 *
 *   rchar: 323934931\n
 *   wchar: 323929600\n
 *   syscr: 632687\n
 *   syscw: 632675\n
 *   read_bytes: 0\n
 *   write_bytes: 323932160\n
 *   cancelled_write_bytes: 0\n
 */
int pid_io_parse(const char *text, size_t length, struct pid_io *out)
{
    static const struct {
        const char *key;
        size_t length;
    } keys[] = {{"rchar: ", 7}, {"wchar: ", 7},       {"syscr: ", 7},
                {"syscw: ", 7}, {"read_bytes: ", 12}, {"write_bytes: ", 13}};
    uint64_t values[sizeof(keys) / sizeof(keys[0])];
    const char *at = text, *end = text + length;

    /* The order has never changed since Linux 2.6.20. */
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if ((size_t)(end - at) <= keys[i].length || memcmp(at, keys[i].key, keys[i].length) != 0)
            return -EBADMSG;
        at = digits_read(at + keys[i].length, end, &values[i]);
        if (at == NULL || at == end || *at++ != '\n')
            return -EBADMSG;
    }
    *out = (struct pid_io){values[0], values[1], values[2], values[3], values[4], values[5]};
    return 0;
}

struct pid_io pid_io_minus(const struct pid_io *a, const struct pid_io *b)
{
    return (struct pid_io){a->rchar - b->rchar,           a->wchar - b->wchar,
                           a->syscr - b->syscr,           a->syscw - b->syscw,
                           a->read_bytes - b->read_bytes, a->write_bytes - b->write_bytes};
}

/*
 * /proc/PID/limits, proc_pid_limits() in fs/proc/base.c, "%-25s %-20s %-20s %-10s\n" a line:
 *
 *   Limit                     Soft Limit           Hard Limit           Units     \n
 *   Max open files            1024                 1048576              files     \n
 */
int pid_limits_parse(const char *text, size_t length, uint64_t *open_files)
{
    const char *line = text, *end = text + length, *line_end;

    for (; (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        if (!LINE_IS(line, line_end, "Max open files "))
            continue;
        line += sizeof("Max open files ") - 1;
        if (line_number(line, line_end, open_files))
            return 0;
        while (line < line_end && *line == ' ')
            line++;
        if (!LINE_IS(line, line_end, "unlimited"))
            return -EBADMSG;
        *open_files = UINT64_MAX;
        return 0;
    }
    return -EBADMSG;
}

/*
 * /proc/PID/task/TID/children, children_seq_show() in fs/proc/array.c: "%d " for each child, no newline:
 *
 *   4712 4713 4720 (and a space)
 *
 * A child that this proc mount cannot name is listed as 0 and passed over.
 */
int pid_children_parse(const char *text, size_t length, void (*visit)(void *context, pid_t pid),
                       void *context)
{
    const char *at = text, *end = text + length;
    int count = 0;

    while (at < end) {
        uint64_t pid;

        at = digits_read(at, end, &pid);
        if (at == NULL)
            return -EBADMSG;
        if (at == end)
            break;
        if (*at++ != ' ' || pid > INT_MAX)
            return -EBADMSG;
        if (pid == 0)
            continue;
        visit(context, (pid_t)pid);
        count++;
    }
    return count;
}
