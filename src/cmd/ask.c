#include "cmd/ask.h"

#include "base/json.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "cmd/commands.h"

int ask(const struct settings *settings, const char *method, const char *params, struct strbuf *result)
{
    struct client *client = NULL;
    struct metron_error error = {0};

    int code = client_connect(settings_text(settings, SETTING_SOCKET), 0, &client, &error);
    if (code == 0)
        code = client_call(client, method, params, result, &error);
    client_free(client);
    if (code == 0)
        return EXIT_OK;
    log_error("%s", error.message);
    return EXIT_TROUBLE;
}

void ask_job_params(struct strbuf *out, const char *job)
{
    struct json json;

    json_init(&json, out, 0);
    json_object_begin(&json);
    json_key_string(&json, "job_id", job);
    json_object_end(&json);
}

int ask_job_runs(struct client *client, const char *job, bool *runs, struct metron_error *error)
{
    struct strbuf params = STRBUF_INIT, status = STRBUF_INIT;
    struct json_text word;

    ask_job_params(&params, job);
    int code = client_call(client, "job.status", strbuf_text(&params), &status, error);
    *runs = code == 0 && json_find(&(struct json_text){status.data, status.length}, "status", &word) &&
            json_text_is(&word, "\"running\"");
    strbuf_fini(&params);
    strbuf_fini(&status);
    return code;
}

void ask_job_labels(struct json *json, const struct settings *settings, const char *folder)
{
    bool is_named = settings_has(settings, SETTING_WORKSPACE);

    json_key_string(json, "workspace", is_named ? settings_text(settings, SETTING_WORKSPACE) : folder);
    json_key_string(json, "config_hash", settings_text(settings, SETTING_CONFIG_HASH));
    if (settings_has(settings, SETTING_TOTAL_SHEETS))
        json_key_integer(json, "total_sheets", settings_integer(settings, SETTING_TOTAL_SHEETS));
}
