/*
 * metron-daemon: what `metron daemon` becomes once its options are checked.
 *
 * A program of its own because SQLite takes longer to load than `metron run` may take to start. It takes the
 * same options, and reads its settings itself, so that it can read them again (SIGHUP).
 *
 * With `enabled = no` it ends at once, and on SIGHUP if that has become so: exit code 0, nothing is wrong.
 * SIGTERM and SIGINT end it: what is queued is written, clients get their last answers, the exit code is 0.
 * Until the daemon is open they are blocked. Bringing an older history up to this version may take minutes:
 * it asks now and then whether one of them is pending, and stops.
 *
 * METRON_TEST_INTERVAL, in seconds, takes the place of `interval` and may be as short as a millisecond: for
 * tests of endurance, which need many ticks in little time. METRON_TEST_LOST_AFTER, in seconds, takes the
 * place of the minute after which a job that nothing is left of is lost. They are no settings: nobody else
 * has a use for them.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/availability.h"
#include "cmd/commands.h"
#include "cmd/daemon_description.h"
#include "collect/collectors.h"
#include "daemon/daemon.h"
#include "daemon/socket/socket_path.h"
#include "keeper/detach.h"
#include "keeper/notify.h"
#include "keeper/paths.h"
#include "probe/gpu/readings.h"
#include "settings/settings_json.h"

#define LOST_AFTER_SECONDS  60
#define UPGRADE_LOG_SECONDS 5
#define LARGE_BYTES         (128 * 1024) /* given back to the kernel as soon as it is free */

struct keeper {
    int argc;
    char **argv;
    struct settings settings; /* in force */
    struct settings later;    /* as they were last read: what differs is in force with the next start */
    struct availability availability;
    struct snapshot_columns columns;
    struct keeper_paths paths;
    char socket[SOCKET_PATH_SIZE];
    struct daemon *daemon;
    bool opened; /* the daemon: before that, a signal waits */
    struct {
        uint64_t begun_ns, notified_ns, logged_ns;
    } upgrade;             /* of an older history */
    struct detach *detach; /* who started us waits to be told; NULL: nobody */
    uv_signal_t signals[3];
};

static double test_seconds(const char *variable, double otherwise)
{
    const char *text = getenv(variable);
    double seconds = text ? strtod(text, NULL) : 0;

    return seconds >= 0.001 ? seconds : otherwise;
}

/* Seconds between two snapshots. */
static double interval_of(const struct settings *settings)
{
    return test_seconds("METRON_TEST_INTERVAL", settings_real(settings, SETTING_INTERVAL));
}

static void write_config(struct json *json, void *context)
{
    const struct keeper *keeper = context;
    settings_json(json, &keeper->settings, keeper->later.commands ? &keeper->later : NULL);
}

/* Says by what it is turned off; systemd is told that nothing is wrong. */
static bool is_turned_off(const struct settings *settings)
{
    if (settings_flag(settings, SETTING_ENABLED))
        return false;
    log_info("the daemon is turned off: enabled = no (%s)", settings_origin_text(settings, SETTING_ENABLED));
    notify_turned_off();
    return true;
}

/* Those that change while it runs; all others do with the next start. */
static const enum setting_id live[] = {
    SETTING_INTERVAL,        SETTING_WATCH,  SETTING_ENABLED,   SETTING_MASK_SECRETS, SETTING_SECRET_NAMES,
    SETTING_SECRET_PATTERNS, SETTING_COLORS, SETTING_LOG_LEVEL, SETTING_QUIET,
};

/* What is in force now goes by `settings`. */
static void apply(struct keeper *keeper)
{
    double interval = interval_of(&keeper->settings);

    if (interval != keeper->availability.options.tuning.sample_interval) {
        daemon_set_interval(keeper->daemon, interval);
        keeper->availability.options.tuning.sample_interval = interval;
    }
    daemon_set_jobs_only(keeper->daemon,
                         settings_choice(&keeper->settings, SETTING_WATCH) == CHOICE_WATCH_JOBS);
    if (is_turned_off(&keeper->settings))
        daemon_stop(keeper->daemon, true);
}

static void report_reload(const struct keeper *keeper)
{
    struct strbuf later = STRBUF_INIT;

    for (int id = 0; id < SETTING_COUNT; id++)
        if (settings_is_later(&keeper->settings, &keeper->later, (enum setting_id)id))
            strbuf_addf(&later, "%s%s",
                        later.length ? ", " : "; with the next start: ", settings_table[id].name);
    log_info("settings were read again: a snapshot every %g s of %s%s", interval_of(&keeper->settings),
             settings_text(&keeper->settings, SETTING_WATCH), strbuf_text(&later));
    strbuf_fini(&later);
}

