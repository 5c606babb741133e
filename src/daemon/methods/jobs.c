/*
 * What the daemon answers about jobs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/daemon_state.h"
#include "daemon/methods/methods.h"

static struct daemon *daemon_of(const struct call *call)
{
    return call_context(call);
}

int call_no_such_job(struct call *call, const char *job_id)
{
    return call_fail(call, RPC_NO_SUCH_JOB, "'metron job list' shows the jobs", "there is no job '%s'",
                     job_id);
}

/* Everything is root's and the daemon's own user's. */
static bool may_all(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

int call_check_owner(struct call *call, const char *job_id)
{
    const struct job *job = jobs_find(daemon_of(call)->jobs, job_id);
    const uid_t uid = call_peer(call).uid;

    if (!job || job->owner == uid || may_all(uid))
        return 0;
    return call_fail(call, RPC_NOT_PERMITTED, "choose another name, or ask that user",
                     "job '%s' belongs to user %u, and you are user %u", job_id, (unsigned)job->owner,
                     (unsigned)uid);
}

int call_check_process(struct call *call, pid_t pid)
{
    const uid_t uid = call_peer(call).uid;

    if (pid == 0 || may_all(uid) || jobs_may_announce(daemon_of(call)->jobs, pid, uid))
        return 0;
    return call_fail(call, RPC_NOT_PERMITTED, "announce a process of your own, or none",
                     "process %d is another user's", (int)pid);
}

static int refuse_no_job(struct call *call, const char *job_id, bool has_ended, const char *message)
{
    struct strbuf advice = STRBUF_INIT;

    strbuf_adds(&advice, "'metron job start ");
    text_shell_quote(&advice, job_id);
    strbuf_adds(&advice, has_ended ? "' begins it anew" : "' begins one");
    int code = call_fail(call, RPC_NO_SUCH_JOB, strbuf_text(&advice), "%s", message);
    strbuf_fini(&advice);
    return code;
}

int call_refuse_job(struct call *call, const char *job_id, const struct metron_error *error)
{
    const struct job *job = jobs_find(daemon_of(call)->jobs, job_id);
    int code = RPC_INVALID_PARAMS;
    const char *advice = "see 'metron job --help'";

    switch (error->code) {
    case -ENOENT:
        return refuse_no_job(call, job_id, job != NULL, error->message);
    case -EPERM:
        code = RPC_NOT_PERMITTED;
        advice = "give it a sheet of its own";
        break;
    case -EEXIST:
        advice = "'metron job finish' ends it";
        break;
    case -ESRCH:
        advice = "give the pid of a process that runs, as the daemon's pid namespace has it, or none";
        break;
    case -ENOSPC:
        code = RPC_EXHAUSTED;
        advice = job && job->status == JOB_RUNNING ? "start another job for it"
                                                   : "end one with 'metron job finish', or try again later";
        break;
    case -ENOMEM:
        code = RPC_EXHAUSTED;
        advice = "try again later";
        break;
    default:
        break;
    }
    return call_fail(call, code, advice, "%s", error->message);
}

/* A pid is optional everywhere: 0 is none. */
static enum param call_pid(struct call *call, const char *name, pid_t *pid)
{
    int64_t number = 0;
    enum param param = call_integer(call, name, &number);

    if (param == PARAM_FOUND && (number <= 0 || number > INT32_MAX))
        return PARAM_WRONG;
    if (param == PARAM_FOUND)
        *pid = (pid_t)number;
    return param;
}

static int answer_job(struct call *call, struct json *result, const char *job_id)
{
    const struct job *job = jobs_find(daemon_of(call)->jobs, job_id);

    if (!job)
        return call_no_such_job(call, job_id);
    job_json(result, job);
    return 0;
}

/* The answer waits until the job is stored as it is now. */
static int acknowledge_job(struct call *call, struct json *result, const char *job_id)
{
    const struct daemon *daemon = daemon_of(call);
    const struct job *job = jobs_find(daemon->jobs, job_id);

    if (!job)
        return call_no_such_job(call, job_id);
    json_object_begin(result);
    job_members_json(result, job);
    return commits_await(daemon->commits, call);
}

int answer_job_start(struct call *call, struct json *result)
{
    struct daemon *daemon = daemon_of(call);
    struct job_start start = {0};
    struct metron_error error;

    if (call_text(call, "job_id", &start.job_id) != PARAM_FOUND)
        return call_wrong(call, "job_id", "the name of a job");
    if (call_text(call, "workspace", &start.workspace) == PARAM_WRONG)
        return call_wrong(call, "workspace", "a text");
    if (call_text(call, "config_hash", &start.config_hash) == PARAM_WRONG)
        return call_wrong(call, "config_hash", "a text");
    enum param total = call_integer(call, "total_sheets", &start.total_sheets);
    if (total == PARAM_WRONG)
        return call_wrong(call, "total_sheets", "a whole number");
    start.has_total = total == PARAM_FOUND;
    if (call_pid(call, "pid", &start.pid) == PARAM_WRONG)
        return call_wrong(call, "pid", "the number of a process");
    if (call_pid(call, "runner", &start.runner) == PARAM_WRONG)
        return call_wrong(call, "runner", "the number of a process");
    if (call_boolean(call, "own_cgroup", &start.own_cgroup) == PARAM_WRONG)
        return call_wrong(call, "own_cgroup", "true or false");
    start.owner = call_peer(call).uid;
    int code = call_check_owner(call, start.job_id);
    if (code == 0)
        code = call_check_process(call, start.pid);
    if (code < 0)
        return code;
    counting_settle(daemon->counting);
    code = jobs_start(daemon->jobs, &start, &error);
    if (code < 0)
        return call_refuse_job(call, start.job_id, &error);
    counting_job(daemon->counting, start.job_id);
    if (code == 0)
        daemon_publish(daemon, "job.started", start.job_id, false, 0, NULL);
    return acknowledge_job(call, result, start.job_id);
}

int call_take_usage(struct call *call, const struct json_text *usage, struct job_usage *out)
{
    struct metron_error error;

    if (job_usage_parse(usage, out, &error) < 0)
        return call_fail(call, RPC_INVALID_PARAMS, "give what was measured, under the names of job.status",
                         "%s", error.message);
    return 0;
}

/* `usage`, and how the command ended. */
static int take_outcome(struct call *call, struct job_usage *out)
{
    int64_t exit_code, signal_num;
    struct json_text usage;

    int code = call_raw(call, "usage", &usage) ? call_take_usage(call, &usage, out) : 0;
    if (code < 0)
        return code;
    enum param has_code = call_integer(call, "exit_code", &exit_code);
    if (has_code == PARAM_WRONG || (has_code == PARAM_FOUND && (exit_code < 0 || exit_code > 255)))
        return call_wrong(call, "exit_code", "a number from 0 to 255");
    enum param has_signal = call_integer(call, "signal_num", &signal_num);
    if (has_signal == PARAM_WRONG ||
        (has_signal == PARAM_FOUND && (signal_num < 1 || signal_num > SIGNAL_MAX)))
        return call_wrong(call, "signal_num", "the number of a signal");
    if (has_code == PARAM_FOUND)
        usage_set(out, USAGE_EXIT_CODE, (double)exit_code);
    if (has_signal == PARAM_FOUND) /* with an exit code beside it: that was made of the signal */
        usage_set_outcome(out, USAGE_SIGNAL, (double)signal_num);
    return 0;
}

/* Of a run within that of the job's runner it is not the end. */
static int check_runner(struct call *call, const char *job_id)
{
    const struct job *job = jobs_find(daemon_of(call)->jobs, job_id);
    pid_t runner = 0;

    if (call_pid(call, "runner", &runner) == PARAM_WRONG)
        return call_wrong(call, "runner", "the number of a process");
    if (!job || job->status != JOB_RUNNING || !jobs_runs_within(daemon_of(call)->jobs, runner, job->runner))
        return 0;
    return call_fail(call, RPC_NOT_PERMITTED, "leave it to the run around it",
                     "process %d runs within job '%s', and does not end it", (int)runner, job_id);
}

int answer_job_finish(struct call *call, struct json *result)
{
    struct daemon *daemon = daemon_of(call);
    struct job_usage reported = {0};
    const char *job_id, *outcome;
    enum job_status status;
    struct metron_error error;

    if (call_text(call, "job_id", &job_id) != PARAM_FOUND)
        return call_wrong(call, "job_id", "the name of a job");
    if (call_text(call, "outcome", &outcome) != PARAM_FOUND ||
        job_status_of_outcome(outcome, strlen(outcome), &status) < 0)
        return call_wrong(call, "outcome", "one of completed, failed, cancelled");
    int code = call_check_owner(call, job_id);
    if (code == 0)
        code = check_runner(call, job_id);
    if (code == 0)
        code = take_outcome(call, &reported);
    if (code < 0)
        return code;
    daemon_await_exit(daemon, job_id, false, 0);
    counting_settle(daemon->counting);
    if (jobs_finish(daemon->jobs, job_id, status, &reported, &error) < 0)
        return call_refuse_job(call, job_id, &error);
    counting_job(daemon->counting, job_id);
    daemon_publish_finished(daemon, jobs_find(daemon->jobs, job_id));
    return acknowledge_job(call, result, job_id);
}

static void list_job(void *context, const struct job *job)
{
    struct call *call = context;

    if (!call_is_too_long(call))
        job_json(call_result(call), job);
}

int answer_job_list(struct call *call, struct json *result)
{
    json_array_begin(result);
    jobs_visit(daemon_of(call)->jobs, list_job, call);
    json_array_end(result);
    return 0;
}

int answer_job_status(struct call *call, struct json *result)
{
    const char *job_id;

    if (call_text(call, "job_id", &job_id) != PARAM_FOUND)
        return call_wrong(call, "job_id", "the name of a job");
    return answer_job(call, result, job_id);
}
