/* info.json read back: the numbers are those that Python's json finds in the same files. */
#include "store/recording/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_reader.h"
#include "collect/collectors.h"
#include "learn/headline_of_records.h"
#include "recording_fixture.h"
#include "schema/registry.h"

/* -- metron's own -- */

static void fields_of_an_ended_run_are_as_in_the_file(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "metron-ended/info.json");

    assert_int_equal(run.kind, RECORDING_METRON);
    assert_int_equal(run.status, RECORDING_ENDED);
    assert_string_equal(run.path, RECORDINGS "metron-ended/info.json");
    assert_string_equal(run.usage_path, RECORDINGS "metron-ended/usage.jsonl");
    assert_string_equal(run.events_path, RECORDINGS "metron-ended/events.jsonl");
    assert_true(run.start_wall > 1794766900.974925 && run.start_wall < 1794766900.974927);
    assert_text(&run, "command", "python3 simulate.py 4.5");
    assert_text(&run, "message", "with the new solver");
    assert_text(&run, "system.hostname", "node17");
    assert_text(&run, "provenance.tier", "kernel events");
    assert_text(&run, "headline.cpu_seconds.source", "cgroup_cpu_seconds");
    assert_text(&run, "cause", "exited with code 0");
    assert_number(&run, "exit_code", 0, UNIT_NONE);
    assert_number(&run, "wall_clock_time", 4.157529536, UNIT_SECONDS);
    assert_number(&run, "num_reports", 9, UNIT_COUNT);
    assert_number(&run, "system.memory_total", 25276518400, UNIT_BYTES);
    assert_number(&run, "provenance.sample_interval", 0.1, UNIT_SECONDS);
    assert_number(&run, "headline.peak_memory_bytes.upper_bound.value", 206528512, UNIT_BYTES);
    assert_number(&run, "headline.cpu_seconds.value", 0.873131, UNIT_SECONDS);
    assert_number(&run, "headline.processes.value", 8, UNIT_COUNT);
    assert_int_equal(recording_field(&run, "provenance.cpu_is_conserved")->kind, FIELD_BOOLEAN);
    assert_true(recording_field(&run, "provenance.cpu_is_conserved")->number == 1);
    recording_fini(&run);
}

static void what_was_measured_has_the_unit_of_the_registry(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "metron-ended/info.json");

    assert_number(&run, "proc_peak_rss_total", 110833664, UNIT_BYTES);
    assert_number(&run, "sys_low_mem_available", 24371224576, UNIT_BYTES);
    assert_number(&run, "cgroup_cpu_seconds", 0.873131, UNIT_SECONDS);
    assert_number(&run, "io_peak_write_rate_total", 66234053.1, UNIT_BYTES_PER_SECOND);
    assert_number(&run, "proc_peak_pdcpu_total", 47.91363391, UNIT_PERCENT);
    recording_fini(&run);
}

static void aliases_say_where_they_come_from(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "metron-ended/info.json");

    assert_text(&run, "status", "ended");
    assert_text(&run, "prefix", RECORDINGS "metron-ended/");
    assert_number(&run, "wall", 4.157529536, UNIT_SECONDS);
    assert_string_equal(recording_field(&run, "wall")->source, "wall_clock_time");
    assert_number(&run, "cpu_seconds", 0.873131, UNIT_SECONDS);
    assert_string_equal(recording_field(&run, "cpu_seconds")->source, "cgroup_cpu_seconds");
    assert_number(&run, "peak_memory", 86134784, UNIT_BYTES);
    assert_string_equal(recording_field(&run, "peak_memory")->source, "smaps_peak_pss_total");
    assert_string_equal(recording_field(&run, "peak_memory")->note, "sampled");
    assert_number(&run, "processes", 8, UNIT_COUNT);
    recording_fini(&run);
}

