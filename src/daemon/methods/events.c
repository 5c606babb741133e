/*
 * event.publish: what job runners tell of their sheets. The event goes to the jobs, then, with what its
 * process uses at that moment, to all subscribers and back to the caller.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/daemon_state.h"
#include "daemon/methods/methods.h"

struct publication {
    const char *event, *job_id;
    bool has_sheet;
    int64_t sheet_num;
    struct json_text data;     /* an object as it was written; empty: none */
    struct sheet_start start;  /* in it */
    struct job_usage reported; /* in it */
    bool is_end;               /* of a sheet */
    bool is_nobody;            /* the sheet has begun without that process */
};

static pid_t pid_of(double number)
{
    return number >= 1 && number <= INT32_MAX ? (pid_t)number : 0;
}

/* data.pid and data.runner, where they are numbers that a process can have, and data.own_cgroup; of a sheet
 * that ended data.usage, data.exit_code and data.signal_num. */
static int take_data(struct call *call, struct publication *out, bool is_sheet)
{
    double pid = 0, runner = 0, number;
    struct json_text usage;
    int code = 0;

    if (is_sheet && json_find(&out->data, "usage", &usage) && usage.bytes[0] != 'n')
        code = call_take_usage(call, &usage, &out->reported);
    if (json_find_number(&out->data, "exit_code", &number) && number >= 0 && number <= 255)
        usage_set(&out->reported, USAGE_EXIT_CODE, floor(number));
    if (json_find_number(&out->data, "signal_num", &number) && number >= 1 && number <= SIGNAL_MAX)
        usage_set_outcome(&out->reported, USAGE_SIGNAL, floor(number));

    (void)json_find_number(&out->data, "pid", &pid);
    (void)json_find_number(&out->data, "runner", &runner);
    (void)json_find_boolean(&out->data, "own_cgroup", &out->start.own_cgroup);
    out->start.pid = pid_of(pid);
    out->start.runner = pid_of(runner);
    return code;
}

static int take_params(struct call *call, struct publication *out)
{
    *out = (struct publication){0};
    if (call_text(call, "event", &out->event) != PARAM_FOUND || out->event[0] == '\0')
        return call_wrong(call, "event", "a name such as \"sheet.started\"");
    if (call_text(call, "job_id", &out->job_id) != PARAM_FOUND)
        return call_wrong(call, "job_id", "the name of a job");
    enum param sheet = call_integer(call, "sheet_num", &out->sheet_num);
    if (sheet == PARAM_WRONG)
        return call_wrong(call, "sheet_num", "a whole number");
    out->has_sheet = sheet == PARAM_FOUND;
    if (call_raw(call, "data", &out->data) && out->data.bytes[0] != '{')
        return call_wrong(call, "data", "an object");
    enum sheet_event event;
    bool is_sheet = sheet_event_of(out->event, strlen(out->event), &event);
    return out->data.length ? take_data(call, out, is_sheet) : 0;
}

/* How the command of a sheet ended, where that was seen and is not in the caller's data. */
static void write_outcome(const struct daemon *daemon, struct strbuf *out, const struct publication *told)
{
    const struct job *job = told->is_end ? jobs_find(daemon->jobs, told->job_id) : NULL;
    const uint32_t outcome = USAGE_BIT(USAGE_EXIT_CODE) | USAGE_BIT(USAGE_SIGNAL);

    for (size_t i = 0; job && i < job->sheet_count && !(told->reported.present & outcome); i++) {
        const struct job_usage *usage = &job->sheets[i].usage;
        if (job->sheets[i].number != told->sheet_num)
            continue;
        if (usage_has(usage, USAGE_EXIT_CODE))
            strbuf_addf(out, "\"exit_code\":%.0f,", usage->numbers[USAGE_EXIT_CODE]);
        if (usage_has(usage, USAGE_SIGNAL))
            strbuf_addf(out, "\"signal_num\":%.0f,", usage->numbers[USAGE_SIGNAL]);
    }
}

/* The caller's data, with resource_context as one more member. */
static void data_json(const struct daemon *daemon, struct strbuf *out, const struct publication *told)
{
    size_t length = told->data.length;
    struct json json;

    while (length > 0 && told->data.bytes[length - 1] != '}')
        length--;
    /* "{}" has no member to put a comma after. */
    bool empty = length < 2 || strspn(told->data.bytes + 1, " \t\r\n") >= length - 2;
    if (empty)
        strbuf_addc(out, '{');
    else
        strbuf_add(out, told->data.bytes, length - 1);
    if (!empty)
        strbuf_addc(out, ',');
    /* It may have ended before it was told of: no error, but whoever gives a wrong pid should know. */
    if (told->is_nobody)
        strbuf_addf(out, "\"hint\":\"there is no process %d to watch: nobody is in this sheet yet\",",
                    (int)told->start.pid);
    write_outcome(daemon, out, told);
    strbuf_adds(out, "\"resource_context\":");
    json_init(&json, out, 0);
    json_object_begin(&json);
    daemon_context_json(daemon, &json, told->start.pid);
    json_object_end(&json);
    strbuf_addc(out, '}');
}

int answer_event_publish(struct call *call, struct json *result)
{
    struct daemon *daemon = call_context(call);
    struct strbuf data = STRBUF_INIT;
    struct publication told;
    struct metron_error error;
    enum sheet_event event;

    int code = take_params(call, &told);
    if (code < 0)
        return code;
    if (strcmp(told.event, "job.started") == 0 || strcmp(told.event, "job.finished") == 0)
        return call_fail(call, RPC_INVALID_PARAMS, "call job.start or job.finish",
                         "'%s' is published by the daemon itself", told.event);
    bool is_sheet = sheet_event_of(told.event, strlen(told.event), &event);
    if (is_sheet && !told.has_sheet)
        return call_wrong(call, "sheet_num", "a whole number");
    code = call_check_owner(call, told.job_id);
    if (code == 0 && is_sheet)
        code = call_check_process(call, told.start.pid);
    if (code < 0)
        return code;
    if (is_sheet) {
        if (event == SHEET_EVENT_COMPLETED || event == SHEET_EVENT_FAILED)
            daemon_await_exit(daemon, told.job_id, true, told.sheet_num);
        counting_settle(daemon->counting);
        code =
            jobs_sheet(daemon->jobs, told.job_id, told.sheet_num, event, &told.start, &told.reported, &error);
        if (code < 0)
            return call_refuse_job(call, told.job_id, &error);
        counting_sheet(daemon->counting, told.job_id, told.sheet_num, event, told.start.pid);
        told.is_end = event == SHEET_EVENT_COMPLETED || event == SHEET_EVENT_FAILED;
        told.is_nobody =
            event == SHEET_EVENT_STARTED && told.start.pid && !jobs_of_process(daemon->jobs, told.start.pid);
    }
    data_json(daemon, &data, &told);
    if (data.failed) {
        strbuf_fini(&data);
        return -ENOMEM;
    }
    daemon_publish(daemon, told.event, told.job_id, told.has_sheet, told.sheet_num, strbuf_text(&data));
    json_object_begin(result);
    json_key_string(result, "event", told.event);
    json_key_string(result, "job_id", told.job_id);
    if (told.has_sheet)
        json_key_integer(result, "sheet_num", told.sheet_num);
    json_key(result, "data");
    rpc_raw_value(result, &(struct json_text){strbuf_text(&data), data.length});
    strbuf_fini(&data);
    if (is_sheet)
        return commits_await(daemon->commits, call);
    json_object_end(result);
    return 0;
}
