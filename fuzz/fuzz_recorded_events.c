/* events.jsonl read back: any bytes. What is handed out says what happened and when, and of which process
 * only if it can be one. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "store/recording/event_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct event_reader *reader;
    const struct recorded_event *event;
    size_t events = 0, lines = 1;
    int code = event_reader_open_bytes((const char *)data, size, &reader, NULL);

    check(code == 0);
    while ((code = event_reader_next(reader, &event)) == 1) {
        events++;
        check(event->type && isfinite(event->wall));
        check(event->pid >= 0 && event->pid <= INT32_MAX && event->ppid >= 0 && event->sender_pid >= -1);
        check(event->has_exit_code || event->exit_code == 0);
        check(event->has_signal ? event->signal_num >= 0 : event->signal_num == 0);
    }
    check(code == 0);
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    check(events + event_reader_damaged(reader, NULL) <= lines);
    event_reader_free(reader);
    return 0;
}