static void aliases_are_known_with_their_unit_and_their_parts(void **state)
{
    (void)state;
    assert_int_equal(recorded_alias_named("peak_memory")->unit, UNIT_BYTES);
    assert_string_equal(recorded_alias_named("peak_memory")->headline, "peak_memory_bytes");
    assert_null(recorded_alias_named("wall")->headline);
    assert_null(recorded_alias_named("peak_memory_bytes"));
    assert_string_equal(recorded_alias_part("peak_memory_bound"), "bound");
    assert_string_equal(recorded_alias_part("wall_source"), "source");
    assert_null(recorded_alias_part("wall"));
    assert_null(recorded_alias_part("peak_memory_methods"));
    assert_null(recorded_alias_part("job_note"));
}

static void lists_and_tallies_stay_json(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "metron-syscalls/info.json");
    static const char *const names[] = {"arguments", "peak_memory_methods", "syscalls.by_call",
                                        "syscall_counts_total"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct recorded_field *field = recording_field(&run, names[i]);
        struct json_reader json;

        assert_non_null(field);
        assert_int_equal(field->kind, FIELD_JSON);
        json_reader_init(&json, field->text, strlen(field->text));
        assert_true(json_skip(&json));
        assert_int_equal(json_reader_end(&json, NULL), 0);
        json_reader_fini(&json);
    }
    assert_number(&run, "syscalls.seconds", 4.152475993, UNIT_SECONDS);
    assert_null(recording_field(&run, "syscalls.by_call.read.count"));
    recording_fini(&run);
}

static void no_name_stands_twice(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "metron-killed/info.json");

    for (size_t i = 0; i < run.field_count; i++)
        assert_ptr_equal(recording_field(&run, run.fields[i].name), &run.fields[i]);
    assert_number(&run, "signal", 9, UNIT_NONE);
    assert_number(&run, "survivors.count", 2, UNIT_COUNT);
    recording_fini(&run);
}

static void keys_are_in_the_order_of_the_recording_with_their_means(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "metron-ended/info.json");
    ptrdiff_t rss = recording_key_index(&run, "proc_rss_total");
    size_t means = 0;

    for (size_t i = 0; i < run.key_count; i++)
        means += run.keys[i].statistic != NULL;
    assert_int_equal(run.key_count - means, 121);
    assert_string_equal(run.keys[0].key, "proc_rss");
    assert_int_equal(run.keys[0].scope, SCOPE_PER_PID);
    assert_int_equal(rss, 1);
    assert_string_equal(run.keys[rss].source, "proc");
    assert_string_equal(run.keys[rss].field, "statm.resident");
    assert_null(run.keys[rss].statistic);
    assert_string_equal(run.keys[rss + 1].key, "proc_ave_rss_total");
    assert_string_equal(run.keys[rss + 1].statistic, "ave");
    assert_int_equal(run.keys[rss + 1].unit, UNIT_BYTES);
    assert_int_equal(recording_key_index(&run, "proc_ave_rss"), -1);
    assert_int_equal(run.keys[recording_key_index(&run, "proc_stat")].type, TYPE_CATEGORICAL);
    assert_int_equal(run.keys[recording_key_index(&run, "sys_mem_available")].reduce, REDUCE_MIN);
    recording_fini(&run);
}

static void summary_keys_lead_to_what_they_are_made_of(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "metron-ended/info.json");
    static const char *const pairs[][2] = {
        {"proc_peak_rss_total", "proc_rss_total"},
        {"proc_ave_rss_total", "proc_rss_total"},
        {"sys_low_mem_available", "sys_mem_available"},
        {"cgroup_mem_peak", "cgroup_mem_peak"},
        {"cgroup_cpu_seconds", "cgroup_cpu_seconds"},
        {"cgroup_peak_mem_interval_peak", "cgroup_mem_interval_peak"},
        {"io_peak_write_rate_total", "io_write_rate_total"},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const struct recorded_key *key = recording_key_of_summary(&run, pairs[i][0]);

        assert_non_null(key);
        assert_string_equal(key->key, pairs[i][1]);
    }
    assert_null(recording_key_of_summary(&run, "exit_code"));
    assert_null(recording_key_of_summary(&run, "proc_peak"));
    assert_null(recording_key_of_summary(&run, ""));
    recording_fini(&run);
}

