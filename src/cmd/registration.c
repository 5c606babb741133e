#include "cmd/registration.h"

#include <errno.h>

#include "base/json.h"
#include "base/log.h"
#include "daemon/socket/client.h"

/* The command waits so long for a daemon that is busy, and no longer. */
#define BEGIN_TIMEOUT_MS 200
/* At the end nobody waits but metron: the daemon reads the run's group for the last time, and then it is
 * removed. */
#define END_TIMEOUT_MS 2000

void registration_begin(struct registration *registration, const struct settings *settings, bool own_cgroup)
{
    struct metron_error error;

    *registration = (struct registration){.job = settings_text(settings, SETTING_JOB),
                                          .own_cgroup = own_cgroup,
                                          .has_sheet = settings_has(settings, SETTING_SHEET),
                                          .sheet = settings_integer(settings, SETTING_SHEET)};
    if (!registration->job)
        return;
    int code = client_connect(settings_text(settings, SETTING_SOCKET), BEGIN_TIMEOUT_MS,
                              &registration->client, &error);
    if (code < 0 && !client_is_absent(code))
        log_warning("the daemon is not told of this run: %s", error.message);
}

static int call(struct registration *registration, const char *method, struct strbuf *params,
                struct metron_error *error)
{
    int code = params->failed ? error_set(error, -ENOMEM, "no memory")
                              : client_call(registration->client, method, strbuf_text(params), NULL, error);
    strbuf_fini(params);
    return code;
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
    if (!registration->has_sheet)
        key_process(&json, registration, pid);
    json_object_end(&json);
    return call(registration, "job.start", &params, error);
}

static int tell_sheet(struct registration *registration, const char *event, pid_t pid,
                      struct metron_error *error)
{
    struct strbuf params = STRBUF_INIT;
    struct json json;

    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "event", event);
    json_key_string(&json, "job_id", registration->job);
    json_key_integer(&json, "sheet_num", registration->sheet);
    json_key(&json, "data");
    json_object_begin(&json);
    if (pid)
        key_process(&json, registration, pid);
    json_object_end(&json);
    json_object_end(&json);
    return call(registration, "event.publish", &params, error);
}

void registration_started(void *context, pid_t pid)
{
    struct registration *registration = context;
    struct metron_error error = {0};

    if (!registration->client)
        return;
    /* A job that runs already has begun elsewhere, and ends there; the command's processes are known by the
     * variable that they inherit. */
    int code = start_job(registration, pid, &error);
    registration->began_job = code == 0;
    if (code == -EINVAL)
        code = 0;
    if (code == 0 && registration->has_sheet)
        code = tell_sheet(registration, "sheet.started", pid, &error);
    if (code == 0)
        return;
    log_warning("the daemon is not told of this run: %s", error.message);
    client_free(registration->client);
    registration->client = NULL;
}

static int finish_job(struct registration *registration, int exit_code, struct metron_error *error)
{
    struct strbuf params = STRBUF_INIT;
    struct json json;

    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "job_id", registration->job);
    json_key_string(&json, "outcome", exit_code == 0 ? "completed" : "failed");
    json_object_end(&json);
    return call(registration, "job.finish", &params, error);
}

void registration_end(struct registration *registration, int exit_code)
{
    struct metron_error error;
    int code = 0;

    if (!registration->client)
        return;
    client_set_timeout(registration->client, END_TIMEOUT_MS);
    if (registration->has_sheet)
        code = tell_sheet(registration, exit_code == 0 ? "sheet.completed" : "sheet.failed", 0, &error);
    if (code == 0 && registration->began_job)
        code = finish_job(registration, exit_code, &error);
    if (code < 0)
        log_warning("the daemon is not told that this run has ended: %s", error.message);
    client_free(registration->client);
    registration->client = NULL;
}
