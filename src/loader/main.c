/*
 * metron-bpf: loads our programs into the kernel, attaches them, hands their descriptors to metron and ends.
 *
 *     metron-bpf SOCKET SPAWNER [calls|marked-calls]
 *
 * A program of its own because what it needs is needed only for these tens of milliseconds: libbpf and its
 * libraries, the kernel's description of its types (megabytes), and CAP_BPF and CAP_PERFMON.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/handover.h"
#include "bpf/wire.h"
/* After wire.h, whose types it uses. Made by bpftool from the programs in bpf/. */
#include "bpf/programs.skel.h"

#define DESCRIPTORS_MAX (HANDOVER_PARTS + HANDOVER_LINKS_MAX)

static char last_complaint[HANDOVER_TEXT_SIZE]; /* of libbpf */

static int note_complaint(enum libbpf_print_level level, const char *format, va_list arguments)
{
    if (level == LIBBPF_WARN && !last_complaint[0]) {
        (void)vsnprintf(last_complaint, sizeof(last_complaint), format, arguments);
        last_complaint[strcspn(last_complaint, "\n")] = '\0';
    }
    return 0;
}

struct descriptors {
    int fds[DESCRIPTORS_MAX];
    size_t count;
};

static int send_handover(int socket_fd, const struct handover *message, const struct descriptors *descriptors)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * DESCRIPTORS_MAX)];
    } control = {0};
    struct iovec part = {.iov_base = (void *)message, .iov_len = sizeof(*message)};
    struct msghdr envelope = {.msg_iov = &part, .msg_iovlen = 1};

    if (descriptors->count > 0) {
        const size_t bytes = sizeof(int) * descriptors->count;

        envelope.msg_control = control.bytes;
        envelope.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(header), descriptors->fds, bytes);
    }
    return sendmsg(socket_fd, &envelope, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int __attribute__((format(printf, 3, 4)))
refuse(struct handover *message, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(message->text, sizeof(message->text), format, arguments);
    va_end(arguments);
    message->code = code;
    return code;
}

/* How a kernel tells of OOM kills: with the task (from Linux 6.9 on), with its pid, or not at all. */
enum oom_form { OOM_BY_TASK, OOM_BY_PID, OOM_UNTOLD, OOM_FORMS };

/* From Linux 6.1 on tables may grow from inside a tracepoint: then they cost what is in them. Before, their
 * memory is taken at once. */
static bool grows_safely(void)
{
    struct utsname name;
    char *rest;

    if (uname(&name) != 0)
        return false;
    long major = strtol(name.release, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return major > 6 || (major == 6 && minor >= 1);
}

/* Before Linux 5.14 there is no switch, and they are. */
static bool delays_are_kept(void)
{
    FILE *file = fopen("/proc/sys/kernel/task_delayacct", "re");
    int state = file ? fgetc(file) : '1';

    if (file)
        (void)fclose(file);
    return state != '0';
}

/* Whose system calls are counted: nobody's, those of all members, those of marked ones. */
enum counting { COUNT_NO_CALLS, COUNT_CALLS, COUNT_MARKED_CALLS };

static enum counting counting_of(const char *word)
{
    if (word && strcmp(word, "marked-calls") == 0)
        return COUNT_MARKED_CALLS;
    return word && strcmp(word, "calls") == 0 ? COUNT_CALLS : COUNT_NO_CALLS;
}

static int try_programs(struct programs_bpf **out, unsigned spawner, enum counting calls, enum oom_form form)
{
    struct programs_bpf *programs = programs_bpf__open();

    if (!programs)
        return -errno;
    (void)bpf_program__set_autoload(programs->progs.on_oom, form == OOM_BY_TASK);
    (void)bpf_program__set_autoload(programs->progs.on_oom_by_pid, form == OOM_BY_PID);
    (void)bpf_program__set_autoload(programs->progs.on_call, calls != COUNT_NO_CALLS);
    (void)bpf_program__set_autoload(programs->progs.on_return, calls != COUNT_NO_CALLS);
    (void)bpf_map__set_autocreate(programs->maps.running, calls != COUNT_NO_CALLS);
    (void)bpf_map__set_autocreate(programs->maps.calls, calls != COUNT_NO_CALLS);
    (void)bpf_map__set_autocreate(programs->maps.marked_bits, calls == COUNT_MARKED_CALLS);
    if (grows_safely()) {
        (void)bpf_map__set_map_flags(programs->maps.members, BPF_F_NO_PREALLOC);
        (void)bpf_map__set_map_flags(programs->maps.seeds, BPF_F_NO_PREALLOC);
        (void)bpf_map__set_map_flags(programs->maps.calls, BPF_F_NO_PREALLOC);
    }
    programs->rodata->settings.spawner = spawner;
    programs->rodata->settings.page_size = (unsigned)sysconf(_SC_PAGESIZE);
    programs->rodata->settings.delays = delays_are_kept();
    programs->rodata->settings.marked_calls = calls == COUNT_MARKED_CALLS;
    programs->rodata->settings.cpu_count = (unsigned)libbpf_num_possible_cpus();
    int code = programs_bpf__load(programs);
    if (code == 0)
        code = programs_bpf__attach(programs);
    if (code == 0)
        *out = programs;
    else
        programs_bpf__destroy(programs);
    return code;
}

/* What this kernel lacks is found out by trying: asking it first would cost every start as much as the whole
 * loading does. */
static int load_programs(struct programs_bpf **out, unsigned spawner, enum counting calls,
                         struct handover *message)
{
    int code = -EINVAL;

    for (enum oom_form form = OOM_BY_TASK; form < OOM_FORMS && code < 0; form++) {
        code = try_programs(out, spawner, calls, form);
        if (code == -EPERM || code == -EACCES)
            break;
    }
    if (code == -EPERM || code == -EACCES)
        return refuse(message, code, "the kernel does not permit it: CAP_BPF and CAP_PERFMON are needed%s%s",
                      last_complaint[0] ? "; " : "", last_complaint);
    if (code < 0)
        return refuse(message, code, "%s (%s)", last_complaint[0] ? last_complaint : "cannot be loaded",
                      strerror(-code));
    return 0;
}

static void add_part(struct handover *message, struct descriptors *descriptors, enum handover_part part,
                     int fd)
{
    if (fd < 0)
        return;
    message->parts |= 1U << part;
    descriptors->fds[descriptors->count++] = fd;
}

/* In the order of the parts. */
static void collect_parts(const struct programs_bpf *programs, bool calls, struct handover *message,
                          struct descriptors *descriptors)
{
    const char *begin = (const char *)programs->bss;

    message->control_offset = (unsigned)((const char *)&programs->bss->control - begin);
    message->control_size = (unsigned)bpf_map__value_size(programs->maps.bss);
    message->ring_size = bpf_map__max_entries(programs->maps.events);
    add_part(message, descriptors, HANDOVER_CONTROL, bpf_map__fd(programs->maps.bss));
    add_part(message, descriptors, HANDOVER_EVENTS, bpf_map__fd(programs->maps.events));
    add_part(message, descriptors, HANDOVER_SEEDS, bpf_map__fd(programs->maps.seeds));
    add_part(message, descriptors, HANDOVER_SEEDER, bpf_link__fd(programs->links.seed_members));
    add_part(message, descriptors, HANDOVER_TASKS, bpf_link__fd(programs->links.read_tasks));
    if (calls)
        add_part(message, descriptors, HANDOVER_CALLS, bpf_map__fd(programs->maps.calls));

    const struct bpf_link *links[] = {
        programs->links.on_fork,       programs->links.on_exec,   programs->links.on_exit,
        programs->links.on_free,       programs->links.on_signal, programs->links.on_oom,
        programs->links.on_oom_by_pid, programs->links.on_switch, programs->links.on_call,
        programs->links.on_return,
    };
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        if (links[i]) {
            descriptors->fds[descriptors->count++] = bpf_link__fd(links[i]);
            message->links++;
        }
}

static bool is_socket(int fd)
{
    int type;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

int main(int argc, char **argv)
{
    struct handover message = {0};
    struct descriptors descriptors = {0};
    struct programs_bpf *programs = NULL;
    int socket_fd = argc > 2 ? (int)strtol(argv[1], NULL, 10) : -1;

    if (socket_fd < 3 || !is_socket(socket_fd)) {
        (void)fprintf(stderr, "metron-bpf: this is a part of metron, started by it; it has no use by hand\n");
        return 2;
    }
    enum counting calls = counting_of(argc > 3 ? argv[3] : NULL);
    (void)libbpf_set_print(note_complaint);
    if (load_programs(&programs, (unsigned)strtoul(argv[2], NULL, 10), calls, &message) == 0 && programs)
        collect_parts(programs, calls != COUNT_NO_CALLS, &message, &descriptors);
    int code = send_handover(socket_fd, &message, &descriptors);
    /* What was handed over lives on with whoever has it: nothing is pinned. */
    programs_bpf__destroy(programs);
    return code < 0;
}
