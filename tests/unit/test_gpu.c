/*
 * GPUs, from a library that says it is NVIDIA's (tests/preload/fake_nvml.c): dlopen finds one that is loaded
 * already by its own name.
 */
#include "probe/gpu/gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/collector.h"
#include "probe/gpu/readings.h"
#include "process_state.h"

#define GIB 1073741824.0

static char script[] = "/tmp/metron_test_gpu.XXXXXX";
static void *library;
static struct gpu_source *source;
static struct gpu_list list;
static struct metron_error error;

/* What the library says from now on. */
static void says(const char *lines)
{
    FILE *file = fopen(script, "we");

    assert_non_null(file);
    assert_true(fputs(lines, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#define BEGIN "nvmlInitWithFlags 0\nnvmlInit_v2 0\n"
#define TWO                                                                                                  \
    BEGIN "nvmlDeviceGetCount_v2 0 2\n"                                                                      \
          "nvmlDeviceGetUtilizationRates/0 0 37 12\n"                                                        \
          "nvmlDeviceGetMemoryInfo_v2/0 0 3221225472 85899345920\n"                                          \
          "nvmlDeviceGetMemoryInfo/0 0 3850371072 85899345920\n"                                             \
          "nvmlDeviceGetTemperatureV/0 0 41\n"                                                               \
          "nvmlDeviceGetPowerUsage/0 0 61234\n"                                                              \
          "nvmlDeviceGetTotalEnergyConsumption/0 0 5000500\n"                                                \
          "nvmlDeviceGetMigMode/0 0 0 0\n"
#define SECOND                                                                                               \
    "nvmlDeviceGetUtilizationRates/1 0 100 99\n"                                                             \
    "nvmlDeviceGetMemoryInfo_v2/1 0 85899345920 85899345920\n"                                               \
    "nvmlDeviceGetTemperatureV/1 0 78\n"                                                                     \
    "nvmlDeviceGetPowerUsage/1 0 700000\n"                                                                   \
    "nvmlDeviceGetTotalEnergyConsumption/1 0 18446744073709551\n"

static void load(const char *path)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    assert_int_equal(gpu_source_open(&source, true, &error), 0);
    assert_string_equal(gpu_source_name(source), "libnvidia-ml.so.1");
}

static int unload(void **state)
{
    (void)state;
    gpu_source_close(source);
    source = NULL;
    if (library)
        (void)dlclose(library);
    library = NULL;
    return 0;
}

static unsigned number(const char *name)
{
    unsigned (*function)(void);
    void *address = dlsym(library, name);

    assert_non_null(address);
    memcpy(&function, &address, sizeof(address));
    return function();
}

static const struct gpu_device *read_device(size_t index)
{
    assert_int_equal(gpu_source_read(source, GPU_FIELDS_ALL, &list, &error), 0);
    assert_true(index < list.count);
    assert_int_equal(list.devices[index].index, index);
    return &list.devices[index];
}

static void every_field_of_two_devices_is_as_the_library_says(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says(TWO SECOND);
    const struct gpu_device *first = read_device(0), *second = read_device(1);
    for (int field = 0; field < GPU_FIELD_COUNT; field++)
        assert_true(first->has[field] && second->has[field]);
    assert_true(fabs(first->values[GPU_UTILIZATION] - 0.37) < 1e-9);
    assert_true(first->values[GPU_MEMORY_USED] == 3 * GIB); /* without what the driver reserves */
    assert_true(first->values[GPU_MEMORY_TOTAL] == 80 * GIB);
    assert_true(fabs(first->values[GPU_TEMPERATURE] - 41) < 1e-9);
    assert_true(fabs(first->values[GPU_POWER] - 61.234) < 1e-9);
    assert_true(fabs(first->values[GPU_ENERGY] - 5000.5) < 1e-9);
    assert_true(fabs(second->values[GPU_UTILIZATION] - 1) < 1e-9);
    assert_true(second->values[GPU_MEMORY_USED] == 80 * GIB);
    assert_int_equal(list.count, 2);
}

static void library_is_begun_once_and_ended_with_the_source(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says(TWO);
    assert_int_equal(number("fake_nvml_begun"), 0); /* opening wakes nobody */
    for (int i = 0; i < 3; i++)
        (void)read_device(0);
    assert_int_equal(number("fake_nvml_tried"), 1);
    gpu_source_close(source);
    source = NULL;
    assert_int_equal(number("fake_nvml_begun"), 0);
}

static void divided_gpu_has_no_utilization_whatever_the_driver_says(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says(BEGIN
         "nvmlDeviceGetCount_v2 0 1\nnvmlDeviceGetMigMode/0 0 1 1\nnvmlDeviceGetUtilizationRates/0 0 0\n"
         "nvmlDeviceGetMemoryInfo_v2/0 0 1 2\nnvmlDeviceGetTemperatureV/0 0 30\n");
    const struct gpu_device *device = read_device(0);
    assert_false(device->has[GPU_UTILIZATION]);
    assert_non_null(strstr(device->why_not[GPU_UTILIZATION], "MIG"));
    assert_true(device->has[GPU_MEMORY_USED] && device->has[GPU_TEMPERATURE]);
}

static void error_of_a_function_costs_its_field_alone(void **state)
{
    static const struct {
        const char *lines, *why;
        enum gpu_field field;
    } cases[] = {
        {"nvmlDeviceGetUtilizationRates/0 3\n" TWO, "Not Supported", GPU_UTILIZATION},
        {"nvmlDeviceGetUtilizationRates/0 0 255\n" TWO, "more than 100 %", GPU_UTILIZATION},
        {"nvmlDeviceGetMemoryInfo_v2/0 999\n" TWO, "Unknown Error", GPU_MEMORY_USED},
        {"nvmlDeviceGetMemoryInfo_v2/0 3\nnvmlDeviceGetMemoryInfo/0 15\n" TWO, "GPU is lost",
         GPU_MEMORY_USED},
        {"nvmlDeviceGetTemperatureV/0 15\nnvmlDeviceGetTemperature/0 0 99\n" TWO, "GPU is lost",
         GPU_TEMPERATURE},
        {"nvmlDeviceGetPowerUsage/0 3\n" TWO, "Not Supported", GPU_POWER},
        {"nvmlDeviceGetTotalEnergyConsumption/0 3\n" TWO, "Not Supported", GPU_ENERGY},
    };

    (void)state;
    load(METRON_FAKE_NVML);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        says(cases[i].lines);
        const struct gpu_device *device = read_device(0);
        for (int field = 0; field < GPU_FIELD_COUNT; field++)
            assert_int_equal(device->has[field],
                             field != (int)cases[i].field &&
                                 !(field == GPU_MEMORY_TOTAL && cases[i].field == GPU_MEMORY_USED));
        assert_non_null(strstr(device->why_not[cases[i].field], cases[i].why));
    }
}

static void call_that_is_not_known_is_replaced_by_the_one_before(void **state)
{
    static const int unknown[] = {3, 13, 25};
    char lines[1024];

    (void)state;
    load(METRON_FAKE_NVML);
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        (void)snprintf(lines, sizeof(lines),
                       "nvmlDeviceGetMemoryInfo_v2/0 %d\nnvmlDeviceGetTemperatureV/0 %d\n"
                       "nvmlDeviceGetTemperature/0 0 55\n" TWO,
                       unknown[i], unknown[i]);
        says(lines);
        const struct gpu_device *device = read_device(0);
        assert_true(device->values[GPU_MEMORY_USED] == 3850371072.0);
        assert_true(fabs(device->values[GPU_TEMPERATURE] - 55) < 1e-9);
    }
}

