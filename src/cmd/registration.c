#include "cmd/registration.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/ask.h"
#include "daemon/socket/client.h"
#include "schema/job.h"

/* The command waits so long for a daemon that is busy, and no longer. */
#define BEGIN_TIMEOUT_MS 200
/* At the end nobody waits but metron: the daemon reads the run's group for the last time, and then it is
 * removed. */
#define END_TIMEOUT_MS 2000

void registration_begin(struct registration *registration, const struct settings *settings,
                        const struct run_info *info, bool own_cgroup)
{
    struct metron_error error;

    *registration = (struct registration){.settings = settings,
                                          .info = info,
                                          .job = settings_text(settings, SETTING_JOB),
                                          .socket = settings_text(settings, SETTING_SOCKET),
                                          .own_cgroup = own_cgroup,
                                          .has_sheet = settings_has(settings, SETTING_SHEET),
                                          .sheet = settings_integer(settings, SETTING_SHEET)};
    if (!registration->job)
        return;
    int code = client_connect(registration->socket, BEGIN_TIMEOUT_MS, &registration->client, &error);
    if (code < 0 && !client_is_absent(code))
        log_warning("the daemon is not told of this run: %s", error.message);
}

static void let_go(struct registration *registration)
{
    client_free(registration->client);
    registration->client = NULL;
}

static int call(struct registration *registration, const char *method, struct strbuf *params,
                struct metron_error *error)
{
    int code = params->failed ? error_set(error, -ENOMEM, "no memory")
                              : client_call(registration->client, method, strbuf_text(params), NULL, error);
    strbuf_fini(params);
    return code;
}

/* We report the end: while we live, or our command does, the job is not lost. */
static void key_runner(struct json *json)
{
    json_key_integer(json, "runner", getpid());
}

/* The command does not wait for the daemon's disk. */
static void key_no_wait(struct json *json)
{
    json_key_boolean(json, "wait", false);
}

static void key_process(struct json *json, const struct registration *registration, pid_t pid)
{
    json_key_integer(json, "pid", pid);
    if (registration->own_cgroup)
        json_key_boolean(json, "own_cgroup", true);
}

static int start_job(struct registration *registration, pid_t pid, struct metron_error *error)
{
    struct strbuf params = STRBUF_INIT;
    struct json json;

    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "job_id", registration->job);
    ask_job_labels(&json, registration->settings, registration->info->working_directory);
    key_runner(&json);
    if (!registration->has_sheet)
        key_process(&json, registration, pid);
    key_no_wait(&json);
    json_object_end(&json);
    return call(registration, "job.start", &params, error);
}

/* What the run knows of itself, by the names that the daemon has for it. */
static const struct {
    const char *key;
    enum job_usage_value value;
    bool of_group; /* only if the group is the command's alone */
} known[] = {
    {"cgroup_cpu_seconds", USAGE_CGROUP_CPU, true},  {"cgroup_mem_peak", USAGE_PEAK_CGROUP, true},
    {"cgroup_oom_kills", USAGE_OOM_KILLS, true},     {"proc_cpu_seconds", USAGE_CPU, false},
    {"proc_peak_rss_total", USAGE_PEAK_RSS, false},  {"smaps_peak_pss_total", USAGE_PEAK_PSS, false},
    {"proc_hwm_max", USAGE_LARGEST_HWM, false},      {"exit_max_rss_max", USAGE_LARGEST_HWM, false},
    {"rusage_max_rss", USAGE_RUSAGE_RSS, false},     {"io_read_bytes_total", USAGE_READ, false},
    {"io_write_bytes_total", USAGE_WRITTEN, false},  {"proc_exited", USAGE_EXITED, false},
    {"proc_spawned", USAGE_UNIQUE_PROCESSES, false}, {"proc_peak_processes", USAGE_PEAK_PROCESSES, false},
};

static void fill_usage(struct job_usage *usage, const struct run_info *info, bool own_cgroup)
{
    const struct headline_answer *cpu = &info->headline.cpu_seconds;
    double number;

    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if ((own_cgroup || !known[i].of_group) && record_number(info->summary, known[i].key, &number))
            usage_raise(usage, known[i].value, number);
    if (cpu->has && cpu->source && strcmp(cpu->source, "exit_cpu_seconds_total") == 0 &&
        cpu->note.bound == BOUND_NONE)
        usage_set(usage, USAGE_EXIT_CPU, cpu->value);
    usage_set(usage, USAGE_CPU_IS_LOW, !info->cpu_is_conserved);
    /* One key says which CPU is a lower bound: that of the best method. */
    if (!info->cpu_is_conserved && (usage_has(usage, USAGE_CGROUP_CPU) || usage_has(usage, USAGE_EXIT_CPU)))
        usage->present &= ~USAGE_BIT(USAGE_CPU);
    /* The command itself was not born in the job: it began it. */
    if (record_number(info->summary, "proc_spawned", &number) && number >= 1)
        usage_set(usage, USAGE_SPAWNED, number - 1);
    usage_set(usage, USAGE_SPAWNED_IS_EXACT, info->spawned_is_exact);
}

