/* metron events: what happened to processes, as the daemon remembers it or as it happens. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "cmd/ask.h"
#include "cmd/commands.h"
#include "daemon/socket/client.h"
#include "view/event_lines.h"

/* All that the daemon remembers, or so many of a job. */
#define LIMIT 200
/* A signal between two waits is noticed so late. */
#define WAIT_MS 1000

static const struct command_description description = {
    .name = "events",
    .summary = "spawns, exits, signals, OOM kills and jobs that the daemon saw",
    .usage = "[OPTION...]",
    .description =
        "Shows the last events that the daemon (metron daemon) remembers, 200 at most, the oldest first; "
        "with --job the last 200 of that job, from its history. With --follow it shows those to come "
        "instead, those of other names among them, until Ctrl-C.\n"
        "\n"
        "HOW is the exit code or the signal. JOB/SHEET is - for a process of no job; a command that was "
        "never seen is left out. On a terminal lines are cut to its width, in a file or pipe they are not. "
        "With --json every event is an object on a line of its own.",
    .examples = "  metron events\n"
                "  metron events --follow --job night\n"
                "  metron events --json | jq 'select(.event_type == \"oom\")'\n",
    .command = COMMAND_EVENTS,
    .options_anywhere = true,
};

static volatile sig_atomic_t interrupted;

struct show {
    const char *job; /* NULL: of all, and of none */
    bool as_json;
    struct event_lines lines;
    struct strbuf text;
};

static int flush(struct show *show)
{
    int exit_code =
        (show->as_json ? command_print_data : command_print)(strbuf_text(&show->text), show->text.length);

    strbuf_reset(&show->text);
    return exit_code;
}

static void add_event(struct show *show, const char *json, size_t length)
{
    if (!show->as_json) {
        (void)event_lines_add(&show->lines, json, length, &show->text);
        return;
    }
    strbuf_add(&show->text, json, length);
    strbuf_addc(&show->text, '\n');
}

/* ---- those of before ---- */

static size_t add_events(struct show *show, const struct json_text *events)
{
    struct json_reader reader;
    struct json_text event;
    size_t count = 0;

    json_reader_init(&reader, events->bytes, events->length);
    if (json_enter_array(&reader))
        for (; json_next_item(&reader) && json_read_raw(&reader, &event); count++)
            add_event(show, event.bytes, event.length);
    return count;
}

static void last_params(const struct show *show, struct strbuf *params)
{
    struct json json;

    json_init(&json, params, 0);
    json_object_begin(&json);
    json_key_integer(&json, "limit", LIMIT);
    json_key_string(&json, "job_id", show->job); /* none, if it is NULL */
    json_object_end(&json);
}

static int show_last(struct show *show, const struct settings *settings)
{
    struct strbuf answer = STRBUF_INIT, params = STRBUF_INIT;
    struct json_text events = {0};

    last_params(show, &params);
    int exit_code = ask(settings, "daemon.events", strbuf_text(&params), &answer);
    if (exit_code == EXIT_OK) {
        (void)json_find(&(struct json_text){strbuf_text(&answer), answer.length}, "events", &events);
        if (add_events(show, &events) > 0)
            exit_code = flush(show);
        else if (show->job)
            log_info("the daemon remembers no event of job '%s'", show->job);
        else
            log_info("the daemon remembers no event");
    }
    strbuf_fini(&params);
    strbuf_fini(&answer);
    return exit_code;
}

/* ---- those to come ---- */

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* Ctrl-C ends it well. Who was started with the signal ignored goes on ignoring it. */
static void listen_to_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt}, before;

    (void)sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        (void)sigaction(SIGINT, &action, NULL);
}

static int subscribe(const struct show *show, struct client *client, struct metron_error *error)
{
    struct strbuf params = STRBUF_INIT;
    struct json json;

    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "job_id", show->job); /* none, if it is NULL */
    json_key_boolean(&json, "snapshots", false);
    json_object_end(&json);
    int code = params.failed ? error_set(error, -ENOMEM, "no memory for a request")
                             : client_subscribe(client, strbuf_text(&params), error);
    strbuf_fini(&params);
    return code;
}

/* {"count": N}: this client was too slow for so many. */
static void add_lost(struct show *show, const char *json, size_t length)
{
    double count = 0;

    (void)json_find_number(&(struct json_text){json, length}, "count", &count);
    if (show->as_json)
        strbuf_addf(&show->text, "{\"event\":\"monitor.dropped\",\"count\":%.0f}\n", count);
    else
        strbuf_addf(&show->text, "… %.0f event%s lost here: they came faster than they could be shown\n",
                    count, count == 1 ? " was" : "s were");
}

static int follow(struct show *show, struct client *client, struct metron_error *error)
{
    struct strbuf method = STRBUF_INIT, params = STRBUF_INIT;
    int exit_code = EXIT_OK, code = 0;

    while (!interrupted && exit_code == EXIT_OK && (code >= 0 || code == -EINTR)) {
        if (show->text.length > 0)
            exit_code = flush(show);
        code = client_next_notification(client, WAIT_MS, &method, &params, error);
        if (code == 1 && strcmp(strbuf_text(&method), "monitor.event") == 0)
            add_event(show, strbuf_text(&params), params.length);
        else if (code == 1 && strcmp(strbuf_text(&method), "monitor.dropped") == 0)
            add_lost(show, strbuf_text(&params), params.length);
    }
    strbuf_fini(&method);
    strbuf_fini(&params);
    if (code < 0 && code != -EINTR) {
        log_error("%s", error->message);
        return EXIT_TROUBLE;
    }
    return exit_code;
}

static int show_next(struct show *show, const struct settings *settings)
{
    struct client *client = NULL;
    struct metron_error error = {0};
    int exit_code = EXIT_TROUBLE;

    listen_to_interrupt();
    int code = client_connect(settings_text(settings, SETTING_SOCKET), 0, &client, &error);
    if (code == 0)
        code = subscribe(show, client, &error);
    if (code == 0)
        exit_code = follow(show, client, &error);
    else
        log_error("%s", error.message);
    client_free(client);
    return exit_code;
}

static int events_main(int argc, char **argv)
{
    struct show show = {.text = STRBUF_INIT};
    struct settings settings;
    int first = argc, exit_code;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    if (first < argc) {
        log_error("events: '%s' is no option, and events takes no operands; see 'metron events --help'",
                  argv[first]);
        exit_code = EXIT_WRONG_USAGE;
        goto out;
    }
    show.job = settings_text(&settings, SETTING_JOB);
    show.as_json = settings_flag(&settings, SETTING_JSON);
    /* Inside a job its name is in the environment: what is left out should be no surprise. */
    if (show.job && settings_origin(&settings, SETTING_JOB) != SETTING_ORIGIN_COMMAND_LINE)
        log_info("only events of job '%s' (%s)", show.job, settings_origin_text(&settings, SETTING_JOB));
    if (!show.as_json)
        event_lines_begin(&show.lines, command_page_width(0), time(NULL), &show.text);
    exit_code =
        settings_flag(&settings, SETTING_FOLLOW) ? show_next(&show, &settings) : show_last(&show, &settings);
out:
    strbuf_fini(&show.text);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_events = {&description, events_main};
