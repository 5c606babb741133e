/* Any bytes as statm, status, io, limits and children: the first byte chooses, so that a seed stays one file.
 */
#include <stdint.h>
#include <stdlib.h>

#include "probe/pid/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(void *context, pid_t pid)
{
    if (pid <= 0)
        abort();
    ++*(int *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    struct pid_statm statm;
    struct pid_status status;
    struct pid_identity identity;
    struct pid_io io;
    uint64_t limit, signals;
    int visits = 0, count;

    if (size == 0)
        return 0;
    size--;
    switch (data[0]) {
    case 'm':
        (void)pid_statm_parse(text, size, &statm);
        break;
    case 's':
        (void)pid_status_parse(text, size, &status);
        (void)pid_identity_parse(text, size, &identity);
        (void)pid_pending_parse(text, size, &signals);
        break;
    case 'i':
        (void)pid_io_parse(text, size, &io);
        break;
    case 'l':
        (void)pid_limits_parse(text, size, &limit);
        break;
    default:
        count = pid_children_parse(text, size, visit, &visits);
        if (count >= 0 && count != visits)
            abort();
    }
    return 0;
}
