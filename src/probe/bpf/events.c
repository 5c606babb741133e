#include "probe/bpf/events.h"

#include <errno.h>
#include <string.h>

#include "bpf/wire.h"

static struct pid_io io_of(const struct wire_io *io)
{
    return (struct pid_io){.rchar = io->rchar,
                           .wchar = io->wchar,
                           .syscr = io->syscr,
                           .syscw = io->syscw,
                           .read_bytes = io->read_bytes,
                           .write_bytes = io->write_bytes};
}

static int parse_exec(const void *record, size_t length, struct lifecycle_event *out)
{
    const size_t fixed = offsetof(struct wire_exec, arguments);
    struct wire_exec exec;

    if (length < fixed)
        return -EBADMSG;
    memcpy(&exec, record, fixed);
    if (exec.length > length - fixed)
        return -EBADMSG;
    out->what = LIFECYCLE_EXEC;
    out->exec.length = exec.length;
    out->exec.is_truncated = exec.truncated != 0;
    out->exec.arguments = exec.length ? (const char *)record + fixed : NULL;
    return 0;
}

static int parse_exit(const void *record, struct lifecycle_event *out)
{
    const struct wire_exit *exit = record;

    out->what = LIFECYCLE_EXIT;
    out->exit.wait_status = exit->wait_status;
    out->exit.lifetime_ns = exit->gone_ns > exit->born_ns ? exit->gone_ns - exit->born_ns : 0;
    out->exit.peak_bytes = exit->peak_bytes;
    out->exit.has_use = true;
    out->exit.is_whole = !exit->seeded;
    out->exit.use = (struct lifecycle_use){.cpu_ns = exit->cpu_ns,
                                           .minor_faults = exit->minor_faults,
                                           .major_faults = exit->major_faults,
                                           .voluntary_switches = exit->voluntary_switches,
                                           .involuntary_switches = exit->involuntary_switches,
                                           .io = io_of(&exit->io)};
    return 0;
}

static int parse_signal(const void *record, struct lifecycle_event *out)
{
    const struct wire_signal *signal = record;

    if (!memchr(signal->sender_comm, '\0', sizeof(signal->sender_comm)))
        return -EBADMSG;
    out->what = LIFECYCLE_SIGNAL;
    out->signal.number = signal->number;
    out->signal.code = signal->code;
    out->signal.sender = (pid_t)signal->sender;
    out->signal.deadly = signal->deadly != 0;
    out->signal.blocked = signal->blocked != 0;
    out->signal.name = signal->sender_comm;
    return 0;
}

int bpf_event_parse(const void *record, size_t length, struct lifecycle_event *out)
{
    static const size_t sizes[] = {[WIRE_FORK] = sizeof(struct wire_fork),
                                   [WIRE_EXEC] = offsetof(struct wire_exec, arguments),
                                   [WIRE_EXIT] = sizeof(struct wire_exit),
                                   [WIRE_SIGNAL] = sizeof(struct wire_signal),
                                   [WIRE_OOM] = sizeof(struct wire_oom)};
    const struct wire_event *event = record;

    if (length < sizeof(*event) || event->what < WIRE_FORK || event->what > WIRE_OOM ||
        length < sizes[event->what])
        return -EBADMSG;
    *out = (struct lifecycle_event){
        .stamp_ns = event->stamp_ns, .pid = (pid_t)event->pid, .start_ns = event->start_ns, .id = event->id};
    switch (event->what) {
    case WIRE_FORK:
        out->what = LIFECYCLE_FORK;
        out->fork.parent = (pid_t)((const struct wire_fork *)record)->parent;
        return 0;
    case WIRE_EXEC:
        return parse_exec(record, length, out);
    case WIRE_EXIT:
        return parse_exit(record, out);
    case WIRE_SIGNAL:
        return parse_signal(record, out);
    default:
        out->what = LIFECYCLE_OOM;
        return 0;
    }
}
