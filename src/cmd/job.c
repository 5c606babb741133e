/* metron job: tells the daemon of a job and its sheets, and asks what they used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/ask.h"
#include "cmd/commands.h"
#include "cmd/job_exec.h"
#include "view/job_table.h"

static const struct command_description description = {
    .name = "job",
    .summary = "tell the daemon of a job and its sheets, ask what they used",
    .usage = "[OPTION...] start|sheet|exec|finish|list|show ...",
    .description =
        "Talks to the daemon (metron daemon) about jobs:\n"
        "\n"
        "  start JOB [PID]             it begins; PID and all its descendants are its;\n"
        "                              --config-hash, --total-sheets and --workspace tell more\n"
        "  sheet JOB N WHAT [PID]      step N: started, completed, failed or retrying\n"
        "  exec JOB N [--] COMMAND     runs COMMAND as step N of a running job\n"
        "  finish JOB OUTCOME          it has completed, failed or was cancelled\n"
        "  list                        the jobs that the daemon knows\n"
        "  show JOB                    one of them, with its sheets\n"
        "\n"
        "Without PID a started job or sheet has the processes that inherit METRON_JOB and METRON_SHEET: "
        "'metron run --job JOB --sheet N' exports both. What went well is not told; --json prints the "
        "daemon's answer.\n"
        "\n"
        "exec records nothing itself and leaves stdin, stdout and stderr alone. COMMAND starts in a control "
        "group of its own where one can be made, so that the daemon knows everybody in it and its CPU "
        "exactly; it gets the signals that metron gets, and its exit code is metron's: 127 if it is not "
        "found, 126 if it cannot be run, 128+N if signal N ended it. Without a daemon it runs all the same. "
        "Options of metron stand before JOB.",
    .examples = "  metron job start --total-sheets 2 night $$\n"
                "  metron job sheet night 1 started $!\n"
                "  metron job exec night 2 -- make -j8\n"
                "  metron job finish night completed\n"
                "  metron job show night\n",
    .command = COMMAND_JOB,
    .options_anywhere = true,
};

struct words {
    char **argv;
    int count;
};

static int wrong(const char *what)
{
    log_error("job: %s; see 'metron job --help'", what);
    return EXIT_WRONG_USAGE;
}

/* A whole number, all of the text. */
static bool read_number(const char *text, long long *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

typedef void write_answer(struct strbuf *out, const char *json, size_t length, double now, size_t width);

/* Asks, and shows the answer: as it came (--json), or as people read it. Without `write` what went well needs
 * no words. */
static int send(const struct settings *settings, const char *method, struct strbuf *params,
                write_answer *write)
{
    struct strbuf answer = STRBUF_INIT, text = STRBUF_INIT;
    int exit_code = EXIT_TROUBLE;

    if (params->failed)
        log_error("no memory for a request");
    else
        exit_code = ask(settings, method, params->length ? strbuf_text(params) : NULL, &answer);
    if (exit_code == EXIT_OK && settings_flag(settings, SETTING_JSON)) {
        strbuf_addc(&answer, '\n');
        exit_code = command_print_data(strbuf_text(&answer), answer.length);
    } else if (exit_code == EXIT_OK && write) {
        write(&text, strbuf_text(&answer), answer.length, clock_wall_seconds(), command_page_width(0));
        exit_code = command_print(strbuf_text(&text), text.length);
    }
    strbuf_fini(&answer);
    strbuf_fini(&text);
    strbuf_fini(params);
    return exit_code;
}

/* What is no UTF-8 cannot be said in JSON as it is, and the daemon would know the job by another name. */
static const char not_utf8[] = "a job's name is UTF-8";

static int start_job(const struct settings *settings, struct words words)
{
    struct strbuf params = STRBUF_INIT;
    struct json json;
    long long pid = 0;
    char *folder;

    if (words.count < 1 || words.count > 2)
        return wrong("start takes the name of a job, and a process");
    if (!text_is_utf8(words.argv[0]))
        return wrong(not_utf8);
    if (words.count == 2 && (!read_number(words.argv[1], &pid) || pid <= 0))
        return wrong("a process is a number from 1");
    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "job_id", words.argv[0]);
    json_key_nonzero(&json, "pid", pid);
    folder = getcwd(NULL, 0);
    ask_job_labels(&json, settings, folder);
    free(folder);
    json_object_end(&json);
    return send(settings, "job.start", &params, NULL);
}

