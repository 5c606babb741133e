/*
 * What is known of processes that are attached to: of a single one its command and its environment stand
 * where those of a command that is started do; several are named one beside the other. Only the working
 * folder of the record is metron's own: its files are named from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "loop/run_state.h"
#include "schema/secrets.h"

/* Of so many the command stands in the record's own; the others are in the list of roots. */
#define COMMANDS_JOINED 3

int attach_choose_roots(struct run *run)
{
    const struct attach_target *target = run->options.attach;

    run->roots = calloc(target->count, sizeof(*run->roots));
    if (!run->roots)
        return -ENOMEM;
    for (size_t i = 0; i < target->count; i++)
        run->roots[i] = (struct tree_root){target->processes[i].pid, target->processes[i].start_ticks};
    return 0;
}

/* The texts of a block in which each is ended by NUL, NULL-terminated; NULL for want of memory. */
static char **split(struct arena *arena, const char *block, size_t length)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += block[i] == '\0';
    char **texts = arena_alloc(arena, (count + 2) * sizeof(*texts));
    char *copy = arena_alloc(arena, length + 1);
    if (!texts || !copy)
        return NULL;
    (void)memcpy(copy, block, length);
    count = 0;
    for (size_t at = 0; at < length; at += strlen(copy + at) + 1)
        texts[count++] = copy + at;
    return texts;
}

/* A file of a process as texts; an empty list where it cannot be read. NULL for want of memory. */
static char **read_texts(struct run *run, pid_t pid, const char *file)
{
    size_t length;
    char *block = running_read(run->options.context->proc_root, pid, file, &length);
    char **texts = split(&run->arena, block ? block : "", length);

    free(block);
    return texts;
}

/* Programs that name themselves anew (sshd, postgres) fill up what their arguments left with NULs. */
static void drop_empty_end(char **texts)
{
    size_t count = 0;

    while (texts[count])
        count++;
    while (count > 1 && texts[count - 1][0] == '\0')
        texts[--count] = NULL;
}

static int describe_one(struct run *run, const struct running *process)
{
    char **arguments = read_texts(run, process->pid, "cmdline");
    char **variables = read_texts(run, process->pid, "environ");

    if (!arguments || !variables)
        return -ENOMEM;
    drop_empty_end(arguments);
    int code = arguments[0] ? run_describe_command(run, arguments) : 0;
    return code < 0 ? code : run_describe_environment(run, variables);
}

static const char *folder_of(struct run *run, pid_t pid)
{
    char *folder = running_folder(run->options.context->proc_root, pid);
    const char *kept = folder ? arena_strdup(&run->arena, folder) : NULL;

    free(folder);
    return kept;
}

static const char *command_of(struct run *run, pid_t pid)
{
    struct strbuf text = STRBUF_INIT;
    char **arguments = read_texts(run, pid, "cmdline");
    const char *command = NULL;

    if (arguments)
        drop_empty_end(arguments);
    if (arguments && arguments[0]) {
        secrets_mask_argv(&text, run->options.secrets, arguments);
        command = arena_strdup(&run->arena, strbuf_text(&text));
    }
    strbuf_fini(&text);
    return command;
}

/* When it was started, by the clock on the wall. */
static const char *start_time(struct run *run, uint64_t start_ticks)
{
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)clock_ticks_per_second();
    int64_t age_ns = (int64_t)clock_monotonic_ns() + clock_suspended_ns() - (int64_t)(start_ticks * tick_ns);
    struct timespec now = clock_wall();
    int64_t wall_ns = (int64_t)now.tv_sec * (int64_t)NS_PER_SECOND + now.tv_nsec - age_ns;
    char stamp[CLOCK_ISO_SIZE];

    return arena_strdup(&run->arena,
                        clock_iso8601((struct timespec){(time_t)(wall_ns / (int64_t)NS_PER_SECOND),
                                                        (long)(wall_ns % (int64_t)NS_PER_SECOND)},
                                      2, stamp));
}

static int join_commands(struct run *run)
{
    const struct run_attached *attached = &run->info.attached;
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < attached->root_count && i < COMMANDS_JOINED; i++)
        strbuf_addf(&text, "%s%s", i ? " & " : "",
                    attached->roots[i].command ? attached->roots[i].command : "?");
    if (attached->root_count > COMMANDS_JOINED)
        strbuf_addf(&text, " & %zu more", attached->root_count - COMMANDS_JOINED);
    run->info.command = text.failed ? NULL : arena_strdup(&run->arena, strbuf_text(&text));
    strbuf_fini(&text);
    return run->info.command ? 0 : -ENOMEM;
}

int attach_describe(struct run *run)
{
    const struct attach_target *target = run->options.attach;
    struct run_root *roots = arena_alloc(&run->arena, target->count * sizeof(*roots));
    int code = 0;

    if (!roots)
        return -ENOMEM;
    for (size_t i = 0; i < target->count; i++)
        roots[i] = (struct run_root){
            .pid = target->processes[i].pid,
            .start_ticks = target->processes[i].start_ticks,
            .start_time = start_time(run, target->processes[i].start_ticks),
            .uid = target->processes[i].uid,
            .command = command_of(run, target->processes[i].pid),
            .working_directory = folder_of(run, target->processes[i].pid),
        };
    run->info.mode = "attach";
    run->info.attached = (struct run_attached){
        .roots = roots,
        .root_count = target->count,
        .children = target->children,
        .duration = target->duration,
    };
    if (target->count == 1)
        code = describe_one(run, &target->processes[0]);
    return code < 0 || run->info.command ? code : join_commands(run);
}
