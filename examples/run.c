/*
 * Runs a command and tells what it used, as `metron run` does:
 *
 *     ./run [-p PREFIX] COMMAND [ARGUMENT...]
 *
 * With -p the run is recorded in files too, and `metron ls`, `metron report` and the others can read them.
 */
#include <metron.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called once per report-interval, and once more at the end. */
static void show_record(void *context, struct metron_run *run, const struct metron_record *record)
{
    double elapsed, rss_bytes;

    (void)context;
    (void)run; /* metron_run_stop(run) would end the command here */
    if (metron_record_number(record, "elapsed", &elapsed) &&
        metron_record_number(record, "proc_rss_total", &rss_bytes))
        fprintf(stderr, "record: after %.2f s %.0f bytes are resident\n", elapsed, rss_bytes);
}

/* Called for each process that comes or goes. */
static void count_event(void *context, struct metron_run *run, const char *json)
{
    (void)run;
    (void)json;
    ++*(unsigned long *)context;
}

/* What `metron run` would say on stderr. */
static void show_message(void *context, enum metron_log_level level, const char *message)
{
    (void)context;
    if (level <= METRON_LOG_WARNING)
        fprintf(stderr, "metron says: %s\n", message);
}

static void show_result(const struct metron_result *result)
{
    static const char *const questions[] = {"cpu_seconds", "peak_memory_bytes", "processes"};
    const char *source = NULL;
    double value;
    int number;

    printf("wall_seconds %.3f\n", metron_result_wall_seconds(result));
    /* What could not be measured is not there; it is never 0. */
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
        if (metron_result_headline(result, questions[i], &value, &source))
            printf("%s %.10g (%s)\n", questions[i], value, source);
    if (metron_result_number(result, "rusage_cpu_user_seconds", &value))
        printf("of it in user mode %.3f s\n", value);
    if (metron_result_signal(result, &number))
        printf("ended by signal %d\n", number);
    if (metron_result_info_path(result))
        printf("recorded in %s\n", metron_result_info_path(result));
}

int main(int argc, char **argv)
{
    struct metron_options *options = metron_options_new();
    struct metron_result *result = NULL;
    struct metron_error error = {0};
    unsigned long events = 0;
    int first = argc > 2 && strcmp(argv[1], "-p") == 0 ? 3 : 1;
    int code, exit_code = EXIT_FAILURE;

    if (!options || first >= argc) {
        fprintf(stderr, "usage: run [-p PREFIX] COMMAND [ARGUMENT...]\n");
        metron_options_free(options);
        return 2;
    }
    metron_options_on_record(options, show_record, NULL);
    metron_options_on_event(options, count_event, &events);
    metron_options_on_log(options, show_message, NULL);
    /* Settings are those of `metron run --help`, by name. */
    code = metron_options_set(options, "sample-interval", "0.1", &error);
    if (code == 0)
        code = metron_options_set(options, "report-interval", "0.5", &error);
    if (code == 0 && first == 3)
        code = metron_options_set(options, "output-prefix", argv[2], &error);
    if (code == 0)
        code = metron_run(options, argv + first, &result, &error);
    if (code == 0) {
        show_result(result);
        printf("events %lu\n", events);
        (void)metron_result_exit_code(result, &exit_code);
    } else {
        fprintf(stderr, "run: %s\n", error.message);
    }
    metron_result_free(result);
    metron_options_free(options);
    return exit_code;
}