static void library_of_an_old_driver_gives_what_it_has(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML_OLD);
    says(TWO "nvmlDeviceGetTemperature/0 0 55\n");
    const struct gpu_device *device = read_device(0);
    for (int field = 0; field < GPU_ENERGY; field++)
        assert_true(device->has[field]);
    assert_string_equal(device->why_not[GPU_ENERGY], "too old a driver");
    assert_true(device->values[GPU_MEMORY_USED] == 3850371072.0);
    assert_true(fabs(device->values[GPU_TEMPERATURE] - 55) < 1e-9);
}

static void only_what_is_wanted_is_read(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says(TWO);
    assert_int_equal(gpu_source_read(source, GPU_FIELD_BIT(GPU_POWER), &list, &error), 0);
    for (int field = 0; field < GPU_FIELD_COUNT; field++) {
        assert_int_equal(list.devices[0].has[field], field == GPU_POWER);
        assert_string_equal(list.devices[0].why_not[field], "");
    }
    assert_null(gpu_device_lost(&list.devices[0]));
    assert_non_null(gpu_device_lost(&list.devices[1]));
}

static void lost_gpu_keeps_its_index_and_the_others_their_values(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says("nvmlDeviceGetHandleByIndex_v2/0 15\n" TWO SECOND);
    const struct gpu_device *lost = read_device(0);
    for (int field = 0; field < GPU_FIELD_COUNT; field++) {
        assert_false(lost->has[field]);
        assert_string_equal(lost->why_not[field], "GPU is lost");
    }
    assert_true(read_device(1)->has[GPU_UTILIZATION]);
    assert_int_equal(list.count, 2);
}