/* Schema 1.0 names no topics: they are those that the collectors name now. */
static void the_topics_of_an_older_recording_come_from_its_keys(void **state)
{
    (void)state;
    static const char *const runs[] = {RECORDINGS "metron-ended/info.json",
                                       RECORDINGS "metron-syscalls/info.json"};
    struct registry registry;
    size_t compared = 0;

    assert_int_equal(registry_init(&registry, collector_sources(), collector_count, NULL), 0);
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct recording run = read_whole(runs[i]);
        for (size_t j = 0; j < run.key_count; j++) {
            const struct registry_entry *now = registry_find(&registry, run.keys[j].key);
            if (!now || run.keys[j].statistic)
                continue;
            if (run.keys[j].topic != now->measurement->topic)
                fail_msg("%s is %s, now %s", run.keys[j].key, topic_name(run.keys[j].topic),
                         topic_name(now->measurement->topic));
            compared++;
        }
        assert_int_equal(run.keys[recording_key_index(&run, "proc_rss_total")].bound, BOUND_UPPER);
        recording_fini(&run);
    }
    assert_true(compared > 150);
    registry_fini(&registry);
}

#define ONE_KEY(WORDS)                                                                                       \
    "{\"schema_version\": \"1.1\", \"metron_version\": \"0.1.0\", \"provenance\": {\"measurements\": "       \
    "{\"gpu_util\": {\"source\": \"gpu\", \"unit\": \"percent\"" WORDS "}}}}"

static void topic_and_bound_are_as_in_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        enum topic topic;
        enum bound bound;
    } cases[] = {
        {ONE_KEY(", \"topic\": \"gpu\", \"bound\": \"exact\""), TOPIC_GPU, BOUND_NONE},
        {ONE_KEY(", \"topic\": \"cpu.user\", \"bound\": \"lower\""), TOPIC_CPU_USER, BOUND_LOWER},
        {ONE_KEY(", \"bound\": \"what\", \"topic\": \"of a later version\""), TOPIC_OTHER, BOUND_NONE},
    };
    struct recording_wish wish = {.keys = true};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct recording run;
        assert_int_equal(parse(cases[i].json, &wish, &run, NULL), 0);
        assert_int_equal(run.key_count, 1);
        assert_int_equal(run.keys[0].topic, cases[i].topic);
        assert_int_equal(run.keys[0].bound, cases[i].bound);
        recording_fini(&run);
    }
}

static void a_topic_is_of_the_group_that_its_name_begins_with(void **state)
{
    (void)state;
    for (int topic = 0; topic < TOPIC_COUNT; topic++) {
        const char *name = topic_name((enum topic)topic);
        const char *group = topic_name(topic_group((enum topic)topic));
        assert_int_equal(topic_named(name, strlen(name)), topic);
        assert_int_equal(strlen(group), strcspn(name, "."));
        assert_memory_equal(group, name, strlen(group));
    }
    assert_int_equal(topic_named("cpu.", 4), TOPIC_COUNT);
    assert_true(topic_is_of_machine(TOPIC_STALL_MACHINE_IO) && topic_is_of_machine(TOPIC_MACHINE_CPU));
    assert_false(topic_is_of_machine(TOPIC_STALL_IO) || topic_is_of_machine(TOPIC_SELF));
}

/* -- Wishes -- */

static void only_wished_fields_are_there(void **state)
{
    (void)state;
    static const char *const names[] = {"peak_memory", "system.hostname", "proc_peak_rss_total", "nothing",
                                        NULL};
    const struct recording_wish wish = {.fields = names};
    struct recording run;

    assert_int_equal(recording_read(RECORDINGS "metron-ended/", &wish, &run, NULL), 0);
    assert_int_equal(run.field_count, 3);
    assert_int_equal(run.key_count, 0);
    assert_number(&run, "peak_memory", 86134784, UNIT_BYTES);
    assert_text(&run, "system.hostname", "node17");
    assert_number(&run, "proc_peak_rss_total", 110833664, UNIT_NONE);
    recording_fini(&run);
}

