/* Section of a report: the slowest compilations. */
#include "view/report/compilations.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "view/compiler_command.h"
#include "view/report/report.h"

#define LEAST 3 /* fewer are no build */

bool report_compilation_counts(const char *text, bool has_started_others)
{
    const struct compiler_command command = compiler_command_parse(text, strlen(text));

    switch (command.kind) {
    case COMPILER_DRIVER:
        return command.is_source && !has_started_others;
    case COMPILER_PROPER:
        return command.is_source;
    default:
        return false;
    }
}

bool report_compilation_is_part(const char *text)
{
    return compiler_command_parse(text, strlen(text)).kind != COMPILER_NONE;
}

void report_compilations_add(struct report_compilations *compilations, const struct report_compilation *one)
{
    struct report_compilation *slowest = compilations->slowest;
    size_t *count = &compilations->slowest_count, at = *count;

    compilations->count++;
    if (one->cpu_seconds >= 0) {
        compilations->with_cpu++;
        compilations->cpu_seconds += one->cpu_seconds;
    }
    while (at > 0 && slowest[at - 1].wall_seconds < one->wall_seconds)
        at--;
    if (at == REPORT_COMPILATIONS_MAX)
        return;
    if (*count == REPORT_COMPILATIONS_MAX)
        report_command_free(&slowest[--*count].command, NULL);
    memmove(&slowest[at + 1], &slowest[at], (*count - at) * sizeof(*slowest));
    slowest[at] = *one;
    slowest[at].command = (struct report_command){0};
    report_command_keep(&slowest[at].command, one->command, NULL);
    ++*count;
}

void report_compilations_fini(struct report_compilations *compilations)
{
    for (size_t i = 0; i < compilations->slowest_count; i++)
        report_command_free(&compilations->slowest[i].command, NULL);
    *compilations = (struct report_compilations){0};
}

/* The source file, without quotes. */
static const char *file_of(struct report_page *page, const char *text)
{
    const struct compiler_command command = compiler_command_parse(text, strlen(text));
    struct strbuf word = STRBUF_INIT, bare = STRBUF_INIT;

    if (command.word)
        strbuf_add(&word, command.word, command.length);
    text_shell_unquote(&bare, strbuf_text(&word));
    const char *file = command.word ? report_text_of(page, "%s", strbuf_text(&bare)) : NULL;
    page->failed |= word.failed || bare.failed;
    strbuf_fini(&word);
    strbuf_fini(&bare);
    return file;
}

static double known(double number)
{
    return number >= 0 ? number : NAN;
}

void report_compilations(struct report_page *page, const struct report_evidence *evidence)
{
    enum { WALL, CPU, SAMPLED_CPU, MEMORY, PID, PROGRAM, FILE_NAME, COMMAND, TRUNCATED, COLUMNS };
    static const struct report_column columns[COLUMNS] = {
        [WALL] = {"wall_seconds", "WALL", UNIT_SECONDS, "from its spawn to its exit", REPORT_CUT},
        [CPU] = {"cpu_seconds", "CPU", UNIT_SECONDS, "exit event", REPORT_CUT},
        [SAMPLED_CPU] = {"sampled_cpu_seconds", "CPU, ABOUT", UNIT_SECONDS, "up to its last sample",
                         REPORT_CUT},
        [MEMORY] = {"max_rss", "PEAK RSS", UNIT_BYTES, "exit event", REPORT_CUT},
        [PID] = {"pid", NULL, UNIT_NONE, NULL, REPORT_CUT},
        [PROGRAM] = {"program", "PROGRAM", UNIT_NONE, NULL, REPORT_CUT},
        [FILE_NAME] = {"file", "FILE", UNIT_NONE, "the source file; of lto1 the part of the program",
                       REPORT_CUT},
        [COMMAND] = REPORT_COMMAND_COLUMNS(NULL, NULL, REPORT_CUT),
    };
    const struct report_compilations *compilations = &evidence->events.compilations;
    struct report_section *section = report_section_add(page, "compilations", "Slowest compilations");
    char program[REPORT_GROUP_TEXT_MAX];

    if (compilations->count < LEAST)
        return;
    report_add_number(section, "count", NULL, UNIT_COUNT, (double)compilations->count, NULL, NULL);
    const char *cpu = "";
    if (compilations->with_cpu == compilations->count) {
        report_add_number(section, "cpu_seconds", NULL, UNIT_SECONDS, compilations->cpu_seconds,
                          "exit events, summed", NULL);
        cpu =
            report_text_of(page, ", %s of CPU", report_human(page, UNIT_SECONDS, compilations->cpu_seconds));
    }
    report_sayf(section, "in all", "%s%s", report_human(page, UNIT_COUNT, (double)compilations->count), cpu);
    struct report_item *table =
        report_add_table(section, "slowest", NULL, columns, COLUMNS, compilations->slowest_count);
    for (size_t i = 0; i < compilations->slowest_count; i++) {
        const struct report_compilation *one = &compilations->slowest[i];
        struct report_value *row = report_add_row(table);
        if (!row || !one->command.text)
            return;
        row[WALL] = report_number(one->wall_seconds);
        row[CPU] = report_number(known(one->cpu_seconds));
        row[SAMPLED_CPU] = report_number(known(one->sampled_cpu_seconds));
        if (one->max_rss > 0)
            row[MEMORY] = report_number(one->max_rss);
        row[PID] = report_number((double)one->pid);
        row[PROGRAM] =
            report_text(report_text_of(page, "%s", report_program_name(one->command.text, program)));
        row[FILE_NAME] = report_text(file_of(page, one->command.text));
        report_command_cells(&row[COMMAND], one->command);
    }
}
