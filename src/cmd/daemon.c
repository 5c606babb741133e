/* metron daemon: becomes the program metron-daemon; or asks the one that runs, or ends it. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/ask.h"
#include "cmd/commands.h"
#include "cmd/daemon_description.h"
#include "daemon/socket/client.h"
#include "probe/companion.h"
#include "settings/settings_json.h"
#include "view/daemon_status.h"
#include "view/wrap.h"

/* Column at which a fact of the status begins. */
#define DETAIL_COLUMN 12
#define STOP_WAIT_MS  10000
#define STOP_PAUSE_MS 10

/* A settings file that says the same; what has no value of its own is a comment. */
static void write_settings(struct strbuf *out, const struct settings *settings)
{
    strbuf_adds(out, "[daemon]\n");
    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];
        char key[SETTING_KEY_SIZE];
        if (!(setting->commands & COMMAND_DAEMON) || (setting->traits & SETTING_OPTION_ONLY))
            continue;
        const char *value = settings_text(settings, (enum setting_id)id);
        if (value)
            strbuf_addf(out, "%-15s = %-12s  ; %s\n", setting_key(setting, key), value,
                        settings_origin_text(settings, (enum setting_id)id));
        else
            strbuf_addf(out, "; %-13s = %s\n", setting_key(setting, key),
                        setting->initial_text ? setting->initial_text : "(none)");
    }
}

static int print_settings(const struct settings *settings)
{
    struct strbuf text = STRBUF_INIT;
    struct json json;

    if (settings_flag(settings, SETTING_JSON)) {
        json_init(&json, &text, 0);
        settings_json(&json, settings, NULL);
        strbuf_addc(&text, '\n');
    } else {
        write_settings(&text, settings);
    }
    int exit_code = command_print_data(strbuf_text(&text), text.length);
    strbuf_fini(&text);
    return exit_code;
}

static int become_daemon(char **argv)
{
    char path[PATH_MAX];

    if (companion_find("metron-daemon", path) < 0) {
        log_error("this build of metron has no daemon (metron-daemon is not installed beside it; it needs "
                  "SQLite)");
        return EXIT_TROUBLE;
    }
    argv[0] = path; /* what ps shows: "daemon" alone says nothing */
    (void)execv(path, argv);
    log_error("cannot start %s: %s", path, strerror(errno));
    return EXIT_TROUBLE;
}

static int show_status(const struct settings *settings)
{
    struct strbuf result = STRBUF_INIT, text = STRBUF_INIT, lines = STRBUF_INIT;

    int exit_code = ask(settings, "daemon.status", NULL, &result);
    if (exit_code == EXIT_OK && settings_flag(settings, SETTING_JSON)) {
        strbuf_addc(&result, '\n');
        exit_code = command_print_data(strbuf_text(&result), result.length);
    } else if (exit_code == EXIT_OK) {
        daemon_status_write(&text, strbuf_text(&result), result.length);
        wrap_lines(&lines, strbuf_text(&text), DETAIL_COLUMN, command_page_width(0));
        exit_code = command_print(strbuf_text(&lines), lines.length);
    }
    strbuf_fini(&lines);
    strbuf_fini(&result);
    strbuf_fini(&text);
    return exit_code;
}

/* It has ended once it is gone: then its files are written, and another one can begin. A descriptor tells of
 * it even where nobody ever waits for the process (a container without an init). */
static bool has_gone(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    bool gone = false;

    for (int waited_ms = 0; !gone && waited_ms < STOP_WAIT_MS; waited_ms += STOP_PAUSE_MS)
        gone = (kill(pid, 0) < 0 && errno == ESRCH) || poll(&end, 1, STOP_PAUSE_MS) > 0;
    if (fd >= 0)
        (void)close(fd);
    return gone;
}

static int stop(const struct settings *settings)
{
    struct client *client = NULL;
    struct metron_error error = {0};

    int code = client_connect(settings_text(settings, SETTING_SOCKET), STOP_WAIT_MS, &client, &error);
    pid_t pid = code == 0 ? client_daemon_pid(client) : 0;
    if (code == 0)
        code = client_call(client, "daemon.shutdown", NULL, NULL, &error);
    client_free(client);
    if (code < 0) {
        log_error("%s", error.message);
        return EXIT_TROUBLE;
    }
    if (pid > 0 && !has_gone(pid)) {
        log_error("the daemon (pid %d) was told to end and has not ended within %d s", (int)pid,
                  STOP_WAIT_MS / 1000);
        return EXIT_TROUBLE;
    }
    log_info("the daemon (pid %d) has ended", (int)pid);
    return EXIT_OK;
}

static int daemon_main(int argc, char **argv)
{
    struct settings settings;
    int first = argc, exit_code;

    if (command_begin(&daemon_description, argc, argv, &settings, &first, &exit_code)) {
        const char *word = first < argc ? argv[first] : NULL;
        if (argc - first > 1) {
            log_error("daemon: one word at most: status or stop");
            exit_code = EXIT_WRONG_USAGE;
        } else if (settings_flag(&settings, SETTING_CHECK_CONFIG)) {
            exit_code = print_settings(&settings);
        } else if (!word) {
            exit_code = become_daemon(argv);
        } else if (strcmp(word, "status") == 0) {
            exit_code = show_status(&settings);
        } else if (strcmp(word, "stop") == 0) {
            exit_code = stop(&settings);
        } else {
            log_error("daemon: '%s' is neither status nor stop", word);
            exit_code = EXIT_WRONG_USAGE;
        }
    }
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_daemon = {&daemon_description, daemon_main};