static void a_wish_finds_what_the_whole_has(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "metron-syscalls/info.json");

    for (size_t i = 0; i < run.field_count; i++) {
        const char *const names[] = {run.fields[i].name, NULL};
        const struct recording_wish wish = {.fields = names, .keys = true};
        struct recording part;

        assert_int_equal(recording_read(run.path, &wish, &part, NULL), 0);
        if (part.field_count != 1)
            fail_msg("%s: %zu fields", names[0], part.field_count);
        assert_int_equal(part.fields[0].kind, run.fields[i].kind);
        assert_int_equal(part.fields[0].unit, run.fields[i].unit);
        assert_true(part.fields[0].number == run.fields[i].number);
        if (run.fields[i].text)
            assert_string_equal(part.fields[0].text, run.fields[i].text);
        recording_fini(&part);
    }
    recording_fini(&run);
}

/* -- Running and lost -- */

static void one_whose_metron_lives_is_running_and_has_a_wall_time(void **state)
{
    (void)state;
    struct asked asked = {.answer = true};
    struct recording_wish wish = {.lives = lives, .context = &asked};
    struct recording run;

    assert_int_equal(recording_read(RECORDINGS "metron-running", &wish, &run, NULL), 0);
    assert_int_equal(run.status, RECORDING_RUNNING);
    assert_string_equal(asked.boot, "3f1d2c4e-5a6b-4c7d-8e9f-0a1b2c3d4e5f");
    assert_int_equal(asked.recorder.pid, 1031);
    assert_true(asked.recorder.start_ticks > 0);
    assert_string_equal(asked.hostname, "node17");
    assert_true(asked.recorder.start_wall == run.start_wall);
    assert_ptr_equal(asked.recorder.usage_path, run.usage_path);
    assert_null(recording_field(&run, "wall"));

    double start = run.start_wall;

    recording_fini(&run);
    wish.now = start + 12.5;
    assert_int_equal(recording_read(RECORDINGS "metron-running", &wish, &run, NULL), 0);
    assert_number(&run, "wall", 12.5, UNIT_SECONDS);
    assert_text(&run, "status", "running");
    assert_null(recording_field(&run, "peak_memory"));
    recording_fini(&run);
}

static void what_a_running_one_has_used_so_far_is_told_if_asked_for(void **state)
{
    (void)state;
    static const char *const others[] = {"command", "wall", NULL}, *const part[] = {"cpu_seconds_note", NULL};
    struct asked asked = {.answer = true};
    struct recording_wish wish = {
        .lives = lives, .context = &asked, .make_headline = headline_of_records, .parts = true};
    struct recording run;

    assert_int_equal(recording_read(RECORDINGS "metron-running", &wish, &run, NULL), 0);
    assert_string_equal(recording_text(&run, "cpu_seconds_source"), "cgroup_cpu_seconds");
    assert_string_equal(recording_text(&run, "cpu_seconds_note"), "so far; up to its newest record");
    assert_string_equal(recording_text(&run, "peak_memory_source"), "smaps_peak_pss_total");
    assert_number(&run, "peak_memory", 85708800, UNIT_BYTES);
    recording_fini(&run);
    wish.fields = part;
    assert_int_equal(recording_read(RECORDINGS "metron-running", &wish, &run, NULL), 0);
    assert_int_equal(run.field_count, 1);
    recording_fini(&run);
    wish.fields = others;
    assert_int_equal(recording_read(RECORDINGS "metron-running", &wish, &run, NULL), 0);
    assert_null(recording_field(&run, "cpu_seconds"));
    recording_fini(&run);
    /* The records of one that is lost, or has ended, are not read for it. */
    wish.fields = NULL;
    asked.answer = false;
    assert_int_equal(recording_read(RECORDINGS "metron-running", &wish, &run, NULL), 0);
    assert_null(recording_field(&run, "cpu_seconds"));
    recording_fini(&run);
    assert_int_equal(recording_read(RECORDINGS "metron-ended", &wish, &run, NULL), 0);
    assert_string_equal(recording_text(&run, "peak_memory_note"), "sampled");
    recording_fini(&run);
}

