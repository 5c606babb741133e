/* What strace prints, any bytes: a line on its own, lines counted by process, whole and in pieces with the
 * same sums, those of a full trace likewise. Its messages are fed the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/strace/calls.h"
#include "probe/strace/lines.h"
#include "probe/strace/messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
    uint64_t count, errors, ns;
};

static void visit(void *context, uint32_t id, pid_t process, const struct syscall_table *more)
{
    struct sums *sums = context;

    if (id == 0 || process <= 0)
        abort();
    for (size_t i = 0; i < more->count; i++) {
        const struct syscall_totals *totals = &more->entries[i].totals;

        if (totals->errors > totals->count)
            abort();
        sums->count += totals->count;
        sums->errors += totals->errors;
        sums->ns += totals->ns;
    }
}

static struct sums count(const char *text, size_t size, size_t first)
{
    struct strace_calls *calls = strace_calls_new("/nonexistent");
    struct sums sums = {0};

    if (!calls)
        return sums;
    strace_calls_know(calls, 12, 12);
    strace_calls_know(calls, 14, 12);
    strace_calls_from_exec(calls, 13);
    strace_calls_add(calls, text, first);
    strace_calls_add(calls, text + first, size - first);
    strace_calls_close(calls);
    strace_calls_read(calls, visit, &sums);
    if (sums.count > size || strace_calls_id(calls, 12, 0))
        abort();
    strace_calls_free(calls);
    return sums;
}

static void check_line(const char *text, size_t size)
{
    struct strace_line line;

    strace_line_parse(text, size, &line);
    if (strnlen(line.name, sizeof(line.name)) == sizeof(line.name) ||
        (line.kind != STRACE_LINE_OTHER && line.thread <= 0) || line.other < 0 ||
        (line.makes_thread && !line.makes_task) || (line.kind == STRACE_LINE_RETURNED && !line.name[0]))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const pid_t pids[] = {12, 13};
    struct strace_counter whole = {0}, pieces = {0};
    struct strace_messages messages = {0};

    check_line(text, size);
    const struct sums at_once = count(text, size, size), in_two = count(text, size, size / 2);
    if (memcmp(&at_once, &in_two, sizeof(at_once)) != 0)
        abort();
    strace_counter_add(&whole, text, size);
    strace_counter_add(&pieces, text, size / 2);
    strace_counter_add(&pieces, text + size / 2, size - size / 2);
    if (whole.calls != pieces.calls || whole.calls > size)
        abort();
    if (strace_messages_init(&messages, pids, 2) == 0) {
        strace_messages_add(&messages, text, size);
        if (messages.waiting > 2 || (messages.attached && messages.refused))
            abort();
    }
    strace_messages_fini(&messages);
    return 0;
}