/* Settings are read again. Those that cannot change while it runs are named, and kept for daemon.config. */
static void reload(struct keeper *keeper)
{
    struct settings settings;
    int first, exit_code;

    if (!command_begin(&daemon_description, keeper->argc, keeper->argv, &settings, &first, &exit_code)) {
        settings_fini(&settings);
        log_warning("the settings are wrong: those of before stay in force");
        return;
    }
    bool masked = settings_flag(&keeper->settings, SETTING_MASK_SECRETS);
    for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
        settings_move(&keeper->settings, &settings, live[i]);
    if (settings_flag(&keeper->settings, SETTING_MASK_SECRETS) != masked) /* command_begin has changed it */
        log_info(masked ? "secrets are no longer masked"
                        : "secrets are masked in command lines that are read from now on");
    settings_fini(&keeper->later);
    keeper->later = settings;
    report_reload(keeper);
    apply(keeper);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct keeper *keeper = handle->data;

    if (!keeper->opened)
        return; /* it could not be opened, and ends anyway */
    if (number == SIGHUP) {
        reload(keeper);
        return;
    }
    log_info("%s: ending", strsignal(number));
    notify_stopping();
    daemon_stop(keeper->daemon, true);
}

static const int signal_numbers[] = {SIGTERM, SIGINT, SIGHUP};
#define SIGNALS (sizeof(signal_numbers) / sizeof(signal_numbers[0]))

static void block_signals(int how)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        (void)sigaddset(&set, signal_numbers[i]);
    (void)pthread_sigmask(how, &set, NULL);
}

static bool is_to_end(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

/* Asked while an older history is brought up to this version. A short one is not worth a message. */
static bool watch_upgrade(void *context, double done)
{
    struct keeper *keeper = context;
    uint64_t now_ns = clock_monotonic_ns();

    if (keeper->upgrade.begun_ns == 0)
        keeper->upgrade.begun_ns = keeper->upgrade.logged_ns = now_ns;
    if (now_ns - keeper->upgrade.notified_ns >= NS_PER_SECOND) {
        keeper->upgrade.notified_ns = now_ns;
        notify_upgrading(done);
    }
    if (now_ns - keeper->upgrade.logged_ns >= UPGRADE_LOG_SECONDS * NS_PER_SECOND && done > 0) {
        double passed = (double)(now_ns - keeper->upgrade.begun_ns) / (double)NS_PER_SECOND;

        keeper->upgrade.logged_ns = now_ns;
        log_info(
            "history '%s' is being brought up to this version: %.0f %% done after %.0f s, about %.0f s to "
            "go; the daemon is ready after that",
            keeper->paths.database, done * 100, passed, passed / done - passed);
    }
    return is_to_end();
}

static int listen_to_signals(struct keeper *keeper)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_signal_t *handle = &keeper->signals[i];
        int code = uv_signal_init(daemon_loop(keeper->daemon), handle);
        handle->data = keeper;
        if (code == 0)
            code = uv_signal_start(handle, on_signal, signal_numbers[i]);
        if (code < 0)
            return code;
        uv_unref((uv_handle_t *)handle); /* the loop ends without them (daemon_stop) */
    }
    return 0;
}

static int look_at_machine(struct keeper *keeper, struct metron_error *error)
{
    const struct settings *settings = &keeper->settings;
    const struct availability_options looking = {
        .proc_root = "/proc",
        .cgroup_mode = CGROUP_MODE_OFF,
        .machine = true,
        .job_calls = settings_flag(settings, SETTING_STRACE_ENABLED),
        .events = (enum events_mode)settings_choice(settings, SETTING_EVENTS),
        .tuning = {.secrets = command_secrets(),
                   .sample_interval = interval_of(settings),
                   .gpu_off = !settings_flag(settings, SETTING_GPU_ENABLED),
                   .is_daemon = true},
    };

    int code = availability_init(&keeper->availability, &looking, error);
    if (code < 0)
        return code;
    registry_select_columns(&keeper->availability.registry);
    code = snapshot_columns_init(&keeper->columns, collector_sources(), collector_count);
    return code < 0 ? error_set(error, code, "more columns than a snapshot has room for") : 0;
}

