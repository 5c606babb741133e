/* metron attach: follows processes that run already, records, summarises. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/duct_hints.h"
#include "cmd/measuring.h"
#include "loop/attach.h"

static const struct command_description description = {
    .name = "attach",
    .summary = "record what processes that run already use from now on",
    .usage = "[OPTION...] PID...",
    .description =
        "Follows the processes PID, which run already, and all their descendants, those to come included, "
        "and records what they use from this moment on: samples in usage.jsonl, processes that come and go "
        "in events.jsonl, the whole in info.json. What they had used before is not counted, and their "
        "earlier peaks are left out.\n"
        "\n"
        "Nothing is sent to the processes, and they stay in their control group. Nobody traces them, unless "
        "--syscalls summary is given where the kernel does not count calls: then strace does, which slows "
        "them down a lot. "
        "It ends when the last of them has ended, after --duration, or at Ctrl-C (SIGTERM, "
        "SIGHUP): the record is written, they go on, and the exit code is 0. 1: there is no such process, "
        "it is another user's, or something else went wrong; 2 is wrong usage.\n"
        "\n"
        "metron waits for none of them. How a process ended is known only where the kernel tells: to root, "
        "with cap_bpf and cap_perfmon, or from Linux 6.6 on to everybody. Where it does not, a child that "
        "begins, loses its parent and ends between two samples is not seen, and of a process that ends what "
        "it used since its last sample is missing; the summary then says that CPU is not conserved.",
    .examples = "  metron attach 4711\n"
                "  metron attach --duration 60 --sample-interval 0.1 -p results/ 4711\n"
                "  metron attach --no-children $(pidof nginx)\n",
    .command = COMMAND_ATTACH,
    .options_anywhere = true,
};

enum { PROCESSES_MAX = 4096 };

static int read_pid(const char *text, pid_t *pid, struct metron_error *error)
{
    char *end;

    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end != '\0' || number < 1 || number > INT_MAX)
        return error_set(error, -EINVAL, "attach: '%s' is not the number of a process", text);
    *pid = (pid_t)number;
    return 0;
}

static bool is_named(const struct attach_target *target, pid_t pid)
{
    for (size_t i = 0; i < target->count; i++)
        if (target->processes[i].pid == pid)
            return true;
    return false;
}

/* The operands as processes: EXIT_OK, or what to exit with, and why. The list is the caller's to free. */
static int find_processes(char **operands, struct attach_target *target, struct running **list,
                          struct metron_error *error)
{
    size_t count = 0;
    pid_t pid = 0;

    while (operands[count])
        count++;
    if (count == 0) {
        (void)error_set(error, -EINVAL, "attach: no process is given; see 'metron attach --help'");
        return EXIT_WRONG_USAGE;
    }
    if (count > PROCESSES_MAX) {
        (void)error_set(error, -EINVAL, "attach: more than %d processes are given", PROCESSES_MAX);
        return EXIT_WRONG_USAGE;
    }
    *list = calloc(count, sizeof(**list));
    if (!*list) {
        (void)error_set(error, -ENOMEM, "no memory for the list of processes");
        return EXIT_TROUBLE;
    }
    target->processes = *list;
    for (size_t i = 0; i < count; i++)
        if (read_pid(operands[i], &pid, error) < 0)
            return EXIT_WRONG_USAGE;
    for (size_t i = 0; i < count; i++) {
        (void)read_pid(operands[i], &pid, error);
        if (is_named(target, pid))
            continue;
        if (running_find("/proc", pid, &(*list)[target->count], error) < 0)
            return EXIT_TROUBLE;
        target->count++;
    }
    return EXIT_OK;
}

static void announce(void *context, pid_t first)
{
    const struct attach_target *target = context;

    (void)first;
    log_info("attached to %zu process%s%s; Ctrl-C ends the recording, not the process%s", target->count,
             target->count == 1 ? "" : "es", target->children ? " and descendants" : "",
             target->count == 1 && !target->children ? "" : "es");
}

static int attach_to(const struct settings *settings, const struct attach_target *target,
                     struct availability *availability, struct metron_error *error)
{
    struct run_options options;
    struct availability_options looking;
    struct run *run = NULL;

    measuring_options(&options, settings);
    options.attach = target;
    options.on_started = announce;
    options.started_context = (void *)target;
    measuring_looking(&looking, settings);
    looking.attach = target;
    looking.cgroup_mode = CGROUP_MODE_RUNNING;
    int code = measuring_look(availability, &looking, settings, error);
    if (code != EXIT_OK)
        return code;
    measuring_use(&options, availability);
    code = run_prepare(&options, &run, error);
    if (code < 0)
        return code == -EINVAL ? EXIT_WRONG_USAGE : EXIT_TROUBLE;
    code = attach_execute(run, error);
    if (code == 0)
        measuring_summary(run, settings);
    run_free(run);
    return code == 0 ? EXIT_OK : EXIT_TROUBLE;
}

static int attach_main(int argc, char **argv)
{
    struct settings settings;
    struct availability availability = {0};
    struct metron_error error = {0};
    struct running *list = NULL;
    int first = argc, exit_code;

    if (command_begin(&description, argc, argv, &settings, &first, &exit_code)) {
        duct_hints_give(COMMAND_ATTACH);
        struct attach_target target = {.children = settings_flag(&settings, SETTING_CHILDREN),
                                       .duration = settings_real(&settings, SETTING_DURATION)};
        exit_code = find_processes(argv + first, &target, &list, &error);
        if (exit_code == EXIT_OK)
            exit_code = attach_to(&settings, &target, &availability, &error);
        if (error.code)
            command_failed(&error);
    }
    availability_fini(&availability);
    settings_fini(&settings);
    free(list);
    return exit_code;
}

const struct metron_command command_attach = {&description, attach_main};
