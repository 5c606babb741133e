/* The result of a run, as the library reads it off the program's last line: any bytes. What is handed out is
 * text that ends, and a number only where one is. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "api/result.h"

/* A copy that ends with NUL, as metron_record has it. */
static void check_record(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    check(copy != NULL);
    memcpy(copy, data, size);
    copy[size] = '\0';

    const struct metron_record record = {{copy, size}};
    double number = 0;

    if (metron_record_number(&record, "elapsed", &number) ||
        metron_record_number(&record, "proc_rss_total", &number))
        check(isfinite(number));
    check(metron_record_json(&record) == copy);
    free(copy);
}

static void check_headline(const struct metron_result *result, const char *question)
{
    const char *source = NULL;
    double value = 0;

    if (metron_result_headline(result, question, &value, &source))
        check(isfinite(value) && (!source || strlen(source) < SIZE_MAX));
}

/* A whole number is the one that is written there. */
static void check_whole(const struct metron_result *result, const char *key,
                        bool (*get)(const struct metron_result *result, int *out))
{
    double written = 0;
    int number = 0;

    if (get(result, &number))
        check(metron_result_number(result, key, &written) && written == number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct json_text end = {(const char *)data, size};
    struct metron_result *result = result_new(&end);

    check_record(data, size);
    if (!result)
        return 0;
    check_whole(result, "exit_code", metron_result_exit_code);
    check_whole(result, "signal", metron_result_signal);
    check(isfinite(metron_result_wall_seconds(result)));
    check_headline(result, "cpu_seconds");
    check_headline(result, "peak_memory_bytes");
    check_headline(result, "processes");
    check_headline(result, "none of them");
    check(metron_result_summary_json(result) && metron_result_info_json(result));
    check(!metron_result_info_path(result) || strlen(metron_result_info_path(result)) <= size);
    (void)metron_result_dropped(result);
    metron_result_free(result);
    return 0;
}
