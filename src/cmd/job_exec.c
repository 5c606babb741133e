#include "cmd/job_exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/alone.h"
#include "cmd/ask.h"
#include "cmd/commands.h"
#include "daemon/socket/client.h"
#include "daemon/socket/protocol.h"
#include "launch/foreground.h"
#include "probe/cgroup/target.h"
#include "schema/job.h"

struct sheet_run {
    const struct settings *settings;
    const char *job;
    long long sheet;
    struct client *client; /* NULL: there is no daemon, or it is not told */
    bool own_cgroup;
    const struct cgroup_target *cgroup;
    bool left_cgroup; /* the command, before it ended */
    bool told;        /* that it has begun */
    pid_t pid;        /* the command's */
    bool was_reaped;
    int wait_status, exit_code;
    struct rusage usage; /* if it was reaped: of it, and of all that was waited for */
};

static void warn(const struct metron_error *error)
{
    log_warning("the daemon is not told of this sheet: %s", error->message);
}

/* A new connection for the end: the command may take days, and the daemon may have been started anew. */
static bool connect_daemon(struct sheet_run *run)
{
    struct metron_error error;

    if (client_connect(settings_text(run->settings, SETTING_SOCKET), 0, &run->client, &error) == 0)
        return true;
    run->client = NULL;
    warn(&error);
    return false;
}

static void disconnect(struct sheet_run *run)
{
    client_free(run->client);
    run->client = NULL;
}

/* ---- before anything runs ---- */

static int refuse(const struct sheet_run *run, bool has_ended)
{
    struct strbuf name = STRBUF_INIT;

    text_shell_quote(&name, run->job);
    log_error(has_ended ? "job '%s' has ended; 'metron job start %s' begins it anew"
                        : "there is no job '%s'; 'metron job start %s' begins one",
              run->job, strbuf_text(&name));
    strbuf_fini(&name);
    return EXIT_TROUBLE;
}

/* EXIT_OK also where the daemon cannot tell: the command matters more. */
static int check_job(struct sheet_run *run)
{
    struct metron_error error;
    bool runs = false;
    int code = ask_job_runs(run->client, run->job, &runs, &error);

    if (client_rpc_code(run->client) == RPC_NO_SUCH_JOB)
        return refuse(run, false);
    if (code == 0 && !runs)
        return refuse(run, true);
    if (code < 0) {
        warn(&error);
        disconnect(run);
    }
    return EXIT_OK;
}

/* ---- what is told of the sheet ---- */

/* `write_data` adds what there is to say. */
static bool tell(struct sheet_run *run, const char *event,
                 void (*write_data)(struct json *json, const struct sheet_run *run))
{
    struct strbuf params = STRBUF_INIT;
    struct metron_error error;
    struct json json;

    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "event", event);
    json_key_string(&json, "job_id", run->job);
    json_key_integer(&json, "sheet_num", run->sheet);
    json_key_object(&json, "data");
    write_data(&json, run);
    json_object_end(&json);
    json_key_boolean(&json, "wait", false); /* the command does not wait for the daemon's disk */
    json_object_end(&json);
    int code = client_call(run->client, "event.publish", strbuf_text(&params), NULL, &error);
    if (code < 0)
        warn(&error);
    strbuf_fini(&params);
    return code == 0;
}

static void write_start(struct json *json, const struct sheet_run *run)
{
    json_key_integer(json, "pid", run->pid);
    json_key_integer(json, "runner", getpid());
    if (run->own_cgroup)
        json_key_boolean(json, "own_cgroup", true);
}

/* How it ended, and what it used with all that was waited for. */
static void write_end(struct json *json, const struct sheet_run *run)
{
    struct job_usage usage = {0};

    if (WIFSIGNALED(run->wait_status))
        json_key_integer(json, "signal_num", WTERMSIG(run->wait_status));
    else
        json_key_integer(json, "exit_code", run->exit_code);
    if (!run->was_reaped)
        return;
    usage_set(&usage, USAGE_RUSAGE_CPU,
              clock_timeval_seconds(run->usage.ru_utime) + clock_timeval_seconds(run->usage.ru_stime));
    usage_set(&usage, USAGE_RUSAGE_RSS, (double)run->usage.ru_maxrss * 1024);
    if (run->left_cgroup)
        usage_set(&usage, USAGE_LEFT_CGROUP, true);
    json_key(json, "usage");
    job_usage_json(json, &usage);
}

