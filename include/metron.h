/*
 * metron.h: measuring a command, or processes that run already, from a C program; and asking the daemon.
 *
 *     struct metron_options *options = metron_options_new();
 *     struct metron_result *result = NULL;
 *     struct metron_error error;
 *     char *argv[] = {"make", "-j8", NULL};
 *     double seconds;
 *
 *     metron_options_set(options, "sample-interval", "0.1", NULL);
 *     if (metron_run(options, argv, &result, &error) < 0)
 *         fprintf(stderr, "%s\n", error.message);
 *     else if (metron_result_headline(result, "cpu_seconds", &seconds, NULL))
 *         printf("%.2f seconds of CPU\n", seconds);
 *     metron_result_free(result);
 *     metron_options_free(options);
 *
 * What it does to your process. A run is measured by the program metron, which is started for it and talks to
 * the library over a socket, so that nothing of your process is changed: no handler, mask or disposition of a
 * signal, no limit, no sub-reaper flag; no thread is made, none of your children is waited for, nothing is
 * printed, and nothing calls exit(). What you will see is what system(3) would show: one child, the program
 * metron, which is waited for when the run is finished (who waits for any child may find it first, which does
 * no harm), and a SIGCHLD when it ends. The command is a child of that program; it gets your environment,
 * working folder, standard streams, ignored signals, and the signal mask of the thread that starts it. Ctrl-C
 * on your terminal reaches the command as well. If your process ends first, the command is ended, and an
 * attached run ends its recording.
 *
 * Threads. Different objects may be used by different threads at the same time, and any number of runs may be
 * under way. One object is used by one thread at a time; options may be shared by many while nobody changes
 * them. metron_run_stop alone may be called by any thread while another uses the run; only not while another
 * is inside metron_run_finish, which frees it. Callbacks come from inside the function that waits, in the
 * thread that called it.
 *
 * Errors. Functions return 0 (or what they say) and a negative errno value on failure; why is in `error`, a
 * line for people. `error` may always be NULL. It is set only by a failure.
 *
 * Ownership. Whatever ends in _new, _start, _connect, or comes out of an out-parameter with its own _free is
 * yours to free; _free(NULL) is nothing. Every text that a getter returns is borrowed.
 *
 * Present if and only if measured. A getter that returns bool returns false, and leaves its out-parameter as
 * it was, where a value was not measured. Nothing is ever filled in with 0.
 *
 * Stable. Functions, their meaning and struct metron_error stay as they are as long as the library is
 * libmetron.so.0; functions and enum values may be added. JSON is as described in docs/schema.md and
 * docs/daemon.md, with a version of its own: keys may be added, so pass over those that you do not know. The
 * settings' names are those of `metron run` and `metron attach`.
 */
#ifndef METRON_H
#define METRON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define METRON_VERSION_MAJOR 0
#define METRON_VERSION_MINOR 1
#define METRON_VERSION_PATCH 0

#define METRON_API __attribute__((visibility("default")))

/* Of the library in use, like "0.1.0". Static. */
METRON_API const char *metron_version(void);

struct metron_error {
    int code;          /* negative errno, 0 when unset */
    char message[512]; /* one line, no trailing newline: the thing, the reason, the way out */
};

/* ---- options ---- */

struct metron_options;
struct metron_run;
struct metron_record;

/* Those of the programs: the first are the worse. */
enum metron_log_level {
    METRON_LOG_ERROR = 1,
    METRON_LOG_WARNING = 2,
    METRON_LOG_INFO = 3,
    METRON_LOG_DEBUG = 4,
};

/* `record`, `json` and `message` live until the callback returns. A callback may call metron_run_stop, and
 * may not call metron_run_step or metron_run_finish. */
typedef void metron_record_callback(void *context, struct metron_run *run,
                                    const struct metron_record *record);
typedef void metron_event_callback(void *context, struct metron_run *run, const char *json);
typedef void metron_log_callback(void *context, enum metron_log_level level, const char *message);

/* NULL: no memory. */
METRON_API struct metron_options *metron_options_new(void);
METRON_API void metron_options_free(struct metron_options *options);