static void key_end(struct json *json, const struct registration *registration)
{
    const struct run_info *info = registration->info;
    struct job_usage usage = {0};

    if (!info->ended)
        return;
    if (info->outcome.signal)
        json_key_integer(json, "signal_num", info->outcome.signal);
    else
        json_key_integer(json, "exit_code", info->outcome.exit_code);
    /* The summary of a session has what others in it used. */
    bool is_session = settings_choice(registration->settings, SETTING_MODE) == CHOICE_MODE_CURRENT_SESSION;
    if (!info->summary || is_session)
        return;
    fill_usage(&usage, info, registration->own_cgroup);
    json_key(json, "usage");
    job_usage_json(json, &usage);
}

static void write_sheet(struct strbuf *params, const struct registration *registration, const char *event,
                        pid_t pid)
{
    struct json json;

    json_init(&json, params, 0);
    json_object_begin(&json);
    json_key_string(&json, "event", event);
    json_key_string(&json, "job_id", registration->job);
    json_key_integer(&json, "sheet_num", registration->sheet);
    json_key_object(&json, "data");
    if (pid) {
        key_process(&json, registration, pid);
        key_runner(&json);
    } else {
        key_end(&json, registration);
        key_runner(&json);
    }
    json_object_end(&json);
    key_no_wait(&json);
    json_object_end(&json);
}

/* A run within another one leaves alone what they have in common. */
static int tell(struct registration *registration, const char *method, struct strbuf *params,
                struct metron_error *error)
{
    int code = call(registration, method, params, error);

    if (code != -EACCES)
        return code;
    log_debug("%s", error->message);
    registration->is_nested = true;
    return 0;
}

static int tell_sheet(struct registration *registration, const char *event, pid_t pid,
                      struct metron_error *error)
{
    struct strbuf params = STRBUF_INIT;

    write_sheet(&params, registration, event, pid);
    return tell(registration, "event.publish", &params, error);
}

/* Behind a job.start that is not answered yet: that answer is still waited for. */
static bool post_sheet(struct registration *registration, const char *event, pid_t pid)
{
    struct strbuf params = STRBUF_INIT;

    write_sheet(&params, registration, event, pid);
    bool posted =
        !params.failed && client_post(registration->client, "event.publish", strbuf_text(&params), NULL) == 0;
    strbuf_fini(&params);
    return posted;
}

static bool job_runs(struct registration *registration)
{
    bool runs = false;

    return ask_job_runs(registration->client, registration->job, &runs, NULL) == 0 && runs;
}

/* What job.start came to, with its code: 0 if the job runs. One that ran already has begun elsewhere, and
 * ends there; the command's processes are known by the variable that they inherit. */
static int take_start(struct registration *registration, int code)
{
    registration->start_is_unanswered = code == -ETIMEDOUT;
    registration->began_job = code == 0;
    return code == -EINVAL && job_runs(registration) ? 0 : code;
}

void registration_started(void *context, pid_t pid)
{
    struct registration *registration = context;
    struct metron_error error = {0};

    if (!registration->client)
        return;
    int code = take_start(registration, start_job(registration, pid, &error));
    if (code == 0 && registration->has_sheet) {
        code = tell_sheet(registration, "sheet.started", pid, &error);
        registration->told_sheet =
            (code == 0 && !registration->is_nested) || code == -ETIMEDOUT || code == -ECONNRESET;
    } else if (code == -ETIMEDOUT && registration->has_sheet) {
        registration->told_sheet = post_sheet(registration, "sheet.started", pid);
    }
    if (code < 0)
        log_warning("the daemon is not told of this run%s: %s", code == -ETIMEDOUT ? " in time" : "",
                    error.message);
    if (!registration->start_is_unanswered && !registration->began_job && !registration->told_sheet)
        let_go(registration); /* there is nothing to end */
}

static int finish_job(struct registration *registration, struct metron_error *error)
{
    struct strbuf params = STRBUF_INIT;
    struct json json;

    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "job_id", registration->job);
    json_key_string(&json, "outcome", registration->info->outcome.exit_code == 0 ? "completed" : "failed");
    key_end(&json, registration);
    key_runner(&json);
    key_no_wait(&json);
    json_object_end(&json);
    return tell(registration, "job.finish", &params, error);
}

static int report_end(struct registration *registration, struct metron_error *error)
{
    const bool is_well = registration->info->outcome.exit_code == 0;
    int code = 0;

    client_set_timeout(registration->client, END_TIMEOUT_MS);
    if (registration->start_is_unanswered)
        code = take_start(registration, client_late_answer(registration->client, NULL, error));
    if (code == 0 && registration->told_sheet)
        code = tell_sheet(registration, is_well ? "sheet.completed" : "sheet.failed", 0, error);
    if (code == 0 && registration->began_job)
        code = finish_job(registration, error);
    return code;
}

/* The daemon may have been restarted since the start: its successor knows the job. */
static bool connect_again(struct registration *registration)
{
    struct client *client = NULL;

    if (registration->start_is_unanswered ||
        client_connect(registration->socket, END_TIMEOUT_MS, &client, NULL) < 0)
        return false;
    let_go(registration);
    registration->client = client;
    return true;
}

void registration_end(struct registration *registration)
{
    struct metron_error error = {0};

    if (!registration->client)
        return;
    int code = report_end(registration, &error);
    if (code == -ECONNRESET && connect_again(registration))
        code = report_end(registration, &error);
    if (code < 0)
        log_warning("the daemon is not told that this run has ended: %s", error.message);
    let_go(registration);
}