/* Schema 1.0 has its facts in sentences only. */
static void the_facts_of_an_older_recording_come_from_its_sentences(void **state)
{
    static const struct {
        const char *cause, *kind, *victim, *limit_of, *sender;
    } cases[] = {
        {"exited with code 3, ended through metron", "exited", NULL, NULL, NULL},
        {"killed by SIGKILL, sent by kill (pid 7104)", "signaled", NULL, NULL, "kill"},
        {"killed by SIGKILL, sent by the kernel", "signaled", NULL, NULL, "kernel"},
        {"killed by the OOM killer at its own limit of 64 MiB", "oom", "command", "own", NULL},
        {"killed by the OOM killer; whose limit it was cannot be seen from here", "oom", "command", NULL,
         NULL},
        {"killed by SIGKILL, likely by the OOM killer: it has killed on this machine meanwhile", "oom",
         "command", NULL, NULL},
        {"exited with code 1; the OOM killer killed 2 of its processes at the limit of its parent group (64 "
         "MiB of /a)",
         "exited", "processes", "parent", NULL},
        {"exited with code 0; the OOM killer killed 1 in its group at the limit of a group above its own "
         "(/a)",
         "exited", "group", "ancestor", NULL},
        {"exited with code 1; the OOM killer killed 1 of its processes: the host was out of memory", "exited",
         "processes", "host", NULL},
        {"still runs: metron was not permitted to end it", "still_running", NULL, NULL, NULL},
        {"does not end, not even at SIGKILL", "still_running", NULL, NULL, NULL},
        {"could not be started: x: not found", "not_started", NULL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct {
            const char *name, *text;
        } facts[] = {{"outcome.kind", cases[i].kind},
                     {"outcome.oom_victim", cases[i].victim},
                     {"outcome.limit_of", cases[i].limit_of},
                     {"outcome.sender.command", cases[i].sender}};
        struct recording run;
        char info[512];
        (void)snprintf(info, sizeof(info), METRON(", \"execution_summary\": {\"cause\": \"%s\"}"),
                       cases[i].cause);
        assert_int_equal(parse(info, &whole, &run, NULL), 0);
        for (size_t j = 0; j < sizeof(facts) / sizeof(facts[0]); j++) {
            if (facts[j].text)
                assert_text(&run, facts[j].name, facts[j].text);
            else
                assert_null(recording_field(&run, facts[j].name));
        }
        assert_int_equal(recording_field(&run, "outcome.ended_by_metron") != NULL, i == 0);
        recording_fini(&run);
    }
}

#define PEAK_AND_WAIT(VERSION)                                                                               \
    "{\"schema_version\": \"" VERSION                                                                        \
    "\", \"metron_version\": \"0.1.0\", \"execution_summary\": {\"cause\":"                                  \
    " \"exited with code 0\"}, \"stall\": {\"cpu\": {\"share\": 0.5, \"note\": \"of the whole machine\"}}, " \
    "\"headline\": {\"peak_memory_bytes\": {\"value\": 1, \"note\": \"upper bound: x\"}}}"

static void only_schema_1_0_is_known_by_its_sentences(void **state)
{
    (void)state;
    static const char *const fields[] = {"peak_memory", "stall.cpu.of", "stall.io.of", "outcome.kind", NULL};
    const struct recording_wish wish = {.fields = fields};
    struct recording run;

    assert_int_equal(parse(PEAK_AND_WAIT("1.0"), &wish, &run, NULL), 0);
    assert_int_equal(recording_field(&run, "peak_memory")->bound, BOUND_UPPER);
    assert_text(&run, "stall.cpu.of", "machine");
    assert_null(recording_field(&run, "stall.io.of")); /* it was not measured */
    assert_text(&run, "outcome.kind", "exited");
    recording_fini(&run);
    assert_int_equal(parse(PEAK_AND_WAIT("1.1"), &wish, &run, NULL), 0);
    assert_int_equal(recording_field(&run, "peak_memory")->bound, BOUND_NONE);
    assert_int_equal(run.field_count, 1);
    recording_fini(&run);
}

static void other_files_are_looked_for_only_where_they_are_wanted(void **state)
{
    (void)state;
    struct recording_wish wish = {.info_only = true};
    struct recording run;

    assert_int_equal(recording_read(RECORDINGS "metron-ended", &wish, &run, NULL), 0);
    assert_null(run.usage_path);
    assert_null(run.events_path);
    recording_fini(&run);
    /* Whether this one still runs may be told by its records. */
    assert_int_equal(recording_read(RECORDINGS "metron-running", &wish, &run, NULL), 0);
    assert_non_null(run.usage_path);
    recording_fini(&run);
}

static void one_whose_metron_is_gone_is_lost(void **state)
{
    (void)state;
    struct asked asked = {.answer = false};
    const struct recording_wish wish = {.lives = lives, .context = &asked, .now = 2e9};
    struct recording run;

    assert_int_equal(recording_read(RECORDINGS "metron-lost", &wish, &run, NULL), 0);
    assert_int_equal(run.status, RECORDING_LOST);
    assert_text(&run, "status", "lost");
    assert_null(recording_field(&run, "wall"));
    recording_fini(&run);

    /* One that cannot be asked for is gone as well. */
    asked.answer = true;
    assert_int_equal(
        parse(METRON(", \"status\": \"running\", \"recorder\": {\"pid\": -4}"), &wish, &run, NULL), 0);
    assert_int_equal(run.status, RECORDING_LOST);
    recording_fini(&run);
}

/* -- con-duct -- */

static void every_schema_of_con_duct_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *schema, *usage;
        double peak_rss, wall;
    } runs[] = {
        {"duct-0.2.0/", "0.2.0", "usage.json", 107384832, 2.9221935272216797},
        {"duct-0.2.1/", "0.2.1", "usage.json", 107352064, 3.066909074783325},
        {"duct-0.2.2/", "0.2.2", "usage.json", 107257856, 3.1537485122680664},
        {"duct-jsonl/", "0.2.2", "usage.jsonl", 109051904, 12.073502063751221},
    };

    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        char path[512];

        (void)snprintf(path, sizeof(path), RECORDINGS "%s" DUCT "info.json", runs[i].folder);

        struct recording run = read_whole(path);

        assert_int_equal(run.kind, RECORDING_DUCT);
        assert_int_equal(run.status, RECORDING_ENDED);
        assert_text(&run, "schema_version", runs[i].schema);
        assert_number(&run, "peak_rss", runs[i].peak_rss, UNIT_BYTES);
        assert_number(&run, "wall", runs[i].wall, UNIT_SECONDS);
        assert_true(strcmp(run.usage_path + strlen(run.usage_path) - strlen(runs[i].usage), runs[i].usage) ==
                    0);
        assert_null(run.events_path);
        recording_fini(&run);
    }
}