/* Sets a setting of `metron run` or `metron attach` by its name ("sample-interval", "job"), from text as it
 * would stand on the command line; yes and no for what is only switched on or off. NULL takes it back. It is
 * stronger than files of settings and METRON_ variables, which are read as by the commands. Both are copied.
 *
 * Files are written only where "output-prefix" is set here; without, the run is recorded nowhere.
 * -ENOENT: there is no such setting; -EINVAL: not a value of it; -ENOMEM. */
METRON_API int metron_options_set(struct metron_options *options, const char *name, const char *value,
                                  struct metron_error *error);

/* Called for each record (with the first sample, then once per report-interval, and at the end), for each
 * event (a process that came or went, a signal, an OOM kill), and for what the commands would say on stderr.
 * NULL: nobody is. Who is slower than they come loses some (metron_result_dropped). */
METRON_API void metron_options_on_record(struct metron_options *options, metron_record_callback *callback,
                                         void *context);
METRON_API void metron_options_on_event(struct metron_options *options, metron_event_callback *callback,
                                        void *context);
METRON_API void metron_options_on_log(struct metron_options *options, metron_log_callback *callback,
                                      void *context);

/* A line of usage.jsonl. */
METRON_API const char *metron_record_json(const struct metron_record *record);
/* One value of it: "proc_rss_total", "elapsed". In bytes, seconds, percent or counts, as
 * `metron measurements` says. False: it is not there, or is no single number. */
METRON_API bool metron_record_number(const struct metron_record *record, const char *key, double *out);

/* ---- runs ---- */

struct metron_result;

/* Runs `argv` (NULL-terminated; argv[0] is looked up in PATH), follows every process that descends from it,
 * and waits for its end. How the command ended is in the result, and no failure of this function. `options`
 * NULL: all as by default. `result` may be NULL.
 * -ENOENT: no such command; -EACCES: it may not be executed; -EINVAL: settings that do not fit together;
 * -ENOSYS: the program metron is not installed; and others. */
METRON_API int metron_run(const struct metron_options *options, char *const argv[],
                          struct metron_result **result, struct metron_error *error);

/* Follows processes that run already, and their descendants (setting "children"), until all have ended, the
 * setting "duration" is over, or metron_run_stop. They are only looked at.
 * -ESRCH: there is no such process; -EPERM: it is another user's; -EINVAL, -ENOSYS: as metron_run. */
METRON_API int metron_attach(const struct metron_options *options, const pid_t pids[], size_t count,
                             struct metron_result **result, struct metron_error *error);

/* The same in steps. When these return, the program metron has been started; whether the command could be
 * is known later, by metron_run_finish. `options` is not needed any more afterwards. */
METRON_API int metron_run_start(const struct metron_options *options, char *const argv[],
                                struct metron_run **run, struct metron_error *error);
METRON_API int metron_attach_start(const struct metron_options *options, const pid_t pids[], size_t count,
                                   struct metron_run **run, struct metron_error *error);

/* Readable when metron_run_step has something to do: for a poll loop of your own. Borrowed. */
METRON_API int metron_run_fd(const struct metron_run *run);

/* Waits for news, `timeout_ms` at most (0: not at all; negative: for ever), and calls back for what came.
 * 1: the run goes on; 0: it has ended. A signal handler of yours that ran ends the waiting early. */
METRON_API int metron_run_step(struct metron_run *run, int timeout_ms);

/* The command's process once it is known to run; 0 before, and of an attached run. */
METRON_API pid_t metron_run_pid(const struct metron_run *run);

/* Asks the run to end, and returns at once. A command and all its processes get SIGTERM, and SIGKILL after
 * the setting "kill-after"; attached processes go on. A callback may call it, and so may any thread, any
 * number of times, also while another is inside metron_run_step. All other threads must be done with it
 * before metron_run_finish is called: that frees the run, which may end at any moment by itself. So who
 * wants to be stopped by another thread waits with metron_run_step until it returns 0, sees to it that
 * nobody calls metron_run_stop any more (joins the thread, or takes a lock), and then finishes. */
