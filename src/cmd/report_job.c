#include "cmd/report_job.h"

#include <errno.h>

#include "base/json_reader.h"
#include "base/text.h"
#include "cmd/ask.h"
#include "cmd/commands.h"
#include "view/wrap.h"

#define DETAIL_COLUMN 13

/* {"report": "…"}: the text for people. */
static int read_report(const struct strbuf *answer, struct strbuf *out)
{
    const struct json_text object = {strbuf_text(answer), answer->length};
    struct strbuf text = STRBUF_INIT, printable = STRBUF_INIT;
    bool found = json_find_text(&object, "report", &text);

    text_printable_lines(&printable, strbuf_text(&text), text.length);
    wrap_lines(out, strbuf_text(&printable), DETAIL_COLUMN, command_page_width(0));
    strbuf_fini(&text);
    strbuf_fini(&printable);
    return found ? 0 : -EPROTO;
}

int report_job(const struct settings *settings, const char *name, struct strbuf *out,
               struct metron_error *error)
{
    const bool as_json = settings_flag(settings, SETTING_JSON);
    struct strbuf params = STRBUF_INIT, answer = STRBUF_INIT;
    struct client *client = NULL;

    ask_job_params(&params, name);
    int code = client_connect(settings_text(settings, SETTING_SOCKET), 0, &client, error);
    if (code == 0)
        code =
            client_call(client, as_json ? "job.profile" : "job.report", strbuf_text(&params), &answer, error);
    if (code == 0 && as_json)
        strbuf_addf(out, "%s\n", strbuf_text(&answer));
    else if (code == 0 && (code = read_report(&answer, out)) < 0)
        (void)error_set(error, code, "the daemon's answer has no report");
    client_free(client);
    strbuf_fini(&params);
    strbuf_fini(&answer);
    return code;
}
