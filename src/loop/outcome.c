/*
 * How a run ended: exit code, signal, cause of death, and who is still alive. Causes are told from what the
 * kernel counted, never guessed from an exit code.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "loop/feed.h"
#include "loop/run_state.h"
#include "probe/cgroup/files.h"
#include "probe/cgroup/target.h"
#include "probe/oom_watch.h"
#include "tree/tree.h"

/* At whose limit the OOM killer struck. */
static const char *oom_limit_text(struct run *run, const struct oom_verdict *oom)
{
    char limit[UNIT_TEXT_SIZE] = "";

    if (oom->limit_bytes != CGROUP_NO_LIMIT)
        (void)unit_human(UNIT_BYTES, (double)oom->limit_bytes, limit);
    switch (oom->kind) {
    case OOM_OWN_LIMIT:
        return arena_printf(&run->arena, " at its own limit%s%s", limit[0] ? " of " : "", limit);
    case OOM_ANCESTOR_LIMIT:
        return arena_printf(&run->arena, " at the limit of %s (%s%s%s)",
                            oom->is_parent ? "its parent group" : "a group above its own", limit,
                            limit[0] ? " of " : "", oom->group);
    case OOM_HOST:
        return ": the host was out of memory";
    default:
        return "; whose limit it was cannot be seen from here";
    }
}

/* Counters tell of it where the kernel did not. */
static void record_oom(struct run *run)
{
    const struct event event = {.type = EVENT_OOM,
                                .seen = SEEN_SAMPLED,
                                .wall = run->info.end_wall,
                                .pid = run->launched.pid,
                                .command = run->info.command};

    feed_event(run->options.feed, &event);
    if (!run->options.record_samples)
        return;
    run_warn_write(run, RUN_EVENTS, run_folder_add_event(&run->folder, &event));
    run_warn_write(run, RUN_EVENTS, run_folder_flush_events(&run->folder));
}

/* What the OOM killer had to do with it; NULL: nothing. A kill is the command's own unless all of them are
 * accounted for by other processes that are known to have died of SIGKILL. */
static const char *oom_cause(struct run *run, bool killed)
{
    struct oom_verdict oom;
    uint64_t others = tree_killed(run->tree) - killed;
    const struct cgroup_target *cgroup = run->options.context->cgroup;
    bool own_group = cgroup->scope == CGROUP_SCOPE_OWN && !cgroup->reasons[CGROUP_MEMORY];

    oom_watch_read(run->oom, &oom);
    if (oom.kind == OOM_NONE)
        return NULL;
    /* Where it is not known how everybody else in the group ended, only a kill at about the time of the
     * command's own end speaks of it. */
    bool told = tree_root_was_oom_killed(run->tree);
    bool of_command = told || (killed && run->kill_rounds == 0 &&
                               (oom.just_now || (own_group && tree_counts_all(run->tree))));
    if (oom.kind == OOM_ON_MACHINE)
        return of_command
                   ? "killed by SIGKILL, likely by the OOM killer: it has killed on this machine meanwhile"
                   : NULL;
    const char *limit = oom_limit_text(run, &oom);
    if (!told && of_command && others < oom.kills)
        record_oom(run);
    if (told || (of_command && others < oom.kills))
        return arena_printf(&run->arena, "killed by the OOM killer%s", limit ? limit : "");
    return arena_printf(&run->arena, "the OOM killer killed %llu %s%s", (unsigned long long)oom.kills,
                        own_group ? "of its processes" : "in its group", limit ? limit : "");
}

/* Who sent the signal that ended the command, where the kernel told; "" otherwise. That it was metron is told
 * elsewhere, and what a process brought upon itself needs no sender. */
static const char *sender_text(struct run *run)
{
    const struct event_sender *sender = tree_root_killer(run->tree);
    const char *text;

    if (!sender || sender->pid == getpid() || sender->pid == run->launched.pid)
        return "";
    if (!sender->pid)
        return run->info.signal == SIGKILL ? ", sent by the kernel" : "";
    text = arena_printf(&run->arena, ", sent by %s (pid %d)",
                        sender->name && sender->name[0] ? sender->name : "a process", (int)sender->pid);
    return text ? text : "";
}

unsigned run_note_refused(struct run *run)
{
    const struct process *first = NULL;
    unsigned count = 0;

    for (size_t i = 0; i < tree_count(run->tree); i++) {
        const struct process *process = tree_process(run->tree, i);
        if (process_is_zombie(process))
            continue;
        if (process->subject.id == run->launched.pid)
            run->root_refused = process->signal_refused;
        if (process->signal_refused && count++ == 0)
            first = process;
    }
    if (first && !run->warned_refused) {
        run->warned_refused = true;
        log_warning("process %d (%s)%s cannot be ended: not permitted, it runs as another user",
                    (int)first->subject.id, first->stat.comm, count > 1 ? " and others" : "");
    }
    return count;
}

/* What metron had to do with its end. A control group is killed without anybody's permission. */
static const char *ending_text(const struct run *run, bool killed)
{
    if (!run->ending)
        return "";
    return run->root_refused && !(killed && run->kill_rounds > 0) ? "; metron was not permitted to end it"
                                                                  : ", ended through metron";
}

void run_set_outcome(struct run *run)
{
    struct run_info *info = &run->info;
    int status = run->root_status;
    char text[160];

    if (!run->root_ended) {
        info->exit_code = 128 + SIGKILL;
        info->cause = run->root_refused ? "still runs: metron was not permitted to end it"
                                        : "does not end, not even at SIGKILL";
        return;
    }
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const char *oom = oom_cause(run, killed);
    run->oom_struck = oom != NULL;
    if (WIFSIGNALED(status)) {
        info->signal = WTERMSIG(status);
        info->exit_code = 128 + info->signal;
        const char *name = sigabbrev_np(info->signal);
        (void)snprintf(text, sizeof(text), "killed by SIG%s%s%s%s", name ? name : "?",
                       WCOREDUMP(status) ? ", core dumped" : "", sender_text(run), ending_text(run, killed));
    } else {
        info->exit_code = WEXITSTATUS(status);
        (void)snprintf(text, sizeof(text), "exited with code %d%s", info->exit_code,
                       ending_text(run, killed));
    }
    if (oom && strncmp(oom, "killed", 6) == 0)
        info->cause = oom;
    else
        info->cause = arena_printf(&run->arena, "%s%s%s", text, oom ? "; " : "", oom ? oom : "");
}

void run_name_survivors(struct run *run)
{
    size_t named = 0;

    run->info.survivors_in_all = 0;
    for (size_t i = 0; i < tree_count(run->tree); i++) {
        const struct process *process = tree_process(run->tree, i);
        if (process_is_zombie(process) || !process->of_command)
            continue;
        run->info.survivors_in_all++;
        if (named < SURVIVORS_NAMED)
            run->survivors[named++] = (struct run_survivor){
                process->subject.id,
                arena_strdup(&run->arena, process->command ? process->command : process->stat.comm)};
    }
    run->info.survivors = run->survivors;
    run->info.survivor_count = named;
}
