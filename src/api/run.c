/*
 * A run: the program metron is started with one end of a pair of sockets as its feed (loop/feed.h), and what
 * it tells is handed on. Closing our side for writing asks it to end, and so does our own end.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/options.h"
#include "api/program.h"
#include "api/result.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "daemon/socket/line_pipe.h"

struct metron_run {
    struct line_pipe pipe; /* its descriptor is ours to close */
    struct program program;
    struct metron_callbacks callbacks;
    pid_t pid;                    /* of the command; 0: not known */
    bool ended;                   /* one of the two below is there */
    struct metron_result *result; /* owned until it is given away */
    struct metron_error error;
    struct strbuf text; /* scratch: what a callback gets */
};

/* ---- what the program tells ---- */

/* A copy that ends with NUL, until the next one. */
static const char *text_of(struct metron_run *run, const struct json_text *text)
{
    strbuf_reset(&run->text);
    strbuf_add(&run->text, text->bytes, text->length);
    return strbuf_text(&run->text);
}

static void take_record(struct metron_run *run, const struct json_text *value)
{
    if (!run->callbacks.on_record)
        return;
    const char *bytes = text_of(run, value);
    const struct metron_record record = {{bytes, run->text.length}};

    if (!run->text.failed)
        run->callbacks.on_record(run->callbacks.record_context, run, &record);
}

static void take_event(struct metron_run *run, const struct json_text *value)
{
    if (!run->callbacks.on_event)
        return;
    const char *json = text_of(run, value);

    if (!run->text.failed)
        run->callbacks.on_event(run->callbacks.event_context, run, json);
}

static enum metron_log_level level_of(const struct json_text *word)
{
    return json_text_is(word, "error")     ? METRON_LOG_ERROR
           : json_text_is(word, "warning") ? METRON_LOG_WARNING
           : json_text_is(word, "info")    ? METRON_LOG_INFO
                                           : METRON_LOG_DEBUG;
}

/* {"level":…,"message":…}, {"pid":…} or {"code":…,"message":…}: each has one number or word, and a text. */
struct told {
    double number;
    enum metron_log_level level;
    const char *message; /* in run->text */
};

static void read_told(struct metron_run *run, const struct json_text *value, struct told *out)
{
    struct json_reader reader;
    struct json_text key, text;

    *out = (struct told){.level = METRON_LOG_DEBUG, .message = ""};
    json_reader_init(&reader, value->bytes, value->length);
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &key)) {
            bool is_level = json_text_is(&key, "level");

            if (json_read_number(&reader, &out->number))
                continue;
            if (!json_read_text(&reader, &text))
                (void)json_skip(&reader);
            else if (is_level)
                out->level = level_of(&text);
            else
                out->message = text_of(run, &text);
        }
    json_reader_fini(&reader);
}

static void take_log(struct metron_run *run, const struct json_text *value)
{
    struct told told;

    if (!run->callbacks.on_log)
        return;
    read_told(run, value, &told);
    run->callbacks.on_log(run->callbacks.log_context, told.level, told.message);
}

static void take_started(struct metron_run *run, const struct json_text *value)
{
    struct told told;

    read_told(run, value, &told);
    run->pid = told.number >= 1 && told.number <= INT_MAX ? (pid_t)told.number : 0;
}

static void take_error(struct metron_run *run, const struct json_text *value)
{
    struct told told;

    read_told(run, value, &told);
    (void)error_set(&run->error, told.number <= -1 && told.number >= INT_MIN ? (int)told.number : -EPROTO,
                    "%s", told.message);
    run->ended = true;
}

static void take_end(struct metron_run *run, const struct json_text *value)
{
    run->result = result_new(value);
    if (!run->result)
        (void)error_set(&run->error, -ENOMEM, "no memory for the result of a run");
    run->ended = true;
}

/* A line is an object with one key: what it is. Others come from a newer program, and are passed over. */
static void take_line(struct metron_run *run, const struct json_text *line)
{
    static const struct {
        const char *key;
        void (*take)(struct metron_run *run, const struct json_text *value);
    } kinds[] = {{"record", take_record},   {"event", take_event}, {"log", take_log},
                 {"started", take_started}, {"error", take_error}, {"end", take_end}};
    struct json_reader reader;
    struct json_text key, value;
    size_t kind = 0, count = sizeof(kinds) / sizeof(kinds[0]);

    json_reader_init(&reader, line->bytes, line->length);
    if (json_enter_object(&reader) && json_next_key(&reader, &key)) {
        while (kind < count && !json_text_is(&key, kinds[kind].key))
            kind++;
        if (kind < count && json_read_raw(&reader, &value))
            kinds[kind].take(run, &value);
    }
    json_reader_fini(&reader);
}

int metron_run_step(struct metron_run *run, int timeout_ms)
{
    uint64_t end_ns = clock_after_ms(timeout_ms);
    struct json_text line;

    while (!run->ended) {
        int code = line_pipe_next(&run->pipe, end_ns, &line);

        if (code == -ETIMEDOUT || code == -EINTR)
            return 1;
        if (code == 0) {
            take_line(run, &line);
            end_ns = 0; /* what has come as well, and no more */
        } else {
            (void)error_set(&run->error, code == -ECONNRESET ? -EPIPE : code,
                            "the program metron ended before the run did: %s",
                            code == -ECONNRESET ? "it was killed, or is of another version"
                                                : strerror(-code));
            run->ended = true;
        }
    }
    return 0;
}