static void a_start_that_no_calendar_has_is_not_known(void **state)
{
    (void)state;
    static const char *const starts[] = {"1e300", "-5", "253402300800"};
    struct recording run;
    char text[256];

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        int length =
            snprintf(text, sizeof(text),
                     "{\"duct_version\": \"0.13\", \"schema_version\": \"0.2.2\", \"execution_summary\": "
                     "{\"start_time\": %s}}",
                     starts[i]);
        assert_int_equal(recording_parse(text, (size_t)length, "info.json", NULL, &run, NULL), 0);
        assert_true(run.start_wall == 0);
        recording_fini(&run);
    }
}

static void con_duct_says_no_more_than_it_knows(void **state)
{
    (void)state;
    struct recording run = read_whole(RECORDINGS "duct-jsonl");

    assert_null(recording_field(&run, "cpu_seconds"));
    assert_null(recording_field(&run, "processes"));
    assert_null(recording_field(&run, "gpu"));
    assert_number(&run, "peak_memory", 109051904, UNIT_BYTES);
    assert_string_equal(recording_field(&run, "peak_memory")->source, "peak_rss");
    assert_non_null(strstr(recording_field(&run, "peak_memory")->note, "an estimate: "));
    assert_null(strstr(recording_field(&run, "peak_memory")->note, "bound"));
    assert_number(&run, "peak_pcpu", 100, UNIT_PERCENT);
    assert_non_null(strstr(recording_field(&run, "peak_pcpu")->note, "averages over the life"));
    assert_text(&run, "env.SLURM_JOB_ID", "4243");
    assert_true(run.start_wall == 1794767034.7972403);
    assert_string_equal(recording_key_of_summary(&run, "peak_rss")->key, "total_rss");
    assert_string_equal(recording_key_of_summary(&run, "average_pcpu")->key, "total_pcpu");
    assert_non_null(strstr(run.keys[recording_key_index(&run, "pcpu")].note, "average over the life"));
    assert_non_null(strstr(run.keys[recording_key_index(&run, "pcpu_rate")].note, "estimate"));
    recording_fini(&run);
}

