/* Sections of a report: what watching cost, and what was not measured. */
#include <stdio.h>
#include <string.h>

#include "view/report/report.h"

static void add_damage(struct report_section *section, const struct report_damage *damage, const char *name,
                       const char *file)
{
    if (!damage->lines)
        return;
    report_add_number(
        section, name, "damaged lines", UNIT_COUNT, (double)damage->lines, NULL,
        report_text_of(section->page, "of %s, passed over; the first is line %zu", file, damage->first));
}

/* "135 ms of CPU (3.3 % of a core), 11 MiB; 42 samples, 2 missed" */
static void say_cost(struct report_section *section, const struct report_measures *measures, double wall)
{
    const struct report_measure *cpu = report_measure_of(measures, TOPIC_SELF_CPU, NULL);
    const struct report_measure *rss = report_measure_of(measures, TOPIC_SELF_MEMORY, "peak");
    const struct report_measure *taken = report_measure_of(measures, TOPIC_SELF_SAMPLES, NULL);
    const struct report_measure *missed = report_measure_of(measures, TOPIC_SELF_MISSED, NULL);
    struct report_page *page = section->page;

    if (!cpu)
        return;
    const char *say = report_text_of(page, "%s of CPU", report_human(page, UNIT_SECONDS, cpu->value));
    if (wall > 0)
        say = report_text_of(page, "%s (%s of a core)", say,
                             report_human(page, UNIT_PERCENT, 100 * cpu->value / wall));
    if (rss)
        say = report_text_of(page, "%s, %s", say, report_human(page, UNIT_BYTES, rss->value));
    if (taken)
        say = report_text_of(page, "%s; %s sample%s", say, report_human(page, UNIT_COUNT, taken->value),
                             taken->value == 1 ? "" : "s");
    if (missed && missed->value > 0)
        say = report_text_of(page, "%s, %s missed", say, report_human(page, UNIT_COUNT, missed->value));
    (void)report_say(section, "metron's cost", say, NULL);
}

void report_self(struct report_page *page, const struct report_evidence *evidence)
{
    const struct report_measures *measures = &evidence->measures;
    struct report_section *section = report_section_add(page, "metron", NULL);
    double wall = 0, lost;

    (void)report_wall(evidence, &wall);
    say_cost(section, measures, wall);
    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        if (!report_measure_in(measure, TOPIC_SELF, measure->key->unit))
            continue;
        bool is_cpu = measure->key->unit == UNIT_SECONDS && measure->key->type == TYPE_COUNTER && wall > 0;
        report_add_number(section, measure->name, NULL, measure->key->unit, measure->value, NULL,
                          is_cpu
                              ? report_text_of(page, "%s of one core",
                                               report_human(page, UNIT_PERCENT, 100 * measure->value / wall))
                              : NULL);
    }
    if (recording_number(evidence->recording, "provenance.events_lost", &lost))
        report_add_number(section, "events_lost", lost > 0 ? "events lost" : NULL, UNIT_COUNT, lost, NULL,
                          "the kernel had no room for them");
    add_damage(section, &evidence->usage_damage, "damaged_usage_lines", "the usage file");
    add_damage(section, &evidence->events_damage, "damaged_event_lines", "the events file");
}

/* Why people will look in vain for something they may expect. */
static void add_expected(struct report_section *section, const struct report_evidence *evidence)
{
    const struct recording *recording = evidence->recording;
    const char *calls = recording_text(recording, "syscalls.reason");
    bool counted = false;

    if (recording->kind == RECORDING_DUCT) {
        (void)report_add_text(
            section, "cpu_seconds", "CPU seconds",
            "con-duct does not count them; its pcpu is an average over the life of each process");
        (void)report_add_text(section, "events", "events", "con-duct records none");
    } else if (!evidence->has_events) {
        (void)report_add_text(section, "events", "events", "there is no events.jsonl beside its info.json");
    }
    if (!evidence->has_usage)
        (void)report_add_text(section, "records", "records", "there is no usage file beside its info.json");
    for (size_t i = 0; i < evidence->measures.count; i++)
        counted |= topic_group(evidence->measures.items[i].key->topic) == TOPIC_SYSCALL;
    if (!counted && recording->kind == RECORDING_METRON)
        (void)report_add_text(section, "syscalls", "system calls",
                              calls ? calls : "not asked for (metron run --syscalls summary)");
}

/* "every birth and end, exit_* keys: switched off": what has one reason is one line. */
static void say_missing(struct report_section *section)
{
    const struct report_item *last = section->last;
    const char *label = "not measured";
    struct report_item *item = section->first;

    for (bool done = !item; item && !done; item = item->next) {
        done = item == last;
        if (item->for_programs)
            continue;
        const char *what = item->label;
        item->for_programs = true;
        for (struct report_item *other = item->next; other && item != last; other = other->next) {
            if (!other->for_programs && !other->for_people &&
                strcmp(other->value.text, item->value.text) == 0) {
                what = report_text_of(section->page, "%s, %s", what, other->label);
                other->for_programs = true;
            }
            if (other == last)
                break;
        }
        report_sayf(section, label, "%s: %s", what, item->value.text);
        label = "";
    }
}

void report_missing(struct report_page *page, const struct report_evidence *evidence)
{
    const struct recording *recording = evidence->recording;
    struct report_section *section = report_section_add(page, "not_measured", NULL);

    add_expected(section, evidence);
    (void)report_add_text(section, "own_cgroup", "own control group",
                          recording_text(recording, "provenance.cgroup_reason"));
    (void)report_add_text(section, "kernel_events", "every birth and end",
                          recording_text(recording, "provenance.processes_seen_reason"));
    for (size_t i = 0; i < recording->field_count; i++) {
        const struct recorded_field *field = &recording->fields[i];
        char source[64];
        int end = 0;
        if (field->kind != FIELD_TEXT)
            continue;
        if (sscanf(field->name, "provenance.collectors.%63[^.].absent.%n", source, &end) == 1 && end)
            (void)report_add_text(section, field->name + end, NULL, field->text);
        /* The reason for system calls was given, if anybody asked for them. */
        else if (sscanf(field->name, "provenance.collectors.%63[^.].reason%n", source, &end) == 1 && end &&
                 !field->name[end] && strcmp(source, "syscall") != 0)
            (void)report_add_text(section, report_text_of(page, "source_%s", source),
                                  report_text_of(page, "%s_* keys", source), field->text);
    }
    say_missing(section);
}
