/* The slowest compilations on the page of a report. */
#include "report_fixture.h"

static struct report_evidence evidence;
static struct recording recording;
static struct report_page page;
static struct strbuf out;

static int setup(void **state)
{
    (void)state;
    recording = running();
    evidence = (struct report_evidence){.recording = &recording};
    page = (struct report_page){0};
    out = (struct strbuf)STRBUF_INIT;
    return report_events_init(&evidence.events, &recording);
}

static int teardown(void **state)
{
    (void)state;
    report_events_fini(&evidence.events);
    report_processes_free(evidence.processes);
    report_page_fini(&page);
    strbuf_fini(&out);
    return 0;
}

static void begins(int64_t pid, int64_t ppid, const char *command)
{
    struct recorded_event birth = event("spawn", pid, 1000);

    birth.ppid = ppid;
    birth.command = command;
    report_events_add(&evidence.events, &birth, evidence.processes);
}

/* `cpu_seconds` -1: what it used is unknown, and it exited at this time. */
static void ends(int64_t pid, const char *command, double seconds, double cpu_seconds)
{
    struct recorded_event end = event("exit", pid, 1000 + seconds);

    end.command = command;
    end.has_use = cpu_seconds >= 0;
    end.cpu_seconds = cpu_seconds;
    end.lifetime_seconds = seconds;
    report_events_add(&evidence.events, &end, evidence.processes);
}

static const char *text_of_page(void)
{
    report_events_end(&evidence.events);
    report_compilations(&page, &evidence);
    report_page_text(&out, &page, 0, false);
    return strbuf_text(&out);
}

static void each_compilation_counts_once(void **state)
{
    (void)state;
    begins(1, 0, "make");
    begins(2, 1, "gcc -c -o a.o src/a.c");
    begins(3, 2, "/usr/lib/gcc/12/cc1 -quiet src/a.c -dumpbase a.c -o /tmp/a.s");
    ends(3, NULL, 3, 2.5);
    begins(4, 2, "as -o a.o /tmp/a.s");
    ends(4, NULL, 0.5, 0.5);
    ends(2, NULL, 4, 0.125);
    begins(5, 1, "clang -c 'my b.c'");
    ends(5, NULL, 2, 1.75); /* by itself */
    begins(6, 1, "clang a.o b.o -o prog");
    begins(7, 6, "/usr/bin/ld -z relro -o prog a.o");
    ends(7, NULL, 1, 0.25);
    ends(6, NULL, 1, 0.125);
    begins(8, 1, "gcc --version");
    ends(8, NULL, 9, 0.5);
    begins(9, 1, "lto1 -quiet -dumpbase ./prog.wpa @/tmp/list");
    ends(9, NULL, 5, 1);
    ends(1, NULL, 10, 0.5);
    assert_string_equal(text_of_page(), "Slowest compilations\n"
                                        "  in all  3, 5.25 s of CPU\n"
                                        "  WALL     CPU  PROGRAM  FILE\n"
                                        "   5 s     1 s  lto1     ./prog.wpa\n"
                                        "   3 s   2.5 s  cc1      src/a.c\n"
                                        "   2 s  1.75 s  clang    my b.c\n");
}

static void two_are_no_build_with_what_links_them(void **state)
{
    (void)state;
    ends(1, "cc1 a.c", 1, 1);
    ends(2, "cc1 b.c", 1, 1);
    ends(3, "/usr/bin/ld -o prog a.o b.o", 1, 1);
    assert_string_equal(text_of_page(), "");
}

static void the_ten_slowest_are_kept(void **state)
{
    (void)state;
    char command[32];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(command, sizeof(command), "rustc src/%d.rs", (i * 37) % 100);
        ends(i + 1, command, (i * 37) % 100 + 1, 0.5);
    }
    const char *text = text_of_page();
    assert_non_null(strstr(text, "in all  100, 50 s of CPU"));
    assert_non_null(strstr(text, "src/99.rs\n"));
    assert_non_null(strstr(text, "src/90.rs\n"));
    assert_null(strstr(text, "src/89.rs"));
    assert_true(strstr(text, "src/99.rs") < strstr(text, "src/98.rs"));
}

/* Without kernel events a process may be seen with the command of the compiler that forked it. */
static void a_fork_that_was_seen_too_early_is_none(void **state)
{
    (void)state;
    static struct usage_value values[] = {
        {.key = CMD, .kind = FIELD_TEXT, .subject = "2", .text = "gcc -c a.c"},
        {.key = CMD, .kind = FIELD_TEXT, .subject = "4", .text = "cc1 a.c"},
        {.key = CPU, .kind = FIELD_NUMBER, .subject = "4", .number = 50},
    };
    const struct usage_record record = {.elapsed = 2, .values = values, .count = COUNT(values)};

    evidence.processes = report_processes_new(&recording);
    report_processes_add(evidence.processes, &record, 2);
    begins(2, 1, NULL);
    begins(3, 2, NULL);
    begins(4, 2, NULL);
    ends(3, "gcc -c a.c", 1, -1);
    ends(4, "cc1 a.c", 3, -1);
    ends(2, "gcc -c a.c", 4, -1);
    ends(5, "cc1 b.c", 1, -1); /* without a spawn its lifetime is unknown */
    begins(6, 1, NULL);
    begins(7, 1, NULL);
    ends(6, "cc1 c.c", 2, -1);
    ends(7, "cc1 d.c", 1, -1);
    assert_string_equal(text_of_page(), "Slowest compilations\n"
                                        "  in all  3\n"
                                        "  WALL  CPU, ABOUT  PROGRAM  FILE\n"
                                        "   3 s         1 s  cc1      a.c\n"
                                        "   2 s           -  cc1      c.c\n"
                                        "   1 s           -  cc1      d.c\n");
}

#define PAGE(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAGE(each_compilation_counts_once),
        PAGE(two_are_no_build_with_what_links_them),
        PAGE(the_ten_slowest_are_kept),
        PAGE(a_fork_that_was_seen_too_early_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
