/* A recording as plain numbers: how it ended, and what the variables of schedulers tell of what was
 * requested. */
#include "learn/past_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "learn/requested.h"

#define MIB        1048576.0
#define FIELDS_MAX 16
#define NUMBER(n, v)                                                                                         \
    {                                                                                                        \
        .name = (n), .kind = FIELD_NUMBER, .number = (v)                                                     \
    }
#define TEXT(n, v)                                                                                           \
    {                                                                                                        \
        .name = (n), .kind = FIELD_TEXT, .text = (v)                                                         \
    }

static struct arena arena;

static int empty_arena(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

/* `fields` end with one that has no name. */
static struct past_run read_fields(enum recording_status status, const struct recorded_field *fields)
{
    struct recorded_field copy[FIELDS_MAX];
    struct recording recording = {.status = status, .start_wall = 1000000, .fields = copy};
    struct past_run run;

    while (fields[recording.field_count].name) {
        copy[recording.field_count] = fields[recording.field_count];
        recording.field_count++;
    }
    past_run_read(&recording, &arena, &run);
    return run;
}

#define READ(...) read_fields(RECORDING_ENDED, (const struct recorded_field[]){__VA_ARGS__, {.name = NULL}})

static void ends_are_told_apart(void **state)
{
    (void)state;
    static const struct recorded_field nothing[] = {{.name = NULL}};

    assert_int_equal(READ(NUMBER("exit_code", 0)).end, PAST_SUCCEEDED);
    assert_int_equal(READ(NUMBER("exit_code", 3)).end, PAST_FAILED);
    assert_int_equal(READ(NUMBER("exit_code", 143), NUMBER("signal", 15)).end, PAST_SIGNALLED);
    assert_int_equal(READ(NUMBER("exit_code", 137)).end, PAST_SIGNALLED); /* of a shell */
    assert_int_equal(READ(NUMBER("exit_code", -9)).end, PAST_SIGNALLED);  /* of con-duct */
    assert_int_equal(READ(NUMBER("exit_code", 255)).end, PAST_FAILED);
    assert_int_equal(READ(NUMBER("exit_code", 127), TEXT("outcome.kind", "not_started")).end,
                     PAST_NOT_STARTED);
    assert_int_equal(READ(NUMBER("exit_code", 127), TEXT("outcome.kind", "exited")).end, PAST_FAILED);
    assert_int_equal(read_fields(RECORDING_ENDED, nothing).end, PAST_UNKNOWN);
    assert_int_equal(read_fields(RECORDING_RUNNING, nothing).end, PAST_RUNNING);
    assert_int_equal(read_fields(RECORDING_LOST, nothing).end, PAST_LOST);
}

#define OOM(victim) TEXT("outcome.oom_victim", victim)

static void the_outcome_says_that_memory_ran_out(void **state)
{
    (void)state;
    struct past_run run = READ(NUMBER("exit_code", 137), OOM("command"), TEXT("outcome.limit_of", "own"),
                               NUMBER("system.may_use.memory", 64 * MIB));
    assert_int_equal(run.end, PAST_OUT_OF_MEMORY);
    assert_true(run.memory_limit_bytes == 64 * MIB);

    run = READ(NUMBER("exit_code", 137), OOM("command"), TEXT("outcome.limit_of", "host"),
               NUMBER("system.may_use.memory", 64 * MIB));
    assert_int_equal(run.end, PAST_OUT_OF_MEMORY);
    assert_true(run.memory_limit_bytes == 0);

    run = READ(NUMBER("exit_code", 137), OOM("command"), NUMBER("system.may_use.memory", 64 * MIB));
    assert_int_equal(run.end, PAST_OUT_OF_MEMORY);
    assert_true(run.memory_limit_bytes == 0); /* whose limit it was is not known */

    assert_int_equal(READ(NUMBER("exit_code", 1), OOM("processes")).end, PAST_OUT_OF_MEMORY);
    assert_int_equal(READ(NUMBER("exit_code", 0), OOM("group")).end,
                     PAST_SUCCEEDED); /* may have been anybody's */
    assert_int_equal(READ(NUMBER("exit_code", 143), NUMBER("signal", 15),
                          TEXT("cause", "killed by SIGTERM, sent by OOM killer (pid 7)"))
                         .end,
                     PAST_SIGNALLED); /* the sentence is not read */
}

static void want_of_time_needs_a_request(void **state)
{
    (void)state;
    assert_int_equal(READ(NUMBER("exit_code", 143), NUMBER("signal", 15), NUMBER("wall", 3598),
                          TEXT("env.SLURM_TIMELIMIT", "60"))
                         .end,
                     PAST_OUT_OF_TIME);
    assert_int_equal(READ(NUMBER("exit_code", 143), NUMBER("signal", 15), NUMBER("wall", 1000),
                          TEXT("env.SLURM_TIMELIMIT", "60"))
                         .end,
                     PAST_SIGNALLED);
    assert_int_equal(READ(NUMBER("exit_code", 143), NUMBER("signal", 15), NUMBER("wall", 3598)).end,
                     PAST_SIGNALLED);
    /* metron said so when it received the signal */
    assert_int_equal(READ(NUMBER("exit_code", 3), TEXT("outcome.time_limit.source", "COBALT_ENDTIME")).end,
                     PAST_OUT_OF_TIME);
    assert_int_equal(READ(NUMBER("exit_code", 0), TEXT("outcome.time_limit.source", "COBALT_ENDTIME")).end,
                     PAST_SUCCEEDED);
    /* the second step of a job that began earlier: the job's end counts */
    assert_int_equal(READ(NUMBER("exit_code", 143), NUMBER("signal", 15), NUMBER("wall", 1780),
                          TEXT("env.SLURM_JOB_START_TIME", "998200"),
                          TEXT("env.SLURM_JOB_END_TIME", "1001800"))
                         .end,
                     PAST_OUT_OF_TIME);
    assert_int_equal(
        READ(NUMBER("exit_code", 1), NUMBER("wall", 3598), TEXT("env.SLURM_TIMELIMIT", "60")).end,
        PAST_FAILED);
}

static void requests_are_of_the_task_in_a_step(void **state)
{
    (void)state;
    struct past_run run =
        READ(NUMBER("exit_code", 0), TEXT("env.SLURM_STEP_ID", "0"),
             TEXT("env.SLURM_STEP_TASKS_PER_NODE", "4(x2)"), TEXT("env.SLURM_CPUS_PER_TASK", "2"),
             TEXT("env.SLURM_CPUS_ON_NODE", "8"), TEXT("env.SLURM_MEM_PER_NODE", "8192"));
    assert_true(run.requested_cpus == 2);
    assert_true(run.requested_bytes == 2048 * MIB);

    run = READ(NUMBER("exit_code", 0), TEXT("env.SLURM_CPUS_PER_TASK", "2"),
               TEXT("env.SLURM_CPUS_ON_NODE", "8"), TEXT("env.SLURM_MEM_PER_NODE", "8192"));
    assert_true(run.requested_cpus == 8);
    assert_true(run.requested_bytes == 8192 * MIB);
}

static void memory_per_cpu_is_for_every_cpu(void **state)
{
    (void)state;
    struct past_run run = READ(NUMBER("exit_code", 0), TEXT("env.SLURM_CPUS_PER_TASK", "4"),
                               TEXT("env.SLURM_MEM_PER_CPU", "1024"));

    assert_true(run.requested_bytes == 4096 * MIB);
    run = READ(NUMBER("exit_code", 0), TEXT("env.SLURM_MEM_PER_CPU", "1024"));
    assert_true(run.requested_bytes == 0); /* for how many is not told */
    run = READ(NUMBER("exit_code", 0), TEXT("env.SLURM_MEM_PER_NODE", "0"));
    assert_true(run.requested_bytes == 0); /* all of the node */
}

static void slurm_amounts_are_read_as_slurm_means_them(void **state)
{
    (void)state;
    assert_true(requested_slurm_memory("4096") == 4096 * MIB);
    assert_true(requested_slurm_memory("4G") == 4096 * MIB);
    assert_true(requested_slurm_memory("512K") == 0.5 * MIB);
    assert_true(requested_slurm_memory("4GB") == 0);
    assert_true(requested_slurm_memory("-5") == 0);
    assert_true(requested_slurm_memory("") == 0);
    assert_true(requested_slurm_memory(NULL) == 0);
    assert_true(requested_slurm_memory("1e-320") == 0); /* whole numbers, written out */
    assert_true(requested_slurm_memory("0x10") == 0);
    assert_true(requested_slurm_memory("99999999999999999999") == 0);
    assert_true(requested_slurm_time("90") == 5400);
    assert_true(requested_slurm_time("90:30") == 5430);
    assert_true(requested_slurm_time("1:30:05") == 5405);
    assert_true(requested_slurm_time("1-12") == 129600);
    assert_true(requested_slurm_time("1-12:30") == 131400);
    assert_true(requested_slurm_time("1-12:30:10") == 131410);
    assert_true(requested_slurm_time("UNLIMITED") == 0);
    assert_true(requested_slurm_time("1:2:3:4") == 0);
    assert_true(requested_slurm_time("1-") == 0);
    assert_true(requested_slurm_time("1:") == 0);
    assert_true(requested_slurm_time("1e3") == 0);
}

static void torque_tells_the_cpus_of_one_node_and_the_time(void **state)
{
    (void)state;
    struct past_run run = READ(TEXT("env.PBS_JOBID", "17.server"), TEXT("env.PBS_NUM_NODES", "1"),
                               TEXT("env.PBS_NUM_PPN", "8"), TEXT("env.PBS_NP", "8"),
                               TEXT("env.PBS_WALLTIME", "3600"), TEXT("env.PBS_RESC_MEM", "17179869184"));

    assert_true(run.requested_cpus == 8 && run.requested_seconds == 3600);
    assert_true(run.requested_bytes == 0); /* no variable of PBS itself tells */
    assert_string_equal(run.batch, "17.server");
    run = READ(TEXT("env.PBS_NUM_NODES", "2"), TEXT("env.PBS_NUM_PPN", "8"), TEXT("env.PBS_NP", "16"));
    assert_true(run.requested_cpus == 0); /* which part of it was this one? */
    run = READ(TEXT("env.PBS_NUM_NODES", "1"), TEXT("env.PBS_NUM_PPN", "1"), TEXT("env.PBS_NP", "8"));
    assert_true(run.requested_cpus == 0); /* "procs=8", on nobody knows how many nodes */
    run = READ(TEXT("env.PBS_NUM_NODES", "2"), TEXT("env.PBS_NUM_PPN", "8"));
    assert_true(run.requested_cpus == 0);
    run = READ(TEXT("env.PBS_NUM_PPN", "8"));
    assert_true(run.requested_cpus == 0);
    assert_int_equal(READ(NUMBER("exit_code", 143), NUMBER("signal", 15), NUMBER("wall", 3590),
                          TEXT("env.PBS_WALLTIME", "3600"))
                         .end,
                     PAST_OUT_OF_TIME);
}

static void lsf_tells_the_cpus_of_one_host(void **state)
{
    (void)state;
    assert_true(READ(TEXT("env.LSB_MCPU_HOSTS", "node17 8")).requested_cpus == 8);
    assert_true(requested_lsf_cpus(" node17  8 ") == 8);
    assert_true(requested_lsf_cpus("node17 8 node18 4") == 0);
    assert_true(requested_lsf_cpus("node17") == 0);
    assert_true(requested_lsf_cpus("node17 many") == 0);
    assert_true(requested_lsf_cpus("") == 0);
    assert_true(requested_lsf_cpus(NULL) == 0);
    /* The elements of an array have one number, but are jobs of their own. */
    assert_string_equal(READ(TEXT("env.LSB_JOBID", "42")).batch, "42");
    assert_string_equal(READ(TEXT("env.LSB_JOBID", "42"), TEXT("env.LSB_JOBINDEX", "3")).batch, "42[3]");
}

static void grid_engine_tells_the_cpus_of_one_host(void **state)
{
    (void)state;
    struct past_run run = READ(TEXT("env.SGE_TASK_ID", "undefined"), TEXT("env.JOB_ID", "4711"),
                               TEXT("env.NSLOTS", "8"), TEXT("env.NHOSTS", "1"));
    assert_true(run.requested_cpus == 8 && run.requested_bytes == 0 && run.requested_seconds == 0);
    assert_string_equal(run.batch, "4711");
    run = READ(TEXT("env.SGE_TASK_ID", "3"), TEXT("env.JOB_ID", "4711"), TEXT("env.NSLOTS", "8"),
               TEXT("env.NHOSTS", "2"));
    assert_true(run.requested_cpus == 0); /* which part of them this run had is not known */
    assert_string_equal(run.batch, "4711.3");
    /* Without Grid Engine these names are anybody's. */
    run = READ(TEXT("env.JOB_ID", "4711"), TEXT("env.NSLOTS", "8"), TEXT("env.NHOSTS", "1"));
    assert_true(run.requested_cpus == 0);
    assert_null(run.batch);
}

static void one_scheduler_answers_for_all(void **state)
{
    (void)state;
    struct past_run run = READ(TEXT("env.SLURM_TIMELIMIT", "60"), TEXT("env.PBS_NUM_NODES", "1"),
                               TEXT("env.PBS_NUM_PPN", "8"), TEXT("env.LSB_MCPU_HOSTS", "node17 8"));

    assert_true(run.requested_seconds == 3600 && run.requested_cpus == 0);
}

static void what_was_not_measured_is_below_zero(void **state)
{
    (void)state;
    struct past_run run = READ(NUMBER("exit_code", 0), NUMBER("wall", 1e300), NUMBER("peak_memory", -1));

    assert_true(isnan(run.memory_bytes) && isnan(run.cpu_seconds) && isnan(run.wall_seconds));
}

static void texts_outlive_the_recording(void **state)
{
    (void)state;
    char source[] = "peak_rss";
    struct past_run run = READ({.name = "peak_memory",
                                .kind = FIELD_NUMBER,
                                .number = 1,
                                .source = source,
                                .note = "an upper bound"});

    memset(source, 'x', sizeof(source) - 1);
    assert_string_equal(run.memory_source, "peak_rss");
    assert_string_equal(run.memory_note, "an upper bound");
}

#define PEAK(s, b)                                                                                           \
    {                                                                                                        \
        .name = "peak_memory", .kind = FIELD_NUMBER, .number = 1, .source = (s), .bound = (b)                \
    }

static void what_a_peak_may_lack_is_known(void **state)
{
    (void)state;
    assert_true(READ(PEAK("peak_rss", BOUND_ABOUT)).memory_sampled);
    assert_true(READ(PEAK("proc_peak_rss_total", BOUND_NONE)).memory_sampled);
    assert_false(READ(PEAK("cgroup_mem_peak", BOUND_NONE)).memory_sampled);
    struct past_run run = READ(PEAK("proc_hwm_max", BOUND_LOWER));
    assert_true(run.memory_of_one && !run.memory_sampled);
    assert_false(READ(PEAK("proc_hwm_max", BOUND_NONE)).memory_of_one);
}

static void waits_for_a_cpu_are_its_own_or_those_of_others(void **state)
{
    (void)state;
    struct past_run run = READ(NUMBER("stall.cpu.share", 0.5), TEXT("stall.cpu.of", "run"));
    assert_true(run.shortage.waited == 0.5 && isnan(run.shortage.others));
    run = READ(NUMBER("stall.cpu.share", 0.5), TEXT("stall.cpu.of", "machine"));
    assert_true(run.shortage.others == 0.5 && isnan(run.shortage.waited));
    assert_true(isnan(READ(NUMBER("exit_code", 0)).shortage.waited));
    assert_true(isnan(READ(NUMBER("stall.cpu.share", 7), TEXT("stall.cpu.of", "run")).shortage.waited));
}

static void without_records_its_cpus_are_those_of_its_average(void **state)
{
    (void)state;
    struct past_run run = READ(NUMBER("wall", 100), NUMBER("cpu_seconds", 160));

    assert_true(run.cpus == 2 && run.busy[2] == 100);
    assert_true(READ(NUMBER("wall", 100), NUMBER("cpu_seconds", 0)).cpus == 1);
    assert_true(isnan(READ(NUMBER("wall", 100)).cpus));
    assert_true(isnan(READ(NUMBER("wall", 0), NUMBER("cpu_seconds", 1)).cpus));
    /* more than any machine has */
    assert_true(isnan(READ(NUMBER("wall", 1e-300), NUMBER("cpu_seconds", 1e17)).cpus));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ends_are_told_apart, empty_arena),
        cmocka_unit_test_teardown(the_outcome_says_that_memory_ran_out, empty_arena),
        cmocka_unit_test_teardown(want_of_time_needs_a_request, empty_arena),
        cmocka_unit_test_teardown(requests_are_of_the_task_in_a_step, empty_arena),
        cmocka_unit_test_teardown(memory_per_cpu_is_for_every_cpu, empty_arena),
        cmocka_unit_test_teardown(slurm_amounts_are_read_as_slurm_means_them, empty_arena),
        cmocka_unit_test_teardown(torque_tells_the_cpus_of_one_node_and_the_time, empty_arena),
        cmocka_unit_test_teardown(lsf_tells_the_cpus_of_one_host, empty_arena),
        cmocka_unit_test_teardown(grid_engine_tells_the_cpus_of_one_host, empty_arena),
        cmocka_unit_test_teardown(one_scheduler_answers_for_all, empty_arena),
        cmocka_unit_test_teardown(what_was_not_measured_is_below_zero, empty_arena),
        cmocka_unit_test_teardown(texts_outlive_the_recording, empty_arena),
        cmocka_unit_test_teardown(what_a_peak_may_lack_is_known, empty_arena),
        cmocka_unit_test_teardown(waits_for_a_cpu_are_its_own_or_those_of_others, empty_arena),
        cmocka_unit_test_teardown(without_records_its_cpus_are_those_of_its_average, empty_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