/* ---- beginning and end ---- */

static void run_free(struct metron_run *run)
{
    file_close(&run->pipe.fd);
    line_pipe_fini(&run->pipe);
    strbuf_fini(&run->text);
    metron_result_free(run->result);
    free(run);
}

/* The words of `text`, each ended by NUL, as a list that ends with NULL and then `rest`; owned. */
static char **list_words(const struct strbuf *text, char *const *rest)
{
    size_t count = 1;

    for (size_t i = 0; i < text->length; i++)
        count += text->data[i] == '\0';
    for (char *const *word = rest; *word; word++)
        count++;
    char **list = calloc(count, sizeof(*list));
    if (!list)
        return NULL;
    count = 0;
    for (size_t i = 0; i < text->length; i += strlen(text->data + i) + 1)
        list[count++] = text->data + i;
    while (*rest)
        list[count++] = *rest++;
    return list;
}

static int start_program(struct metron_run *run, struct strbuf *words, char *const *rest, int fd,
                         struct metron_error *error)
{
    char path[PATH_MAX];
    char **argv = words->failed ? NULL : list_words(words, rest);
    int code = argv ? program_find(path, error) : error_set(error, -ENOMEM, "no memory for a command line");

    if (code == 0)
        code = program_start(path, argv, fd, &run->program, error);
    free(argv);
    return code;
}

/* `rest`: the command, or processes. */
static int start(const struct metron_options *options, enum command command, char *const *rest,
                 struct metron_run **out, struct metron_error *error)
{
    struct metron_run *run = calloc(1, sizeof(*run));
    struct strbuf words = STRBUF_INIT;
    int ends[2] = {-1, -1};
    int code;

    if (!run)
        return error_set(error, -ENOMEM, "no memory for a run");
    run->pipe.fd = -1;
    if (options)
        run->callbacks = options->callbacks;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        code = error_set(error, -errno, "no pair of sockets to be had: %s", strerror(errno));
        goto out;
    }
    run->pipe.fd = ends[0];
    strbuf_addf(&words, "metron%c%s%c--feed=%d%c", '\0', command == COMMAND_RUN ? "run" : "attach", '\0',
                ends[1], '\0');
    code = options_words(options, command, &words, error);
    strbuf_add(&words, "--", sizeof("--"));
    if (code == 0)
        code = start_program(run, &words, rest, ends[1], error);
    (void)close(ends[1]);
out:
    strbuf_fini(&words);
    if (code < 0)
        run_free(run);
    else
        *out = run;
    return code;
}

int metron_run_start(const struct metron_options *options, char *const argv[], struct metron_run **run,
                     struct metron_error *error)
{
    if (!argv || !argv[0])
        return error_set(error, -EINVAL, "run: no command is given");
    return start(options, COMMAND_RUN, argv, run, error);
}

int metron_attach_start(const struct metron_options *options, const pid_t pids[], size_t count,
                        struct metron_run **run, struct metron_error *error)
{
    enum { NUMBER_SIZE = 16 };
    int code = -ENOMEM;

    if (count == 0)
        return error_set(error, -EINVAL, "attach: no process is given");
    char *numbers = calloc(count, NUMBER_SIZE);
    char **words = calloc(count + 1, sizeof(*words));
    if (numbers && words) {
        for (size_t i = 0; i < count; i++) {
            words[i] = numbers + i * NUMBER_SIZE;
            (void)snprintf(words[i], NUMBER_SIZE, "%d", (int)pids[i]);
        }
        code = start(options, COMMAND_ATTACH, words, run, error);
    } else {
        (void)error_set(error, code, "no memory for the list of processes");
    }
    free(words);
    free(numbers);
    return code;
}

int metron_run_fd(const struct metron_run *run)
{
    return run->pipe.fd;
}

pid_t metron_run_pid(const struct metron_run *run)
{
    return run->pid;
}

void metron_run_stop(struct metron_run *run)
{
    (void)shutdown(run->pipe.fd, SHUT_WR);
}

int metron_run_finish(struct metron_run *run, struct metron_result **result, struct metron_error *error)
{
    if (!run)
        return 0;
    while (metron_run_step(run, -1) != 0)
        ;
    int code = run->error.code;

    if (code < 0 && error)
        *error = run->error;
    if (code == 0 && result) {
        *result = run->result;
        run->result = NULL;
    }
    program_finish(&run->program);
    run_free(run);
    return code;
}

int metron_run(const struct metron_options *options, char *const argv[], struct metron_result **result,
               struct metron_error *error)
{
    struct metron_run *run = NULL;
    int code = metron_run_start(options, argv, &run, error);

    return code < 0 ? code : metron_run_finish(run, result, error);
}

int metron_attach(const struct metron_options *options, const pid_t pids[], size_t count,
                  struct metron_result **result, struct metron_error *error)
{
    struct metron_run *run = NULL;
    int code = metron_attach_start(options, pids, count, &run, error);

    return code < 0 ? code : metron_run_finish(run, result, error);
}
