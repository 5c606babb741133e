/* Any bytes as a record of our kernel-side programs: nothing outside them is read, and the texts of an event
 * lie inside the record. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/bpf/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const uint8_t *data, size_t size, const char *text, size_t length)
{
    const uint8_t *begin = (const uint8_t *)text;

    if (begin < data || length > size || begin > data + size - length)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lifecycle_event event;

    if (bpf_event_parse(data, size, &event) < 0)
        return 0;
    switch (event.what) {
    case LIFECYCLE_EXEC:
        if (event.exec.arguments)
            check_inside(data, size, event.exec.arguments, event.exec.length);
        else if (event.exec.length != 0)
            abort();
        break;
    case LIFECYCLE_SIGNAL:
        check_inside(data, size, event.signal.name, strlen(event.signal.name) + 1);
        break;
    case LIFECYCLE_FORK:
    case LIFECYCLE_EXIT:
    case LIFECYCLE_OOM:
        break;
    default:
        abort();
    }
    return 0;
}