/* -- Time -- */

static void times_are_unix_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } times[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-15T07:42:53.123456+01:00", 1794724973.123456},
        {"2026-11-15 06:42:53.123456+0000", 1794724973.123456},
        {"2026-11-15T06:42:53", 1794724973},
        {"2024-02-29T23:59:59-05:30", 1709270999},
        {"2000-03-01T00:00:00+00:00", 951868800},
        {"1969-12-31T23:59:59Z", -1},
    };
    static const char *const wrong[] = {"",
                                        "2026",
                                        "2026-11-15",
                                        "2026-11-15T",
                                        "2026-13-15T06:42:53Z",
                                        "2026-11-00T06:42:53Z",
                                        "2026-11-15T24:42:53Z",
                                        "2026-11-15T06:60:53Z",
                                        "2026-11-15T06:42:53ZZ",
                                        "2026-11-15T06:42:53+1",
                                        "2026/11/15T06:42:53Z",
                                        "2026-11-15X06:42:53Z",
                                        "yesterday"};
    double seconds;

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        assert_true(recording_parse_time(times[i].text, &seconds));
        if (seconds - times[i].seconds > 1e-6 || times[i].seconds - seconds > 1e-6)
            fail_msg("%s is %.6f", times[i].text, seconds);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (recording_parse_time(wrong[i], &seconds))
            fail_msg("%s", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_an_ended_run_are_as_in_the_file),
        cmocka_unit_test(what_was_measured_has_the_unit_of_the_registry),
        cmocka_unit_test(aliases_say_where_they_come_from),
        cmocka_unit_test(aliases_are_known_with_their_unit_and_their_parts),
        cmocka_unit_test(lists_and_tallies_stay_json),
        cmocka_unit_test(no_name_stands_twice),
        cmocka_unit_test(keys_are_in_the_order_of_the_recording_with_their_means),
        cmocka_unit_test(summary_keys_lead_to_what_they_are_made_of),
        cmocka_unit_test(the_topics_of_an_older_recording_come_from_its_keys),
        cmocka_unit_test(topic_and_bound_are_as_in_the_file),
        cmocka_unit_test(a_topic_is_of_the_group_that_its_name_begins_with),
        cmocka_unit_test(only_wished_fields_are_there),
        cmocka_unit_test(a_wish_finds_what_the_whole_has),
        cmocka_unit_test(one_whose_metron_lives_is_running_and_has_a_wall_time),
        cmocka_unit_test(what_a_running_one_has_used_so_far_is_told_if_asked_for),
        cmocka_unit_test(other_files_are_looked_for_only_where_they_are_wanted),
        cmocka_unit_test(one_whose_metron_is_gone_is_lost),
        cmocka_unit_test(every_schema_of_con_duct_is_read),
        cmocka_unit_test(a_start_that_no_calendar_has_is_not_known),
        cmocka_unit_test(con_duct_says_no_more_than_it_knows),
        cmocka_unit_test(times_are_unix_seconds),
        cmocka_unit_test(the_facts_of_an_older_recording_come_from_its_sentences),
        cmocka_unit_test(only_schema_1_0_is_known_by_its_sentences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
