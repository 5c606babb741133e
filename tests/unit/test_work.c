/* What a command does, by its words. */
#include "learn/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;

static int empty_arena(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static void is_work(const char *command, const char *expected)
{
    const char *name = work_name(&arena, command);

    assert_non_null(name);
    assert_string_equal(name, expected);
}

static void a_program_is_named_without_folders_and_quotes(void **state)
{
    (void)state;
    is_work("/usr/bin/sort -n /tmp/x", "sort");
    is_work("sort", "sort");
    is_work("'my tool' -n", "my tool");
    is_work("'/opt/my tool' -n", "my tool");
    is_work("\"/usr/bin/sort\" x", "sort");
    is_work("/", "/");
    is_work("'unended", "unended");
    assert_null(work_name(&arena, ""));
    assert_null(work_name(&arena, "  "));
    assert_null(work_name(&arena, NULL));
}

static void an_interpreter_is_named_with_its_script(void **state)
{
    (void)state;
    is_work("python3 a.py", "python a.py");
    is_work("/venv/bin/python3.11 -u -W ignore code/a.py --epochs 3", "python a.py");
    is_work("python3 -m pytest tests/", "python -m pytest");
    is_work("python3 -c 'import x; x.y()'", "python -c import x; x.y()");
    is_work("python3 -c 'f(64 + 32 * 1)'", "python -c f(N + N * N)"); /* as f(64 + 32 * 2) */
    is_work("python3", "python");
    is_work("java -Xmx4g -cp a.jar:b.jar org.x.Main in", "java org.x.Main");
    is_work("java -jar /opt/x.jar", "java -jar /opt/x.jar");
    is_work("perl -w -I lib run.pl", "perl run.pl");
    is_work("Rscript --vanilla fit.R", "Rscript fit.R");
    is_work("bash -e ./build.sh all", "bash build.sh");
}

static void a_script_on_the_command_line_is_the_programs_that_it_runs(void **state)
{
    (void)state;
    is_work("sh -c 'sort x | uniq -c; exit $?'", "sh: sort uniq exit");
    is_work("sh -c 'sort y | uniq -c; exit $?'", "sh: sort uniq exit");
    is_work("bash -lc 'cd x && A=1 make -j2 >log 2>&1'", "bash: cd make");
    is_work("sh -c 'for i in 1 2; do /bin/true; done'", "sh: true");
    is_work("sh -c 'if a;then \"my tool\" x;fi&'", "sh: a \"my tool\"");
    is_work("sh -c ''", "sh:");
}

static void a_launcher_is_not_the_work(void **state)
{
    (void)state;
    is_work("mpirun -np 4 --hostfile hosts ./sim in.dat", "sim");
    is_work("mpirun --mca btl tcp,self -x PATH ./other", "other");
    is_work("srun -n 4 --exclusive python3 train.py", "python train.py");
    is_work("env A=b C=d nice -n 5 timeout -k 5 1h make install", "make install");
    is_work("taskset -c 0-3 ./a.out", "a.out");
    is_work("nohup", "nohup");
    is_work("mpirun -np 4", "mpirun");
}

static void a_tool_is_named_with_what_it_does(void **state)
{
    (void)state;
    is_work("samtools sort -@4 x.bam", "samtools sort");
    is_work("make -C sub -j8", "make");
    is_work("make -j2 install", "make install");
    is_work("make CC=clang", "make");
}

static void it_is_short_and_cuts_no_character(void **state)
{
    (void)state;
    static const char begin[] = "python3 -c ";
    char command[300];

    (void)snprintf(command, sizeof(command), "%s", begin);
    for (size_t at = strlen(begin); at < 200; at += 2)
        (void)snprintf(command + at, sizeof(command) - at, "\xc3\xa4");
    const char *name = work_name(&arena, command);
    assert_non_null(name);
    assert_in_range(strlen(name), 60, 64);
    assert_int_equal(strlen(name) % 2, strlen("python -c ") % 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_program_is_named_without_folders_and_quotes, empty_arena),
        cmocka_unit_test_teardown(an_interpreter_is_named_with_its_script, empty_arena),
        cmocka_unit_test_teardown(a_script_on_the_command_line_is_the_programs_that_it_runs, empty_arena),
        cmocka_unit_test_teardown(a_launcher_is_not_the_work, empty_arena),
        cmocka_unit_test_teardown(a_tool_is_named_with_what_it_does, empty_arena),
        cmocka_unit_test_teardown(it_is_short_and_cuts_no_character, empty_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