static int new_daemon(struct keeper *keeper, struct metron_error *error)
{
    static const double mebibyte = 1024.0 * 1024;
    const struct settings *settings = &keeper->settings;
    const struct daemon_options options = {
        .interval = interval_of(settings),
        .lost_after = test_seconds("METRON_TEST_LOST_AFTER", LOST_AFTER_SECONDS),
        .all_users = geteuid() == 0,
        .jobs_only = settings_choice(settings, SETTING_WATCH) == CHOICE_WATCH_JOBS,
        .secrets = command_secrets(),
        .count_calls = settings_flag(settings, SETTING_STRACE_ENABLED),
        .socket = keeper->socket,
        .socket_group = settings_text(settings, SETTING_SOCKET_GROUP),
        .database = keeper->paths.database,
        .log_file = keeper->paths.log_file,
        .trace_folder = keeper->paths.traces,
        .log_limit_bytes = (uint64_t)(settings_real(settings, SETTING_LOG_LIMIT) * 1e6),
        .full_hours = settings_real(settings, SETTING_RETENTION_HOURS),
        .minute_days = settings_real(settings, SETTING_RETENTION_DAYS),
        .event_days = settings_real(settings, SETTING_EVENTS_DAYS),
        .database_cap_bytes = (uint64_t)(settings_real(settings, SETTING_DATABASE_CAP) * mebibyte),
        .version = METRON_VERSION,
        .events = &keeper->availability.events,
        .context = &keeper->availability.context,
        .registry = &keeper->availability.registry,
        .columns = &keeper->columns,
        .upgrade = {watch_upgrade, keeper},
        .config_json = write_config,
        .config_context = keeper,
    };

    return daemon_new(&options, &keeper->daemon, error);
}

static int keep(struct keeper *keeper, struct metron_error *error)
{
    const struct socket_place place = socket_place_own();

    int code =
        socket_path_listen(&place, settings_text(&keeper->settings, SETTING_SOCKET), keeper->socket, error);
    if (code == 0)
        code = keeper_paths_find(&keeper->paths, &keeper->settings, error);
    if (code == 0)
        code = look_at_machine(keeper, error);
    if (code == 0)
        code = new_daemon(keeper, error);
    /* First the handlers: who can connect may send a signal. One that a handler took would wait in the loop,
     * where is_to_end does not see it. */
    block_signals(SIG_BLOCK);
    if (code == 0 && (code = listen_to_signals(keeper)) < 0)
        (void)error_set(error, code, "cannot take signals: %s", uv_strerror(code));
    if (code == 0)
        code = daemon_open(keeper->daemon, error);
    keeper->opened = code == 0;
    block_signals(SIG_UNBLOCK);
    if (code < 0)
        return code;
    log_info("listening on %s", keeper->socket);
    notify_ready();
    detach_tell(keeper->detach, 0, NULL);
    return daemon_run(keeper->daemon, error);
}

int main(int argc, char **argv)
{
    struct keeper keeper = {.argc = argc, .argv = argv};
    struct metron_error error = {0};
    int first = argc, exit_code = EXIT_OK, left;

    /* Or the allocator raises them with each large block that is freed, and after a crowd of processes keeps
     * tens of MiB. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write that fails, and no more */
    if (!command_begin(&daemon_description, argc, argv, &keeper.settings, &first, &exit_code))
        goto out;
    exit_code = EXIT_OK;
    if (is_turned_off(&keeper.settings))
        goto out;
    if (settings_flag(&keeper.settings, SETTING_DETACH) && !detach(&keeper.detach, &exit_code))
        goto out; /* the one that was started: the daemon has told how it went */
    int code = keep(&keeper, &error);
    if (code == -ECANCELED) { /* by a signal, as was asked of it */
        log_info("daemon: %s", error.message);
        notify_stopping();
        detach_tell(keeper.detach, EXIT_TROUBLE, error.message);
    } else if (code < 0) {
        log_error("daemon: %s", error.message);
        detach_tell(keeper.detach, EXIT_TROUBLE, error.message);
        exit_code = EXIT_TROUBLE;
    }
out:
    /* What is queued is still to be written, and none of them may kill it meanwhile. */
    block_signals(SIG_BLOCK);
    left = daemon_free(keeper.daemon);
    availability_fini(&keeper.availability);
    keeper_paths_fini(&keeper.paths);
    settings_fini(&keeper.settings);
    settings_fini(&keeper.later);
    if (left == -ETIMEDOUT || gpu_readings_left_behind())
        _exit(exit_code); /* the library of a stuck thread would wait for it */
    return exit_code;
}
