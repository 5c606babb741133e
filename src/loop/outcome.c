/*
 * How a run ended (schema/outcome.h), and which processes are still alive. What killed it comes from the
 * kernel's counters, never from a guess by the exit code.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/feed.h"
#include "loop/run_state.h"
#include "loop/time_limit.h"
#include "probe/cgroup/files.h"
#include "probe/cgroup/target.h"
#include "probe/oom_watch.h"
#include "probe/running.h"
#include "tree/tree.h"

/* At whose limit the OOM killer struck. */
static void set_limit(struct run *run, struct outcome *outcome, const struct oom_verdict *oom)
{
    switch (oom->kind) {
    case OOM_OWN_LIMIT:
        outcome->limit_of = LIMIT_OF_OWN;
        break;
    case OOM_ANCESTOR_LIMIT:
        outcome->limit_of = oom->is_parent ? LIMIT_OF_PARENT : LIMIT_OF_ANCESTOR;
        outcome->limit_group = arena_strdup(&run->arena, oom->group);
        break;
    case OOM_HOST:
        outcome->limit_of = LIMIT_OF_HOST;
        return;
    default:
        return;
    }
    if (oom->limit_bytes != CGROUP_NO_LIMIT)
        outcome->limit_bytes = oom->limit_bytes;
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

/* What the OOM killer had to do with it. A kill is the command's own unless all of them are accounted for by
 * other processes that are known to have died of SIGKILL. */
static void set_oom(struct run *run, struct outcome *outcome)
{
    struct oom_verdict oom;
    bool killed = outcome->signal == SIGKILL;
    uint64_t others = tree_killed(run->tree) - killed;
    const struct cgroup_target *cgroup = run->options.context->cgroup;
    bool own_group = cgroup->scope == CGROUP_SCOPE_OWN && !cgroup->reasons[CGROUP_MEMORY];

    oom_watch_read(run->oom, &oom);
    /* Where it is not known how everybody else in the group ended, only a kill at about the time of the
     * command's own end speaks of it. */
    bool is_reported = tree_root_was_oom_killed(run->tree);
    bool of_command = is_reported || (killed && run->kill_rounds == 0 &&
                                      (oom.just_now || (own_group && tree_counts_all(run->tree))));
    bool likely = oom.kind == OOM_ON_MACHINE;
    if (oom.kind == OOM_NONE || (likely && !of_command))
        return;
    of_command = is_reported || (of_command && (likely || others < oom.kills));
    if (of_command && !is_reported && !likely)
        record_oom(run);
    outcome->oom_victim = of_command  ? OOM_VICTIM_COMMAND
                          : own_group ? OOM_VICTIM_PROCESSES
                                      : OOM_VICTIM_GROUP;
    if (of_command)
        outcome->kind = OUTCOME_OOM;
    outcome->oom_likely = likely;
    outcome->oom_kills = oom.kills;
    set_limit(run, outcome, &oom);
}

/* A terminal's keys come as signals of the kernel; nothing else of the kernel's sends these two. */
static enum received_from origin_of(const struct signalfd_siginfo *taken)
{
    switch (taken->ssi_code) {
    case SI_USER:
    case SI_QUEUE:
    case SI_TKILL:
        return taken->ssi_pid ? FROM_PROCESS : FROM_OUTSIDE;
    case SI_KERNEL:
        return taken->ssi_signo == SIGINT || taken->ssi_signo == SIGQUIT ? FROM_TERMINAL : FROM_KERNEL;
    default:
        return FROM_KERNEL;
    }
}

void run_note_signal(struct run *run, const struct signalfd_siginfo *taken)
{
    struct received *last = &run->last;

    switch (taken->ssi_signo) {
    case SIGCHLD:
    case SIGCONT:
    case SIGTSTP:
    case SIGURG:
    case SIGWINCH:
        return; /* no process ends by these */
    default:
        break;
    }
    const enum received_from from = origin_of(taken);
    bool is_about_metron = from == FROM_KERNEL && taken->ssi_signo != SIGHUP && taken->ssi_signo != SIGALRM;
    if (is_about_metron || (pid_t)taken->ssi_pid == getpid()) /* a limit, a broken pipe: not passed on */
        return;
    *last = (struct received){.from = from, .signal = (int)taken->ssi_signo, .wall = clock_wall()};
    if (last->from != FROM_PROCESS)
        return;
    last->pid = (pid_t)taken->ssi_pid;
    last->uid = (uid_t)taken->ssi_uid;
    _Static_assert(sizeof(last->command) == RUNNING_NAME_SIZE, "room for every name");
    (void)running_name(run->options.context->proc_root, last->pid, last->uid, last->command);
}

/* The signal or request to metron because of which the command ended; NULL: none. A command may handle a
 * signal that was passed on: only one that shows in how it ended counts. */
static const struct received *received_of(const struct run *run, const struct outcome *outcome)
{
    if (run->ending)
        return &run->request;
    if (run->options.attach || !run->last.from || outcome->sender ||
        outcome->exit_code != 128 + run->last.signal)
        return NULL;
    return &run->last;
}

/* Whether the batch system may have sent the signal that ended the command: the kernel did not report who
 * did, or it is another user's process that still runs and is none of the target. */
static bool may_be_of_batch_system(const struct run *run)
{
    const struct event_sender *sender = tree_root_killer(run->tree);
    uid_t uid;

    return !sender || (!tree_find(run->tree, sender->pid) &&
                       running_user(run->options.context->proc_root, sender->pid, &uid) && uid != getuid());
}

/* A batch system signals all processes of a job: the command may end before metron has read its own signal.
 */
static void set_time_limit(const struct run *run, struct outcome *outcome)
{
    const struct received *received = outcome->received;
    bool is_direct =
        (outcome->signal == SIGTERM || outcome->signal == SIGKILL) && may_be_of_batch_system(run);
    const struct time_limit limit =
        time_limit_find(time_limit_session_start(run->options.context->proc_root));

    if (run->options.attach || outcome->kind == OUTCOME_OOM || (!received && !is_direct) ||
        !time_limit_explains(&limit, clock_timespec_seconds(received ? received->wall : run->info.end_wall)))
        return;
    outcome->time_limit = limit;
    if (outcome->exit_code != 0 && !(received && received->after_exit))
        outcome->kind = OUTCOME_TIME_LIMIT;
}

/* The process that sent the fatal signal, where the kernel reported it. metron is not named here, because
 * `received` says for whom, nor is a process that killed itself. */
static const struct event_sender *sender_of(const struct run *run, int signal)
{
    const struct event_sender *sender = tree_root_killer(run->tree);

    if (!sender || sender->pid == getpid() || sender->pid == run->launched.pid ||
        (!sender->pid && signal != SIGKILL))
        return NULL;
    return sender;
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
static void set_ending(const struct run *run, struct outcome *outcome)
{
    outcome->not_permitted =
        run->ending && run->root_refused && !(outcome->signal == SIGKILL && run->kill_rounds > 0);
    outcome->ended_by_metron = run->ending && !run->request.after_exit && !outcome->not_permitted;
    outcome->received = received_of(run, outcome);
}

void run_set_outcome(struct run *run)
{
    struct outcome *outcome = &run->info.outcome;
    int status = run->root_status;

    if (!run->root_ended) {
        *outcome = (struct outcome){.kind = OUTCOME_STILL_RUNNING,
                                    .exit_code = 128 + SIGKILL,
                                    .received = run->ending ? &run->request : NULL,
                                    .not_permitted = run->root_refused};
    } else if (WIFSIGNALED(status)) {
        *outcome = (struct outcome){.kind = OUTCOME_SIGNALED,
                                    .exit_code = 128 + WTERMSIG(status),
                                    .signal = WTERMSIG(status),
                                    .core_dumped = WCOREDUMP(status),
                                    .sender = sender_of(run, WTERMSIG(status))};
    } else {
        *outcome = (struct outcome){.kind = OUTCOME_EXITED, .exit_code = WEXITSTATUS(status)};
    }
    if (run->root_ended) {
        set_ending(run, outcome);
        set_oom(run, outcome);
        set_time_limit(run, outcome);
    }
    run->info.cause = outcome_cause(&run->arena, outcome);
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
                arena_strdup(&run->arena, process->command ? process->command : process->stat.comm),
                process->command_is_truncated};
    }
    run->info.survivors = run->survivors;
    run->info.survivor_count = named;
}