static void no_device_is_an_empty_list(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says(BEGIN "nvmlDeviceGetCount_v2 0 0\n");
    assert_int_equal(gpu_source_read(source, GPU_FIELDS_ALL, &list, &error), 0);
    assert_int_equal(list.count, 0);
}

static void driver_that_is_not_loaded_is_not_asked_at_every_reading(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says("nvmlInitWithFlags 9\n");
    for (int i = 0; i < 3; i++) {
        error = (struct metron_error){0};
        assert_int_equal(gpu_source_read(source, GPU_FIELDS_ALL, &list, &error), -EIO);
        assert_non_null(strstr(error.message, "Driver Not Loaded"));
        assert_int_equal(list.count, 0);
    }
    assert_int_equal(number("fake_nvml_tried"), 1);
}

static void driver_that_fails_is_ended_and_not_begun_again_at_once(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says(TWO);
    (void)read_device(0);
    says("nvmlDeviceGetCount_v2 999\n" BEGIN);
    assert_int_equal(gpu_source_read(source, GPU_FIELDS_ALL, &list, &error), -EIO);
    assert_int_equal(number("fake_nvml_begun"), 0);
    says("nvmlInitWithFlags 9\n");
    assert_int_equal(gpu_source_read(source, GPU_FIELDS_ALL, &list, &error), -EIO);
    assert_int_equal(number("fake_nvml_tried"), 1); /* not sooner than half a minute after the last begin */
}

/* ---- in a thread ---- */

static struct gpu_readings *readings_of(const char *lines)
{
    struct gpu_readings *readings = NULL;

