/* How a run ended: the data that programs read, and the sentence that people read. */
#include "schema/outcome.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/strbuf.h"

static const struct received by_timeout = {.from = FROM_PROCESS,
                                           .signal = SIGTERM,
                                           .wall = {1763235778, 119205000},
                                           .pid = 811,
                                           .uid = 1000,
                                           .command = "timeout"};
static const struct received by_nameless = {
    .from = FROM_PROCESS, .signal = SIGTERM, .wall = {1763235778, 0}, .pid = 811, .after_exit = true};
static const struct received by_key = {.from = FROM_TERMINAL, .signal = SIGINT, .wall = {1763235778, 0}};
static const struct received by_host = {.from = FROM_OUTSIDE, .signal = SIGTERM, .wall = {1763235778, 0}};
static const struct received by_alarm = {.from = FROM_KERNEL, .signal = SIGALRM, .wall = {1763235778, 0}};
static const struct received by_program = {.from = FROM_LIBRARY, .wall = {1763235778, 0}};

static const struct event_sender bash = {11684, "bash"}, nameless = {7, NULL}, kernel = {0, NULL};

static const struct {
    struct outcome outcome;
    const char *cause, *json; /* json NULL: others show that */
} cases[] = {
    {{.kind = OUTCOME_EXITED}, "exited with code 0", "{\"kind\":\"exited\",\"exit_code\":0}"},
    {{.kind = OUTCOME_EXITED, .exit_code = 4, .not_permitted = true},
     "exited with code 4; metron was not permitted to end it",
     "{\"kind\":\"exited\",\"exit_code\":4,\"not_permitted\":true}"},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 139, .signal = SIGSEGV, .core_dumped = true},
     "killed by SIGSEGV, core dumped",
     "{\"kind\":\"signaled\",\"exit_code\":139,\"signal\":11,\"core_dumped\":true}"},
    {{.kind = OUTCOME_SIGNALED,
      .exit_code = 143,
      .signal = SIGTERM,
      .received = &by_timeout,
      .ended_by_metron = true},
     "killed by SIGTERM, sent to metron by timeout (pid 811)",
     "{\"kind\":\"signaled\",\"exit_code\":143,\"signal\":15,\"received\":{\"signal\":15,\"from\":"
     "\"process\",\"pid\":811,\"uid\":1000,\"command\":\"timeout\",\"time\":"
     "\"2025-11-15T19:42:58.119205+00:00\"},\"ended_by_metron\":true}"},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 137, .signal = SIGKILL, .received = &by_timeout},
     "killed by SIGKILL after SIGTERM, sent to metron by timeout (pid 811)",
     NULL},
    {{.kind = OUTCOME_SIGNALED,
      .exit_code = 137,
      .signal = SIGKILL,
      .received = &by_timeout,
      .sender = &bash},
     "killed by SIGKILL, sent by bash (pid 11684)",
     NULL},
    {{.kind = OUTCOME_EXITED, .exit_code = 3, .received = &by_nameless},
     "exited with code 3; what it had left running ended after SIGTERM, sent to metron by a process (pid "
     "811)",
     "{\"kind\":\"exited\",\"exit_code\":3,\"received\":{\"signal\":15,\"from\":\"process\",\"pid\":811,"
     "\"uid\":0,\"time\":\"2025-11-15T19:42:58.000000+00:00\",\"after_exit\":true}}"},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 130, .signal = SIGINT, .received = &by_key},
     "killed by SIGINT from the terminal",
     "{\"kind\":\"signaled\",\"exit_code\":130,\"signal\":2,\"received\":{\"signal\":2,\"from\":"
     "\"terminal\",\"time\":\"2025-11-15T19:42:58.000000+00:00\"}}"},
    {{.kind = OUTCOME_EXITED, .exit_code = 130, .received = &by_key},
     "exited with code 130 after SIGINT from the terminal",
     NULL},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 143, .signal = SIGTERM, .received = &by_host},
     "killed by SIGTERM, sent to metron from outside its container",
     NULL},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 142, .signal = SIGALRM, .received = &by_alarm},
     "killed by SIGALRM, sent to metron by the kernel",
     NULL},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 143, .signal = SIGTERM, .received = &by_program},
     "killed by SIGTERM on request of the program that started it",
     "{\"kind\":\"signaled\",\"exit_code\":143,\"signal\":15,\"received\":{\"from\":\"library\",\"time\":"
     "\"2025-11-15T19:42:58.000000+00:00\"}}"},
    {{.kind = OUTCOME_TIME_LIMIT,
      .exit_code = 143,
      .signal = SIGTERM,
      .received = &by_timeout,
      .time_limit = {"SLURM_JOB_END_TIME", 1763235773}},
     "time limit reached: killed by SIGTERM, sent to metron by timeout (pid 811)",
     "{\"kind\":\"time_limit\",\"exit_code\":143,\"signal\":15,\"received\":{\"signal\":15,\"from\":"
     "\"process\",\"pid\":811,\"uid\":1000,\"command\":\"timeout\",\"time\":"
     "\"2025-11-15T19:42:58.119205+00:00\"},\"time_limit\":{\"end\":\"2025-11-15T19:42:53+00:00\","
     "\"source\":\"SLURM_JOB_END_TIME\"}}"},
    {{.kind = OUTCOME_EXITED,
      .received = &by_timeout,
      .time_limit = {"SLURM_JOB_END_TIME", 1763235773},
      .ended_by_metron = true},
     "exited with code 0 after SIGTERM, sent to metron by timeout (pid 811); the time limit of its job was "
     "reached",
     NULL},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 137, .signal = SIGKILL, .sender = &bash},
     "killed by SIGKILL, sent by bash (pid 11684)",
     "{\"kind\":\"signaled\",\"exit_code\":137,\"signal\":9,\"sender\":{\"pid\":11684,\"command\":\"bash\"}"
     "}"},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 137, .signal = SIGKILL, .sender = &nameless},
     "killed by SIGKILL, sent by a process (pid 7)",
     "{\"kind\":\"signaled\",\"exit_code\":137,\"signal\":9,\"sender\":{\"pid\":7}}"},
    {{.kind = OUTCOME_SIGNALED, .exit_code = 137, .signal = SIGKILL, .sender = &kernel},
     "killed by SIGKILL, sent by the kernel",
     "{\"kind\":\"signaled\",\"exit_code\":137,\"signal\":9,\"sender\":{\"command\":\"kernel\"}}"},
    {{.kind = OUTCOME_OOM,
      .exit_code = 137,
      .signal = SIGKILL,
      .oom_victim = OOM_VICTIM_COMMAND,
      .oom_kills = 1,
      .limit_of = LIMIT_OF_OWN,
      .limit_bytes = 64 << 20},
     "killed by the OOM killer at its own limit of 64 MiB",
     "{\"kind\":\"oom\",\"exit_code\":137,\"signal\":9,\"oom_victim\":\"command\",\"oom_kills\":1,"
     "\"limit_of\":\"own\",\"limit_bytes\":67108864}"},
    {{.kind = OUTCOME_EXITED,
      .exit_code = 3,
      .oom_victim = OOM_VICTIM_PROCESSES,
      .oom_kills = 2,
      .limit_of = LIMIT_OF_PARENT,
      .limit_bytes = 64 << 20,
      .limit_group = "/batch"},
     "exited with code 3; the OOM killer killed 2 of its processes at the limit of its parent group (64 MiB "
     "of "
     "/batch)",
     "{\"kind\":\"exited\",\"exit_code\":3,\"oom_victim\":\"processes\",\"oom_kills\":2,"
     "\"limit_of\":\"parent\",\"limit_bytes\":67108864,\"limit_group\":\"/batch\"}"},
    {{.kind = OUTCOME_EXITED,
      .oom_victim = OOM_VICTIM_GROUP,
      .oom_kills = 1,
      .limit_of = LIMIT_OF_ANCESTOR,
      .limit_group = "/a"},
     "exited with code 0; the OOM killer killed 1 in its group at the limit of a group above its own (/a)",
     "{\"kind\":\"exited\",\"exit_code\":0,\"oom_victim\":\"group\",\"oom_kills\":1,"
     "\"limit_of\":\"ancestor\",\"limit_group\":\"/a\"}"},
    {{.kind = OUTCOME_OOM, .oom_victim = OOM_VICTIM_COMMAND, .oom_kills = 1, .limit_of = LIMIT_OF_HOST},
     "killed by the OOM killer: the host was out of memory",
     "{\"kind\":\"oom\",\"exit_code\":0,\"oom_victim\":\"command\",\"oom_kills\":1,\"limit_of\":\"host\"}"},
    {{.kind = OUTCOME_OOM, .oom_victim = OOM_VICTIM_COMMAND, .oom_kills = 1},
     "killed by the OOM killer; whose limit it was cannot be seen from here",
     "{\"kind\":\"oom\",\"exit_code\":0,\"oom_victim\":\"command\",\"oom_kills\":1}"},
    {{.kind = OUTCOME_OOM, .oom_victim = OOM_VICTIM_COMMAND, .oom_likely = true},
     "killed by SIGKILL, likely by the OOM killer: it has killed on this machine meanwhile",
     "{\"kind\":\"oom\",\"exit_code\":0,\"oom_victim\":\"command\",\"oom_likely\":true}"},
    {{.kind = OUTCOME_NOT_STARTED, .exit_code = 127, .error = "no: not found"},
     "could not be started: no: not found",
     "{\"kind\":\"not_started\",\"exit_code\":127,\"error\":\"no: not found\"}"},
    {{.kind = OUTCOME_STILL_RUNNING, .exit_code = 137, .not_permitted = true},
     "still runs: metron was not permitted to end it",
     "{\"kind\":\"still_running\",\"exit_code\":137,\"not_permitted\":true}"},
    {{.kind = OUTCOME_STILL_RUNNING, .exit_code = 137},
     "does not end, not even at SIGKILL",
     "{\"kind\":\"still_running\",\"exit_code\":137}"},
};

static void an_outcome_is_data_and_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena arena = {0};
        struct strbuf text = STRBUF_INIT;
        struct json json;

        assert_string_equal(outcome_cause(&arena, &cases[i].outcome), cases[i].cause);
        json_init(&json, &text, 0);
        json_object_begin(&json);
        outcome_json(&json, &cases[i].outcome);
        if (cases[i].json)
            assert_string_equal(strbuf_text(&text) + sizeof("{\"outcome\":") - 1, cases[i].json);
        strbuf_fini(&text);
        arena_fini(&arena);
    }
}

static void what_is_not_known_is_absent(void **state)
{
    (void)state;
    const struct outcome unknown = {.kind = OUTCOME_UNKNOWN};
    struct arena arena = {0};
    struct strbuf text = STRBUF_INIT;
    struct json json;

    json_init(&json, &text, 0);
    json_object_begin(&json);
    outcome_json(&json, &unknown);
    assert_string_equal(strbuf_text(&text), "{");
    assert_null(outcome_cause(&arena, &unknown));
    strbuf_fini(&text);
    arena_fini(&arena);
}

int main(void)
{
    (void)setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outcome_is_data_and_a_sentence),
        cmocka_unit_test(what_is_not_known_is_absent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
