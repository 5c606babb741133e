/* psi on a recorded machine, on ones that tell less, and on this one. */
#include "collect/collectors.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "probe/breakage.h"

extern const struct collector collector_psi;

static struct pass pass;
static struct collect_context context;
static char root[64];

static int setup(void **state)
{
    char path[128];

    (void)state;
    (void)snprintf(root, sizeof(root), "/tmp/metron-psi-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/pressure", root);
    context = (struct collect_context){.proc_root = root};
    return mkdir(path, 0700) < 0 || pass_init(&pass, collector_psi.source.field_count) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"pressure/cpu", "pressure/memory", "pressure/io", "pressure", ""};

    (void)state;
    pass_fini(&pass);
    breakage_set(NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        (void)remove(path);
    }
    return 0;
}

static void put(const char *name, const char *bytes)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/pressure/%s", root, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, bytes, strlen(bytes)), 0);
    assert_int_equal(close(fd), 0);
}

static const struct measurement *measurement_of(const char *key)
{
    for (size_t i = 0; i < collector_psi.source.measurement_count; i++)
        if (strcmp(collector_psi.source.measurements[i].key, key) == 0)
            return &collector_psi.source.measurements[i];
    fail_msg("no key %s", key);
    return NULL;
}

static bool has(const char *key)
{
    return row_has(&pass.single, measurement_of(key)->field);
}

static bool is(const char *key, double seconds)
{
    return has(key) && fabs(pass.single.values[measurement_of(key)->field].number - seconds) < 1e-9;
}

static void *opened(void)
{
    void *state = NULL;

    assert_int_equal(collector_psi.open(&context, COST_PRESSURE, &state), 0);
    return state;
}

static void look(void *state)
{
    pass_begin(&pass, PASS_SAMPLE, 1);
    assert_int_equal(collector_psi.collect(state, &context, &pass), 0);
}

static void a_recorded_machine_tells_all(void **unused)
{
    (void)unused;
    const char *reasons[64] = {NULL};

    context.proc_root = METRON_FIXTURES "/linux-6.18/proc";
    collector_psi.survey(&context, reasons);
    for (unsigned i = 0; i < collector_psi.source.field_count; i++)
        assert_null(reasons[i]);
    void *state = opened();
    look(state);
    collector_psi.close(state);
    assert_true(is("psi_cpu_some_pct", 2918.930291));
    assert_true(is("psi_memory_some_pct", 0.001688));
    assert_true(is("psi_memory_full_pct", 0.001411));
    assert_true(is("psi_io_some_pct", 34.097262));
    assert_true(is("psi_io_full_pct", 22.961761));
    for (size_t i = 0; i < collector_psi.source.measurement_count; i++)
        assert_int_equal(collector_psi.source.measurements[i].ceiling, CEILING_ONE);
}

static void the_files_stay_open(void **unused)
{
    (void)unused;
    put("cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n");
    put("memory", "some avg10=0.00 total=1\nfull avg10=0.00 total=1\n");
    put("io", "some avg10=0.00 total=1\nfull avg10=0.00 total=1\n");
    void *state = opened();
    look(state);
    assert_true(is("psi_cpu_some_pct", 1));
    put("cpu",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=3500000\n"); /* the same file, as the kernel's is */
    look(state);
    assert_true(is("psi_cpu_some_pct", 3.5));
    collector_psi.close(state);
}

static void what_is_not_told_is_absent_and_says_why(void **unused)
{
    (void)unused;
    const char *reasons[64] = {NULL};

    put("memory", "some avg10=0.00 total=5000000\n"); /* no full, no cpu, and nonsense in io */
    put("io", "what avg10=0.00 total=5000000\n");
    collector_psi.survey(&context, reasons);
    assert_null(reasons[measurement_of("psi_memory_some_pct")->field]);
    assert_non_null(reasons[measurement_of("psi_memory_full_pct")->field]);
    assert_non_null(strstr(reasons[measurement_of("psi_cpu_some_pct")->field], "4.20"));
    assert_non_null(strstr(reasons[measurement_of("psi_io_some_pct")->field], "cannot be read"));
    void *state = opened();
    look(state);
    collector_psi.close(state);
    assert_true(is("psi_memory_some_pct", 5));
    assert_false(has("psi_memory_full_pct") || has("psi_cpu_some_pct") || has("psi_io_some_pct") ||
                 has("psi_io_full_pct"));
}

static void a_kernel_without_it_says_so(void **unused)
{
    (void)unused;
    const char *reasons[64] = {NULL};

    context.proc_root = METRON_FIXTURES "/linux-4.18/proc";
    collector_psi.survey(&context, reasons);
    for (unsigned i = 0; i < collector_psi.source.field_count; i++)
        assert_non_null(strstr(reasons[i], "4.20"));
}

static void a_reader_broken_on_purpose_is_broken(void **unused)
{
    (void)unused;
    const char *reasons[64] = {NULL};

    context.proc_root = METRON_FIXTURES "/linux-6.18/proc";
    breakage_set("pressure");
    collector_psi.survey(&context, reasons);
    for (unsigned i = 0; i < collector_psi.source.field_count; i++)
        assert_non_null(reasons[i]);
    void *state = opened();
    look(state);
    collector_psi.close(state);
    assert_true(pass.single.present == 0);
}

static void this_machine_never_stalls_longer_than_time_goes(void **unused)
{
    (void)unused;
    const char *reasons[64] = {NULL};
    unsigned field = measurement_of("psi_cpu_some_pct")->field;

    context.proc_root = "/proc";
    collector_psi.survey(&context, reasons);
    if (reasons[field]) {
        print_message("%s\n", reasons[field]);
        skip();
    }
    void *state = opened();
    uint64_t begin_ns = clock_monotonic_ns();
    look(state);
    double first = pass.single.values[field].number;
    (void)usleep(100000);
    look(state);
    double stalled = pass.single.values[field].number - first;
    double seconds = (double)(clock_monotonic_ns() - begin_ns) / (double)NS_PER_SECOND;
    collector_psi.close(state);
    assert_true(stalled >= 0 && stalled <= seconds + 0.01);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_recorded_machine_tells_all),
        TEST(the_files_stay_open),
        TEST(what_is_not_told_is_absent_and_says_why),
        TEST(a_kernel_without_it_says_so),
        TEST(a_reader_broken_on_purpose_is_broken),
        TEST(this_machine_never_stalls_longer_than_time_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
