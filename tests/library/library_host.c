/*
 * usage: library_host TOPIC [ARGUMENT...]
 *
 * A program that uses libmetron and looks at what that does to itself. A topic that holds prints "ok" last
 * and exits 0; what does not hold is named on stderr, and the exit code is 1.
 */
#include <dirent.h>
#include <errno.h>
#include <metron.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(holds)                                                                                         \
    do {                                                                                                     \
        if (!(holds)) {                                                                                      \
            fprintf(stderr, "%s:%d: does not hold: %s (errno %d)\n", __FILE__, __LINE__, #holds, errno);     \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static void set(struct metron_options *options, const char *name, const char *value)
{
    struct metron_error error = {0};

    if (metron_options_set(options, name, value, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
}

static size_t entries_of(const char *folder)
{
    DIR *open = opendir(folder);
    size_t count = 0;

    CHECK(open);
    while (readdir(open))
        count++;
    closedir(open);
    return count;
}

static pid_t child_that(unsigned sleeps_ms, int exits)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        usleep(sleeps_ms * 1000);
        _exit(exits);
    }
    return pid;
}

/* ---- what is left alone ---- */

struct state {
    struct sigaction actions[NSIG];
    sigset_t mask;
    struct rlimit files;
    int subreaper;
    mode_t mask_of_files;
    size_t descriptors, threads;
    char folder[4096];
};

static void look(struct state *state)
{
    memset(state, 0, sizeof(*state));
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, NULL, &state->actions[number]);
    pthread_sigmask(SIG_SETMASK, NULL, &state->mask);
    CHECK(getrlimit(RLIMIT_NOFILE, &state->files) == 0);
    CHECK(prctl(PR_GET_CHILD_SUBREAPER, &state->subreaper) == 0);
    state->mask_of_files = umask(0);
    umask(state->mask_of_files);
    state->descriptors = entries_of("/proc/self/fd");
    state->threads = entries_of("/proc/self/task");
    CHECK(getcwd(state->folder, sizeof(state->folder)));
}

static void expect_same(const struct state *before)
{
    struct state now;

    look(&now);
    for (int number = 1; number < NSIG; number++)
        CHECK(before->actions[number].sa_handler == now.actions[number].sa_handler &&
              before->actions[number].sa_flags == now.actions[number].sa_flags);
    CHECK(memcmp(&before->mask, &now.mask, sizeof(now.mask)) == 0);
    CHECK(before->files.rlim_cur == now.files.rlim_cur && before->files.rlim_max == now.files.rlim_max);
    CHECK(before->subreaper == now.subreaper);
    CHECK(before->mask_of_files == now.mask_of_files);
    CHECK(before->descriptors == now.descriptors);
    CHECK(before->threads == now.threads);
    CHECK(strcmp(before->folder, now.folder) == 0);
}

static pid_t made_meanwhile;

static void make_child(void *context, struct metron_run *run, const struct metron_record *record)
{
    (void)run;
    (void)record;
    expect_same(context); /* with the descriptors of the run, which it has by now */
    if (!made_meanwhile)
        made_meanwhile = child_that(10, 9);
}

/* The host's children stay the host's, those from before and those that are made meanwhile; and everything
 * else about it is as it was, also while the command, which leaves orphans behind, runs. */
static void children(char **arguments)
{
    struct metron_options *options = metron_options_new();
    struct metron_result *result = NULL;
    struct metron_run *run = NULL;
    struct metron_error error = {0};
    struct state before, during;
    pid_t early = child_that(50, 7);
    int status;

    (void)arguments;
    char *argv[] = {"sh", "-c", "for i in 1 2 3 4 5; do (sleep 0.05 & sleep 0.01 &); done; sleep 0.5", NULL};

    set(options, "sample-interval", "0.05");
    set(options, "report-interval", "0.1");
    look(&before);
    CHECK(metron_run_start(options, argv, &run, &error) == 0);
    metron_run_finish(run, NULL, NULL);
    run = NULL;
    expect_same(&before);
    metron_options_on_record(options, make_child, &during);
    CHECK(metron_run_start(options, argv, &run, &error) == 0);
    look(&during);
    CHECK(during.threads == before.threads && during.subreaper == 0);
    CHECK(metron_run_finish(run, &result, &error) == 0);
    expect_same(&before);
    CHECK(made_meanwhile > 0);
    CHECK(waitpid(early, &status, 0) == early && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(waitpid(made_meanwhile, &status, 0) == made_meanwhile && WEXITSTATUS(status) == 9);
    CHECK(waitpid(-1, &status, __WALL) == -1 && errno == ECHILD); /* no other: no orphan came here */
    metron_result_free(result);
    metron_options_free(options);
}

/* ---- over and over ---- */

static void over_and_over(char **arguments)
{
    struct metron_options *options = metron_options_new();
    struct metron_error error;
    long times = strtol(arguments[0], NULL, 10);
    char *yes[] = {"true", NULL}, *none[] = {"no-such-command", NULL};
    pid_t self = getpid(), nobody = 0x3ffffff;
    struct state before;

    look(&before);
    for (long i = 0; i < times; i++) {
        struct metron_result *result = NULL;
        int code = -1;

        CHECK(metron_run(options, yes, &result, &error) == 0);
        CHECK(metron_result_exit_code(result, &code) && code == 0);
        metron_result_free(result);
        if (i % 10 != 0)
            continue;
        CHECK(metron_run(options, none, NULL, &error) == -ENOENT);
        CHECK(metron_attach(NULL, &nobody, 1, NULL, &error) == -ESRCH);
        set(options, "duration", "0.01");
        CHECK(metron_run(options, yes, NULL, &error) == -EINVAL); /* not of run */
        CHECK(metron_attach(options, &self, 1, NULL, &error) == 0);
        set(options, "duration", NULL);
    }
    expect_same(&before);
    CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
    metron_options_free(options);
}

/* ---- ending it ---- */

static void *stop_soon(void *run)
{
    usleep(300 * 1000);
    metron_run_stop(run);
    return NULL;
}

static void stop_in_callback(void *context, struct metron_run *run, const struct metron_record *record)
{
    ++*(int *)context;
    CHECK(metron_record_json(record)[0] == '{');
    metron_run_stop(run);
}

static void stopping(char **arguments)
{
    struct metron_options *options = metron_options_new();
    struct metron_run *run = NULL;
    struct metron_result *result = NULL;
    struct metron_error error = {0};
    char *argv[] = {"sh", "-c", "sleep 100 & sleep 100", NULL};
    pid_t target = child_that(60000, 0);
    pthread_t thread;
    int status, records = 0, signal_number = 0;

    (void)arguments;
    CHECK(metron_attach_start(NULL, &target, 1, &run, &error) == 0);
    CHECK(pthread_create(&thread, NULL, stop_soon, run) == 0);
    while (metron_run_step(run, 1000) == 1)
        ;
    pthread_join(thread, NULL);
    CHECK(metron_run_finish(run, &result, &error) == 0);
    CHECK(strstr(metron_result_info_json(result), "\"ended_by\":\"request\""));
    CHECK(!metron_result_exit_code(result, &status));
    CHECK(waitpid(target, &status, WNOHANG) == 0); /* it goes on */
    metron_result_free(result);

    set(options, "sample-interval", "0.05");
    set(options, "report-interval", "0.1");
    metron_options_on_record(options, stop_in_callback, &records);
    CHECK(metron_run(options, argv, &result, &error) == 0);
    CHECK(records >= 1 && metron_result_signal(result, &signal_number) && signal_number == SIGTERM);
    CHECK(metron_result_wall_seconds(result) < 20);
    metron_result_free(result);
    metron_options_free(options);
    CHECK(kill(target, SIGKILL) == 0 && waitpid(target, &status, 0) == target);
}

/* Starts a command, says its pid, and leaves without a word. */
static void leaving(char **arguments)
{
    struct metron_run *run = NULL;
    char *argv[] = {"sleep", "100", NULL};

    (void)arguments;
    CHECK(metron_run_start(NULL, argv, &run, NULL) == 0);
    while (metron_run_pid(run) == 0)
        CHECK(metron_run_step(run, 1000) == 1);
    printf("%d\n", (int)metron_run_pid(run));
    fflush(stdout);
    _exit(0);
}

/* The program metron is killed: that is told at once, whatever becomes of the command. */
static void killed(char **arguments)
{
    struct metron_run *run = NULL;
    struct metron_error error = {0};
    char *argv[] = {"sleep", "50", NULL}, path[64];
    int metron = 0;

    (void)arguments;
    CHECK(metron_run_start(NULL, argv, &run, &error) == 0);
    while (metron_run_pid(run) == 0)
        CHECK(metron_run_step(run, 1000) == 1);
    pid_t command = metron_run_pid(run);
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    CHECK(file && fscanf(file, "%d", &metron) == 1);
    fclose(file);
    CHECK(kill(metron, SIGKILL) == 0);
    CHECK(metron_run_finish(run, NULL, &error) == -EPIPE && error.code == -EPIPE);
    CHECK(strstr(error.message, "metron ended before the run"));
    CHECK(kill(command, SIGKILL) == 0); /* it went on */
}

/* ---- several at once; children that others wait for ---- */

static void *run_one(void *argument)
{
    struct metron_result *result = NULL;
    struct metron_error error = {0};
    char *argv[] = {argument, "0.2", NULL};
    double *seconds = malloc(sizeof(*seconds));
    const char *source = NULL;

    CHECK(metron_run(NULL, argv, &result, &error) == 0);
    CHECK(metron_result_headline(result, "cpu_seconds", seconds, &source) && source);
    metron_result_free(result);
    return seconds;
}

static void at_once(char **arguments)
{
    pthread_t threads[4];
    void *seconds;

    for (size_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, run_one, arguments[0]) == 0);
    for (size_t i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], &seconds) == 0);
        printf("%.3f\n", *(double *)seconds);
        free(seconds);
    }
}