/* The daemon hands on events of any name; what is no sheet's would be lost without a word. */
static bool is_sheet_word(const char *word)
{
    static const char *const words[] = {"started", "completed", "failed", "retrying"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static int tell_sheet(const struct settings *settings, struct words words)
{
    struct strbuf params = STRBUF_INIT, event = STRBUF_INIT;
    struct json json;
    long long number, pid = 0;

    if (words.count < 3 || words.count > 4)
        return wrong("sheet takes a job, a number, what happened to it, and a process");
    if (!read_number(words.argv[1], &number) || number < 0)
        return wrong("a sheet is a number from 0");
    if (words.count == 4 && (!read_number(words.argv[3], &pid) || pid <= 0))
        return wrong("a process is a number from 1");
    if (!is_sheet_word(words.argv[2]))
        return wrong("what happened to a sheet is one of started, completed, failed, retrying");
    strbuf_addf(&event, "sheet.%s", words.argv[2]);
    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "event", strbuf_text(&event));
    json_key_string(&json, "job_id", words.argv[0]);
    json_key_integer(&json, "sheet_num", number);
    json_key_object(&json, "data");
    json_key_nonzero(&json, "pid", pid);
    json_object_end(&json);
    json_object_end(&json);
    strbuf_fini(&event);
    return send(settings, "event.publish", &params, NULL);
}

/* JOB N [--] COMMAND... */
static int exec_sheet(const struct settings *settings, struct words words)
{
    long long number;
    int first = words.count > 2 && strcmp(words.argv[2], "--") == 0 ? 3 : 2;

    if (words.count <= first)
        return wrong("exec takes a job, a number and a command");
    if (!text_is_utf8(words.argv[0]))
        return wrong(not_utf8);
    if (!read_number(words.argv[1], &number) || number < 0)
        return wrong("a sheet is a number from 0");
    return job_exec(settings, words.argv[0], number, words.argv + first);
}

static int finish_job(const struct settings *settings, struct words words)
{
    struct strbuf params = STRBUF_INIT;
    struct json json;

    if (words.count != 2)
        return wrong("finish takes a job and its outcome: completed, failed or cancelled");
    json_init(&json, &params, 0);
    json_object_begin(&json);
    json_key_string(&json, "job_id", words.argv[0]);
    json_key_string(&json, "outcome", words.argv[1]);
    json_object_end(&json);
    return send(settings, "job.finish", &params, NULL);
}

static int list_jobs(const struct settings *settings, struct words words)
{
    struct strbuf no_params = STRBUF_INIT;

    return words.count ? wrong("list takes nothing")
                       : send(settings, "job.list", &no_params, job_table_write);
}

static int show_job(const struct settings *settings, struct words words)
{
    struct strbuf params = STRBUF_INIT;

    if (words.count != 1)
        return wrong("show takes the name of a job");
    ask_job_params(&params, words.argv[0]);
    return send(settings, "job.profile", &params, job_page_write);
}

/* What follows the name of another command is that command's: here options end at the first word. */
static int exec_main(int argc, char **argv)
{
    struct command_description in_order = description;
    struct settings settings;
    int first = argc, exit_code;

    in_order.options_anywhere = false;
    if (command_begin(&in_order, argc, argv, &settings, &first, &exit_code))
        exit_code = exec_sheet(&settings, (struct words){argv + first, argc - first});
    settings_fini(&settings);
    return exit_code;
}

static int job_main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*act)(const struct settings *settings, struct words words);
    } actions[] = {{"start", start_job},   {"sheet", tell_sheet}, {"exec", exec_sheet},
                   {"finish", finish_job}, {"list", list_jobs},   {"show", show_job}};
    struct settings settings;
    int first = argc, exit_code;

    if (argc > 1 && strcmp(argv[1], "exec") == 0)
        return exec_main(argc - 1, argv + 1);
    if (command_begin(&description, argc, argv, &settings, &first, &exit_code)) {
        const struct words words = {argv + first + 1, argc - first - 1};
        exit_code = -1;
        for (size_t i = 0; first < argc && i < sizeof(actions) / sizeof(actions[0]); i++)
            if (strcmp(argv[first], actions[i].word) == 0)
                exit_code = actions[i].act(&settings, words);
        if (exit_code < 0)
            exit_code = wrong("start, sheet, exec, finish, list or show");
    }
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_job = {&description, job_main};
