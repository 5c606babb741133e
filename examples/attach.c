/*
 * Follows processes that run already, as `metron attach` does, until they have ended, until Enter is pressed
 * (or standard input ends), or for so many seconds:
 *
 *     ./attach [-d SECONDS] PID...
 *
 * It shows how a run fits into a poll loop of one's own.
 */
#include <metron.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIDS_MAX = 64 };

static void show_record(void *context, struct metron_run *run, const struct metron_record *record)
{
    double percent;

    (void)context;
    (void)run;
    if (metron_record_number(record, "proc_pdcpu_total", &percent))
        fprintf(stderr, "record: %.0f %% of a core\n", percent);
}

/* Until the run has ended. What else a program does would stand in the same poll. */
static void follow(struct metron_run *run)
{
    struct pollfd polled[] = {
        {.fd = metron_run_fd(run), .events = POLLIN},
        {.fd = STDIN_FILENO, .events = POLLIN},
    };
    char key;

    while (metron_run_step(run, 0) == 1) {
        if (poll(polled, 2, -1) <= 0)
            continue;
        if (polled[1].revents) {
            if (read(STDIN_FILENO, &key, 1) < 1 || key == '\n') {
                metron_run_stop(run); /* it comes to its end soon */
                polled[1].fd = -1;
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct metron_options *options = metron_options_new();
    struct metron_result *result = NULL;
    struct metron_run *run = NULL;
    struct metron_error error = {0};
    const char *source = NULL;
    pid_t pids[PIDS_MAX];
    size_t count = 0;
    double seconds;
    int first = argc > 2 && strcmp(argv[1], "-d") == 0 ? 3 : 1;

    for (int i = first; i < argc && count < PIDS_MAX; i++)
        pids[count++] = (pid_t)atoi(argv[i]);
    metron_options_on_record(options, show_record, NULL);
    int code = metron_options_set(options, "sample-interval", "0.1", &error);
    if (code == 0)
        code = metron_options_set(options, "report-interval", "0.5", &error);
    if (code == 0 && first == 3)
        code = metron_options_set(options, "duration", argv[2], &error);
    if (code == 0)
        code = metron_attach_start(options, pids, count, &run, &error);
    if (code == 0) {
        follow(run);
        code = metron_run_finish(run, &result, &error);
    }
    if (code < 0) {
        fprintf(stderr, "attach: %s\n", error.message);
    } else {
        printf("wall_seconds %.3f\n", metron_result_wall_seconds(result));
        if (metron_result_headline(result, "cpu_seconds", &seconds, &source))
            printf("cpu_seconds %.10g (%s)\n", seconds, source);
    }
    metron_result_free(result);
    metron_options_free(options);
    return code < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