METRON_API void metron_run_stop(struct metron_run *run);

/* Waits for the end, calling back as before, and frees `run`, whatever it returns: no other thread uses it
 * from the moment of the call. NULL is nothing. Errors as of metron_run and metron_attach. */
METRON_API int metron_run_finish(struct metron_run *run, struct metron_result **result,
                                 struct metron_error *error);

/* ---- results ---- */

METRON_API void metron_result_free(struct metron_result *result);

/* As a shell has it: 128+N if signal N ended the command. False: not known, of an attached run. */
METRON_API bool metron_result_exit_code(const struct metron_result *result, int *out);
/* The signal that ended it. False: none did, or it is not known. */
METRON_API bool metron_result_signal(const struct metron_result *result, int *out);
/* From the start, or from when it attached, to the end. */
METRON_API double metron_result_wall_seconds(const struct metron_result *result);

/* The best answer to a common question, and the key that it was taken from: "cpu_seconds",
 * "peak_memory_bytes", "processes". Each out-parameter may be NULL. False: it could not be measured. */
METRON_API bool metron_result_headline(const struct metron_result *result, const char *question,
                                       double *value, const char **source);
/* One value of the summary of the whole run: "proc_cpu_seconds", "proc_peak_rss_total". */
METRON_API bool metron_result_number(const struct metron_result *result, const char *key, double *out);
/* The summary, and all that is known (info.json), as JSON objects in one line each. */
METRON_API const char *metron_result_summary_json(const struct metron_result *result);
METRON_API const char *metron_result_info_json(const struct metron_result *result);
/* Where info.json was written, as the prefix has it. NULL: nowhere. */
METRON_API const char *metron_result_info_path(const struct metron_result *result);
/* Records and events that were lost on the way to the callbacks. What is in files and in the summary is
 * whole.
 */
METRON_API unsigned long long metron_result_dropped(const struct metron_result *result);

/* ---- the daemon ---- */

struct metron_client;

/* `path`: the socket; NULL: where this user's daemon listens, then where root's does. Who listens must be
 * this user or root. No call waits longer than five seconds. -ENOENT or -ECONNREFUSED: no daemon runs;
 * -EACCES: it is another user's. */
METRON_API int metron_client_connect(const char *path, struct metron_client **client,
                                     struct metron_error *error);
METRON_API void metron_client_free(struct metron_client *client);

/* Sends a request ("daemon.health", "job.start": docs/daemon.md) and waits for its answer. `params`: a JSON
 * object, or NULL. `result` (may be NULL) is the answer's JSON, until the next call of this client.
 * The daemon refused, and says why: -EOPNOTSUPP: no such method; -EINVAL: not with these params; -ESRCH: no
 * such job; -EACCES, -EBUSY and others. No answer: -ETIMEDOUT; -ECONNRESET: it has gone. */
METRON_API int metron_client_call(struct metron_client *client, const char *method, const char *params,
                                  const char **result, struct metron_error *error);

/* From now on events come (daemon.monitor.stream). `params`: a filter as JSON, or NULL for all, with a
 * snapshot at each tick among them ({"snapshots": false}: without). Calls may still be made. */
METRON_API int metron_client_subscribe(struct metron_client *client, const char *params,
                                       struct metron_error *error);
/* The next one, waited for `timeout_ms` at most (0: not at all; negative: for ever). 1; 0: none came;
 * -EINTR: a signal handler of yours ran; -ECONNRESET: the daemon has ended. `method` is "monitor.event", or
 * "monitor.dropped" with the count of those that came faster than they were taken; `json` what it tells. Both
 * may be NULL, and live until the next call of this client. */
METRON_API int metron_client_next(struct metron_client *client, int timeout_ms, const char **method,
                                  const char **json, struct metron_error *error);
/* Readable when something has come: take with metron_client_next and timeout 0 until it gives 0. Borrowed. */
METRON_API int metron_client_fd(const struct metron_client *client);

#ifdef __cplusplus
}
#endif

#endif
