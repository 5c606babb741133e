/* Any bytes as a datagram of the process connector: nothing outside them is read, and the count is right. */
#include <stdint.h>
#include <stdlib.h>

#include "probe/connector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(void *context, const struct connector_event *event)
{
    if (event->what > CONNECTOR_OTHER)
        abort();
    ++*(int *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int visits = 0;
    int count = connector_parse(data, size, visit, &visits);

    if (count >= 0 && count != visits)
        abort();
    return 0;
}
