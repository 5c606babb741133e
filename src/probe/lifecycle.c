#include "probe/lifecycle.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "probe/bpf/programs.h"
#include "probe/connector.h"

/* An ordinary user's receive buffer holds some 500 events of the connector. */
#define PATIENT_BUFFER_BYTES (4 * 1024 * 1024)

#define CPUS_MAX 4096 /* beyond these the connector's losses are counted by occasions */

#define MESSAGE_BYTES_LEAST 512 /* of the receive buffer: the kernel counts what it keeps beside the data */

/* Of the connector's messages that one CPU sends. */
struct cpu_sequence {
    bool seen;
    uint32_t last;
};

struct lifecycle {
    enum lifecycle_method method;
    int connector_fd;
    struct bpf_programs *programs;
    uint64_t lost;
    uint64_t overflows,
        missing; /* the connector's: how often there was no room, messages that did not come */
    struct cpu_sequence sequences[CPUS_MAX];
    lifecycle_visit *visit; /* of the reading that is under way */
    void *context;
};

static struct lifecycle *lifecycle_new(enum lifecycle_method method)
{
    struct lifecycle *lifecycle = calloc(1, sizeof(*lifecycle));

    if (!lifecycle)
        return NULL;
    lifecycle->method = method;
    lifecycle->connector_fd = -1;
    return lifecycle;
}

struct lifecycle *lifecycle_connector(struct metron_error *error)
{
    struct lifecycle *lifecycle = lifecycle_new(LIFECYCLE_CONNECTOR);

    if (!lifecycle) {
        (void)error_set(error, -ENOMEM, "no memory");
        return NULL;
    }
    lifecycle->connector_fd = connector_open(error);
    if (lifecycle->connector_fd < 0) {
        free(lifecycle);
        return NULL;
    }
    return lifecycle;
}

struct lifecycle *lifecycle_bpf(struct bpf_programs *programs)
{
    struct lifecycle *lifecycle = lifecycle_new(LIFECYCLE_BPF);

    if (lifecycle)
        lifecycle->programs = programs;
    return lifecycle;
}

void lifecycle_free(struct lifecycle *lifecycle)
{
    if (!lifecycle)
        return;
    if (lifecycle->connector_fd >= 0)
        connector_close(lifecycle->connector_fd);
    free(lifecycle);
}

enum lifecycle_method lifecycle_method(const struct lifecycle *lifecycle)
{
    return lifecycle->method;
}

int lifecycle_fd(const struct lifecycle *lifecycle)
{
    return lifecycle->method == LIFECYCLE_BPF ? bpf_programs_events_fd(lifecycle->programs)
                                              : lifecycle->connector_fd;
}

bool lifecycle_is_patient(const struct lifecycle *lifecycle)
{
    int buffer = 0;
    socklen_t size = sizeof(buffer);

    if (lifecycle->method == LIFECYCLE_BPF)
        return true;
    return getsockopt(lifecycle->connector_fd, SOL_SOCKET, SO_RCVBUF, &buffer, &size) == 0 &&
           buffer >= PATIENT_BUFFER_BYTES;
}

/* How many messages of its CPU are missing before this one. */
static uint32_t missing_before(struct lifecycle *lifecycle, const struct connector_event *told)
{
    struct cpu_sequence *known;
    uint32_t missing = 0;

    if (told->cpu >= CPUS_MAX)
        return 0;
    known = &lifecycle->sequences[told->cpu];
    if (known->seen)
        missing = told->sequence - known->last - 1;
    *known = (struct cpu_sequence){.seen = true, .last = told->sequence};
    return missing;
}

static void convert(void *context, const struct connector_event *told)
{
    struct lifecycle *lifecycle = context;
    struct lifecycle_event event = {.stamp_ns = told->stamp_ns, .pid = told->tgid};

    lifecycle->missing += missing_before(lifecycle, told);
    switch (told->what) {
    case CONNECTOR_FORK:
        event.what = told->pid == told->tgid ? LIFECYCLE_FORK : LIFECYCLE_THREAD_BEGIN;
        event.fork.parent = told->parent_tgid;
        break;
    case CONNECTOR_EXEC:
        event.what = LIFECYCLE_EXEC;
        break;
    case CONNECTOR_EXIT:
        event.what = LIFECYCLE_THREAD_END;
        event.exit.wait_status = told->wait_status;
        break;
    case CONNECTOR_OTHER:
        return;
    }
    lifecycle->visit(lifecycle->context, &event);
}

/* How many messages can be queued, or more. */
static int queue_length(int fd)
{
    int bytes = 0;
    socklen_t size = sizeof(bytes);

    (void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size);
    return bytes / MESSAGE_BYTES_LEAST + 1;
}

/* All that is queued now, and not what comes meanwhile: in a storm that would never end. */
static uint64_t read_connector(struct lifecycle *lifecycle)
{
    int left = queue_length(lifecycle->connector_fd);
    int code;

    do {
        code = connector_read(lifecycle->connector_fd, convert, lifecycle);
        if (code == -ENOBUFS)
            lifecycle->overflows++;
        left -= code > 0 ? code : 1;
    } while (left > 0 && (code > 0 || code == -ENOBUFS));
    /* How many are missing is known when the next one comes. */
    return lifecycle->missing > lifecycle->overflows ? lifecycle->missing : lifecycle->overflows;
}

int lifecycle_read(struct lifecycle *lifecycle, lifecycle_visit *visit, void *context)
{
    uint64_t lost = lifecycle->lost;

    lifecycle->visit = visit;
    lifecycle->context = context;
    if (lifecycle->method == LIFECYCLE_CONNECTOR) {
        lifecycle->lost = read_connector(lifecycle);
    } else {
        bpf_programs_read_events(lifecycle->programs, visit, context);
        lifecycle->lost = bpf_programs_lost(lifecycle->programs);
    }
    return lifecycle->lost > lost ? -ENOBUFS : 0;
}

uint64_t lifecycle_lost(const struct lifecycle *lifecycle)
{
    return lifecycle->lost;
}

int lifecycle_follow(struct lifecycle *lifecycle, const pid_t *pids, size_t count, uint64_t *ids)
{
    return lifecycle->method == LIFECYCLE_BPF ? bpf_programs_follow(lifecycle->programs, pids, count, ids)
                                              : 0;
}