    library = dlopen(METRON_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    says(lines);
    assert_int_equal(gpu_readings_new(&readings, true, GPU_FIELDS_ALL, &error), 0);
    return readings;
}

static const struct gpu_list *take(struct gpu_readings *readings, double seconds)
{
    uint64_t begin_ns;

    return gpu_readings_take(readings, seconds, &begin_ns, &error);
}

static void reading_grows_old_while_the_driver_blocks_and_nobody_waits(void **state)
{
    struct gpu_readings *readings = readings_of(TWO);

    (void)state;
    assert_null(take(readings, 10));
    assert_int_equal(error.code, -EAGAIN);
    gpu_readings_wait(readings, 60);
    assert_non_null(take(readings, 60));
    const unsigned before = thread_count();
    says("sleep nvmlDeviceGetUtilizationRates/0 600\n" TWO);
    gpu_readings_ask(readings);
    while (take(readings, 0.5) || error.code == -EAGAIN) /* too old, and the question is younger */
        (void)usleep(2000);
    assert_int_equal(error.code, -ETIME);
    gpu_readings_wait(readings, 0.01); /* and it is not waited for any longer */
    assert_false(gpu_readings_left_behind());
    gpu_readings_free(readings);
    assert_true(gpu_readings_left_behind());
    says(TWO); /* the driver answers: its thread ends, and frees what is its own */
    while (thread_count() >= before)
        (void)usleep(1000);
}

/* As after a stop of metron: the reading is old, but the driver has just been asked. */
static void driver_that_nobody_asked_is_not_blamed(void **state)
{
    struct gpu_readings *readings = readings_of(TWO);

    (void)state;
    gpu_readings_wait(readings, 60);
    assert_non_null(take(readings, 60));
    const unsigned before = thread_count();
    (void)usleep(2100000); /* more than twice the interval of a second */
    says("sleep nvmlDeviceGetUtilizationRates/0 600\n" TWO);
    gpu_readings_ask(readings);
    assert_null(take(readings, 1));
    assert_int_equal(error.code, -EAGAIN);
    says(TWO);
    gpu_readings_free(readings);
    while (thread_count() >= before)
        (void)usleep(1000);
}

/* ---- the collector ---- */

extern const struct collector collector_gpu;

static const struct collect_tuning daemon_tuning = {.sample_interval = 30, .is_daemon = true};
static struct collect_context context = {.tuning = &daemon_tuning, .selected = GPU_FIELDS_ALL};

/* What it was asked for comes with a later pass. */
static int pass_of(void *state, struct pass *pass, enum pass_kind kind)
{
    int code;

    do {
        pass_begin(pass, kind, 1);
        code = collector_gpu.collect(state, &context, pass);
    } while (code == COLLECT_NOT_DUE && usleep(1000) == 0);
    return code;
}

static void pass_has_a_row_for_each_device_with_what_could_be_read(void **state)
{
    void *gpu = NULL;
    struct pass pass;

    (void)state;
    load(METRON_FAKE_NVML);
    says("nvmlDeviceGetHandleByIndex_v2/1 15\n" TWO SECOND);
    assert_int_equal(collector_gpu.open(&context, COST_GPU, &gpu), 0);
    assert_int_equal(pass_init(&pass, GPU_FIELD_COUNT), 0);
    const unsigned before = thread_count();
    pass_begin(&pass, PASS_SEED, 1);
    assert_int_equal(collector_gpu.collect(gpu, &context, &pass), COLLECT_NOT_DUE);
    assert_int_equal(thread_count(), before); /* it begins with the first sample */
    collector_gpu.ask(gpu, &context);
    assert_int_equal(pass_of(gpu, &pass, PASS_SAMPLE), 0);
    assert_int_equal(pass.count, 2);
    const struct row *first = &pass.rows[0], *lost = &pass.rows[1];
    assert_int_equal(first->present, GPU_FIELDS_ALL);
    assert_true(fabs(first->values[GPU_ENERGY].number - 5000.5) < 1e-9);
    assert_true(first->stamp_ns > 1); /* when it was read, not when it was taken */
    assert_int_equal(lost->present, 0);
    assert_int_equal(lost->subject.id, 1);
    assert_true(lost->subject.serial > INT64_MAX); /* no process has such a one */

    says(BEGIN "nvmlDeviceGetCount_v2 0 0\n");
    assert_int_equal(pass_of(gpu, &pass, PASS_FINAL), 0); /* the last one is of now */
    assert_int_equal(pass.count, 0);
    says("nvmlDeviceGetCount_v2 999\n");
    assert_int_equal(pass_of(gpu, &pass, PASS_FINAL), -EIO);
    collector_gpu.close(gpu);
    pass_fini(&pass);
}

static void survey_says_why_there_are_none(void **state)
{
    const struct collect_tuning off = {.gpu_off = true}, run = {.smaps = true};
    const char *reasons[GPU_FIELD_COUNT] = {0};

    (void)state;
    load(METRON_FAKE_NVML);
    context.tuning = &off;
    collector_gpu.survey(&context, reasons);
    assert_non_null(strstr(reasons[GPU_ENERGY], "gpu-enabled"));
    memset(reasons, 0, sizeof(reasons));
    context.tuning = &run;
    assert_int_equal(setenv("METRON_TEST_GPU_DEVICE", script, 1), 0);
    collector_gpu.survey(&context, reasons);
    assert_null(reasons[GPU_ENERGY]);
    context.tuning = &daemon_tuning;
}

/* ---- without the library ---- */

static void run_wants_the_device_file_of_the_driver(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    gpu_source_close(source);
    source = NULL;
    assert_int_equal(setenv("METRON_TEST_GPU_DEVICE", "/nonexistent", 1), 0);
    if (access("/dev/dxg", F_OK) != 0) {
        assert_int_equal(gpu_source_open(&source, false, &error), -ENODEV);
        assert_non_null(strstr(error.message, "/dev/nvidiactl"));
    }
    assert_int_equal(setenv("METRON_TEST_GPU_DEVICE", script, 1), 0);
    assert_int_equal(gpu_source_open(&source, false, &error), 0);
}

static void without_a_library_the_program_is_run(void **state)
{
    char folder[] = "/tmp/metron_test_smi.XXXXXX", path[64];
    const char *before = getenv("PATH");
    char *old = before ? strdup(before) : NULL;
    void *real = dlopen("libnvidia-ml.so.1", RTLD_NOW);

    (void)state;
    if (real) {
        (void)dlclose(real);
        free(old);
        skip(); /* this machine has it */
    }
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/nvidia-smi", folder);
    assert_int_equal(setenv("PATH", folder, 1), 0);
    assert_int_equal(gpu_source_open(&source, true, &error), -ENOENT);
    assert_non_null(strstr(error.message, "libnvidia-ml.so.1"));
    assert_non_null(strstr(error.message, "no nvidia-smi"));
    assert_int_equal(setenv("METRON_TEST_GPU_DEVICE", script, 1), 0);
    assert_int_equal(gpu_source_open(&source, false, &error), -ENOENT); /* a run does not look for it */
    assert_null(strstr(error.message, "nvidia-smi"));
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    /* It prints what it was asked for last. */
    (void)fputs(
        "#!/bin/sh\n[ \"$2\" = --format=csv,noheader,nounits ] || exit 2\n"
        "[ \"$1\" = --query-gpu=index,utilization.gpu,memory.used,memory.total,temperature.gpu ] || exit 2\n"
        "echo '0, 37, 3072, 81920, 41'\necho '1, [N/A], 87, 40960, [Not Supported]'\n",
        file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(gpu_source_open(&source, true, &error), 0);
    assert_string_equal(gpu_source_name(source), path);
    const struct gpu_device *first = read_device(0), *second = read_device(1);
    assert_true(fabs(first->values[GPU_UTILIZATION] - 0.37) < 1e-9);
    assert_true(first->values[GPU_MEMORY_USED] == 3 * GIB);
    assert_string_equal(second->why_not[GPU_UTILIZATION], "nvidia-smi says [N/A]");
    assert_false(second->has[GPU_TEMPERATURE]);
    assert_true(second->has[GPU_MEMORY_USED]);
    (void)unlink(path);
    (void)rmdir(folder);
    assert_int_equal(setenv("PATH", old ? old : "", 1), 0);
    free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_field_of_two_devices_is_as_the_library_says, unload),
        cmocka_unit_test_teardown(library_is_begun_once_and_ended_with_the_source, unload),
        cmocka_unit_test_teardown(divided_gpu_has_no_utilization_whatever_the_driver_says, unload),
        cmocka_unit_test_teardown(error_of_a_function_costs_its_field_alone, unload),
        cmocka_unit_test_teardown(call_that_is_not_known_is_replaced_by_the_one_before, unload),
        cmocka_unit_test_teardown(library_of_an_old_driver_gives_what_it_has, unload),
        cmocka_unit_test_teardown(only_what_is_wanted_is_read, unload),
        cmocka_unit_test_teardown(lost_gpu_keeps_its_index_and_the_others_their_values, unload),
        cmocka_unit_test_teardown(no_device_is_an_empty_list, unload),
        cmocka_unit_test_teardown(driver_that_is_not_loaded_is_not_asked_at_every_reading, unload),
        cmocka_unit_test_teardown(driver_that_fails_is_ended_and_not_begun_again_at_once, unload),
        cmocka_unit_test_teardown(reading_grows_old_while_the_driver_blocks_and_nobody_waits, unload),
        cmocka_unit_test_teardown(driver_that_nobody_asked_is_not_blamed, unload),
        cmocka_unit_test_teardown(pass_has_a_row_for_each_device_with_what_could_be_read, unload),
        cmocka_unit_test_teardown(survey_says_why_there_are_none, unload),
        cmocka_unit_test_teardown(run_wants_the_device_file_of_the_driver, unload),
        cmocka_unit_test_teardown(without_a_library_the_program_is_run, unload),
    };
    int fd = mkstemp(script);

    if (fd < 0 || close(fd) != 0 || setenv("FAKE_NVML", script, 1) != 0)
        return 1;
    int failed = cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
    (void)unlink(script);
    return failed;
}
