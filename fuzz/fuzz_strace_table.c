/* What strace prints: any bytes; a table that is refused is not visited, and the number visited is the number
 * told. Its messages are fed the same bytes. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/strace/messages.h"
#include "probe/strace/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(void *context, const struct strace_call *call)
{
    if (strnlen(call->name, sizeof(call->name)) == sizeof(call->name) || call->errors > call->count ||
        !(call->seconds >= 0))
        abort();
    ++*(int *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const pid_t pids[] = {12, 13};
    struct strace_counter whole = {0}, pieces = {0};
    struct strace_messages messages = {0};
    int visited = 0;
    int code = strace_table_parse(text, size, visit, &visited);

    if (code < 0 ? code != -EBADMSG || visited != 0 : code != visited)
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