/* A host that waits for any child, and so buries the program before the library does; or has the kernel do
 * it. */
static void waiting(char **arguments)
{
    char *argv[] = {"sh", "-c", "exit 5", NULL};
    int code = 0;

    (void)arguments;
    for (int i = 0; i < 4; i++) {
        struct metron_run *run = NULL;
        struct metron_result *result = NULL;

        if (i == 2)
            signal(SIGCHLD, SIG_IGN);
        CHECK(metron_run_start(NULL, argv, &run, NULL) == 0);
        while (metron_run_step(run, -1) == 1)
            ;
        CHECK((waitpid(-1, NULL, 0) > 0) == (i < 2));
        pid_t next = child_that(i < 2 ? 200 : 0, 6); /* not to be taken for it */
        CHECK(metron_run_finish(run, &result, NULL) == 0);
        CHECK(metron_result_exit_code(result, &code) && code == 5);
        metron_result_free(result);
        CHECK(waitpid(next, &code, 0) == (i < 2 ? next : -1));
    }
}

/* ---- errors, as a person reads them ---- */

static void settings(char **arguments)
{
    struct metron_options *options = metron_options_new();
    struct metron_error error = {0};
    char *argv[] = {"true", NULL}, *empty[] = {NULL};

    (void)arguments;
    CHECK(metron_options_set(options, "sample-intervall", "1", &error) == -ENOENT);
    printf("%s\n", error.message);
    CHECK(metron_options_set(options, "sample-interval", "soon", &error) == -EINVAL);
    printf("%s\n", error.message);
    CHECK(metron_options_set(options, "database", "x", &error) == -ENOENT);
    printf("%s\n", error.message);
    CHECK(metron_options_set(options, "feed", "3", &error) == -ENOENT);
    CHECK(metron_run(options, empty, NULL, &error) == -EINVAL);
    printf("%s\n", error.message);
    CHECK(metron_attach(options, NULL, 0, NULL, &error) == -EINVAL);
    set(options, "sample_interval", "2");
    set(options, "report-interval", "1");
    CHECK(metron_run(options, argv, NULL, &error) == -EINVAL);
    printf("%s\n", error.message);
    set(options, "report-interval", NULL);
    set(options, "measurements", "no_such_key");
    CHECK(metron_run(options, argv, NULL, &error) == -EINVAL);
    printf("%s\n", error.message);
    set(options, "measurements", NULL);
    set(options, "clobber", "yes");
    set(options, "smaps", "no");
    set(options, "message", "");
    set(options, "sample-interval", NULL);
    struct metron_result *result = NULL;
    CHECK(metron_run(options, argv, &result, &error) == 0);
    CHECK(strstr(metron_result_info_json(result),
                 "\"sample_interval_auto\":true,\"report_interval_auto\":true"));
    metron_result_free(result);
    metron_options_free(options);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*holds)(char **arguments);
    } topics[] = {{"children", children}, {"over-and-over", over_and_over},
                  {"stopping", stopping}, {"leaving", leaving},
                  {"killed", killed},     {"at-once", at_once},
                  {"waiting", waiting},   {"settings", settings}};

    for (size_t i = 0; argc > 1 && i < sizeof(topics) / sizeof(topics[0]); i++)
        if (strcmp(argv[1], topics[i].name) == 0) {
            topics[i].holds(argv + 2);
            printf("ok\n");
            return 0;
        }
    fprintf(stderr, "usage: library_host TOPIC [ARGUMENT...]\n");
    return 2;
}