/* The command's process is there, and executes nothing before this has returned. */
static void on_held(void *context, pid_t pid)
{
    struct sheet_run *run = context;

    run->pid = pid;
    run->told = run->client && tell(run, "sheet.started", write_start);
    disconnect(run);
}

/* In v2 a zombie is still where it was; v1 shows all of them in the root group. */
static void on_ended(void *context, pid_t pid)
{
    struct sheet_run *run = context;
    const char *leaf = run->own_cgroup ? run->cgroup->leaves[CGROUP_UNIFIED].folder : NULL;
    size_t length = leaf ? strlen(leaf) : 0;
    struct cgroup_place place;

    if (!leaf || cgroup_place_find("/proc", "", pid, &place) < 0)
        return;
    const struct cgroup_spot *spot = &place.spots[CGROUP_UNIFIED];
    run->left_cgroup = !spot->version || strncmp(spot->folder, leaf, length) != 0 ||
                       (spot->folder[length] != '\0' && spot->folder[length] != '/');
    cgroup_place_fini(&place);
}

static void tell_end(struct sheet_run *run)
{
    if (!run->told || !connect_daemon(run))
        return;
    (void)tell(run, run->exit_code == 0 ? "sheet.completed" : "sheet.failed", write_end);
    disconnect(run);
}

/* ---- the command ---- */

static int run_command(struct sheet_run *run, const struct cgroup_target *target, char **command,
                       struct metron_error *error)
{
    int join_fds[CGROUP_CONTROLLER_COUNT];
    const struct launch_cgroup cgroup = {
        .folder_fd = target->leaves[CGROUP_UNIFIED].lock_fd,
        .procs_fd = target->leaves[CGROUP_UNIFIED].join_fd,
        .join_fds = join_fds,
        .join_count = cgroup_target_entrances(target, join_fds),
    };
    const struct launch_options options = {
        .argv = command, .cgroup = &cgroup, .hold = on_held, .hold_context = run};

    run->cgroup = target;
    int code = foreground_run(&options, on_ended, run, &run->wait_status, &run->usage, error);
    run->was_reaped = code == 0;
    run->exit_code = code < 0 ? launch_failure_exit_code(code) : foreground_exit_code(run->wait_status);
    tell_end(run);
    return run->exit_code;
}

static int export_names(const struct sheet_run *run)
{
    struct strbuf number = STRBUF_INIT;

    strbuf_addf(&number, "%lld", run->sheet);
    int code = number.failed || setenv("METRON_JOB", run->job, 1) != 0 ||
               setenv("METRON_SHEET", strbuf_text(&number), 1) != 0;
    strbuf_fini(&number);
    return code ? -ENOMEM : 0;
}

int job_exec(const struct settings *settings, const char *job, long long sheet, char **command)
{
    struct sheet_run run = {.settings = settings, .job = job, .sheet = sheet};
    struct cgroup_place place = {0};
    struct cgroup_target target;
    struct metron_error error = {0};

    if (connect_daemon(&run) && check_job(&run) != EXIT_OK) {
        disconnect(&run);
        return EXIT_TROUBLE;
    }
    if (export_names(&run) < 0 || cgroup_place_find("/proc", "", 0, &place) < 0) {
        disconnect(&run);
        log_error("no memory for a sheet");
        return EXIT_TROUBLE;
    }
    (void)cgroup_target_open(&target, &place, CGROUP_MODE_AUTO, false, NULL); /* never fails */
    run.own_cgroup = target.scope == CGROUP_SCOPE_OWN;
    if (!run.own_cgroup)
        log_debug("no control group of its own: %s", target.why_not_own);
    int exit_code = run_command(&run, &target, command, &error);
    cgroup_target_close(&target); /* the daemon has read it for the last time */
    if (error_is_of_machine(error.code))
        exit_code = run_alone(command, &error);
    if (error.code)
        log_error("%s", error.message);
    return exit_code;
}
