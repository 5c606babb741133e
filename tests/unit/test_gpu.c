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

#include "loop/gpu_readings.h"
#include "process_state.h"

#define GIB (1ULL << 30)

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
          "nvmlDeviceGetMigMode/0 0 0 0\n"
#define SECOND                                                                                               \
    "nvmlDeviceGetUtilizationRates/1 0 100 99\n"                                                             \
    "nvmlDeviceGetMemoryInfo_v2/1 0 85899345920 85899345920\n"                                               \
    "nvmlDeviceGetTemperatureV/1 0 78\n"

static void load(const char *path)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    assert_int_equal(gpu_source_open(&source, &error), 0);
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
    assert_int_equal(gpu_source_read(source, &list, &error), 0);
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
    assert_true(fabs(first->utilization - 0.37) < 1e-9);
    assert_int_equal(first->memory_used_bytes, 3 * GIB); /* without what the driver reserves */
    assert_int_equal(first->memory_total_bytes, 80 * GIB);
    assert_true(fabs(first->temperature_celsius - 41) < 1e-9);
    assert_true(fabs(second->utilization - 1) < 1e-9);
    assert_int_equal(second->memory_used_bytes, 80 * GIB);
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
    assert_true(device->has[GPU_MEMORY] && device->has[GPU_TEMPERATURE]);
}

static void error_of_a_function_costs_its_field_alone(void **state)
{
    static const struct {
        const char *lines, *why;
        enum gpu_field field;
    } cases[] = {
        {"nvmlDeviceGetUtilizationRates/0 3\n" TWO, "Not Supported", GPU_UTILIZATION},
        {"nvmlDeviceGetUtilizationRates/0 0 255\n" TWO, "more than 100 %", GPU_UTILIZATION},
        {"nvmlDeviceGetMemoryInfo_v2/0 999\n" TWO, "Unknown Error", GPU_MEMORY},
        {"nvmlDeviceGetMemoryInfo_v2/0 3\nnvmlDeviceGetMemoryInfo/0 15\n" TWO, "GPU is lost", GPU_MEMORY},
        {"nvmlDeviceGetTemperatureV/0 15\nnvmlDeviceGetTemperature/0 0 99\n" TWO, "GPU is lost",
         GPU_TEMPERATURE},
    };

    (void)state;
    load(METRON_FAKE_NVML);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        says(cases[i].lines);
        const struct gpu_device *device = read_device(0);
        for (int field = 0; field < GPU_FIELD_COUNT; field++)
            assert_int_equal(device->has[field], field != (int)cases[i].field);
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
        assert_int_equal(device->memory_used_bytes, 3850371072ULL);
        assert_true(fabs(device->temperature_celsius - 55) < 1e-9);
    }
}

static void library_of_an_old_driver_gives_what_it_has(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML_OLD);
    says(TWO "nvmlDeviceGetTemperature/0 0 55\n");
    const struct gpu_device *device = read_device(0);
    for (int field = 0; field < GPU_FIELD_COUNT; field++)
        assert_true(device->has[field]);
    assert_int_equal(device->memory_used_bytes, 3850371072ULL);
    assert_true(fabs(device->temperature_celsius - 55) < 1e-9);
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
    assert_int_equal(gpu_source_read(source, &list, &error), 0);
    assert_int_equal(list.count, 0);
}

static void driver_that_is_not_loaded_is_not_asked_at_every_reading(void **state)
{
    (void)state;
    load(METRON_FAKE_NVML);
    says("nvmlInitWithFlags 9\n");
    for (int i = 0; i < 3; i++) {
        error = (struct metron_error){0};
        assert_int_equal(gpu_source_read(source, &list, &error), -EIO);
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
    assert_int_equal(gpu_source_read(source, &list, &error), -EIO);
    assert_int_equal(number("fake_nvml_begun"), 0);
    says("nvmlInitWithFlags 9\n");
    assert_int_equal(gpu_source_read(source, &list, &error), -EIO);
    assert_int_equal(number("fake_nvml_tried"), 1); /* not sooner than half a minute after the last begin */
}

/* ---- in a thread ---- */

static struct gpu_readings *readings_of(const char *lines)
{
    struct gpu_readings *readings = NULL;

    library = dlopen(METRON_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    says(lines);
    assert_int_equal(gpu_readings_new(&readings, &error), 0);
    return readings;
}

static void take_first(struct gpu_readings *readings)
{
    gpu_readings_ask(readings);
    while (!gpu_readings_take(readings, 10, &error)) {
        assert_int_equal(error.code, -EAGAIN);
        (void)usleep(1000);
    }
}

static void snapshot_has_what_was_read_and_nothing_before(void **state)
{
    struct gpu_readings *readings = readings_of(TWO);
    struct snapshot_pool *pool = snapshot_pool_new();
    struct snapshot *snapshot = snapshot_new(pool);

    (void)state;
    gpu_readings_fill(readings, 10, snapshot);
    assert_null(snapshot->gpus);
    take_first(readings);
    gpu_readings_fill(readings, 10, snapshot);
    assert_non_null(snapshot->gpus);
    assert_int_equal(snapshot->gpu_count, 2);
    assert_true(snapshot->gpus[0].has_utilization && snapshot->gpus[0].has_memory);
    assert_true(fabs(snapshot->gpus[0].utilization - 0.37) < 1e-9);
    assert_int_equal(snapshot->gpus[0].memory_used_bytes, 3 * GIB);
    assert_true(fabs(snapshot->gpus[0].temperature_celsius - 41) < 1e-9);
    assert_int_equal(snapshot->gpus[1].index, 1);
    assert_false(snapshot->gpus[1].has_utilization || snapshot->gpus[1].has_memory);
    snapshot_release(snapshot);
    snapshot_pool_free(pool);
    assert_int_equal(gpu_readings_free(readings), 0);
    assert_int_equal(number("fake_nvml_begun"), 0);
}

static void machine_without_gpus_has_an_empty_list_and_a_failure_none(void **state)
{
    struct gpu_readings *readings = readings_of(BEGIN "nvmlDeviceGetCount_v2 0 0\n");
    struct snapshot_pool *pool = snapshot_pool_new();
    struct snapshot *snapshot = snapshot_new(pool);

    (void)state;
    take_first(readings);
    gpu_readings_fill(readings, 10, snapshot);
    assert_non_null(snapshot->gpus);
    assert_int_equal(snapshot->gpu_count, 0);
    snapshot_release(snapshot);
    says("nvmlDeviceGetCount_v2 999\n");
    gpu_readings_ask(readings);
    while (gpu_readings_take(readings, 10, &error))
        (void)usleep(1000);
    snapshot = snapshot_new(pool);
    gpu_readings_fill(readings, 10, snapshot);
    assert_null(snapshot->gpus);
    snapshot_release(snapshot);
    snapshot_pool_free(pool);
    assert_int_equal(gpu_readings_free(readings), 0);
}

static void reading_grows_old_while_the_driver_blocks_and_nobody_waits(void **state)
{
    struct gpu_readings *readings = readings_of(TWO);

    (void)state;
    take_first(readings);
    const unsigned before = thread_count();
    says("sleep nvmlDeviceGetUtilizationRates/0 600\n" TWO);
    gpu_readings_ask(readings);
    while (gpu_readings_take(readings, 0.5, &error))
        (void)usleep(2000);
    assert_int_equal(error.code, -ETIME);
    assert_int_equal(gpu_readings_free(readings), -ETIMEDOUT);
    says(TWO); /* the driver answers: its thread ends, and frees what is its own */
    while (thread_count() >= before)
        (void)usleep(1000);
}

/* ---- without the library ---- */

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
    assert_int_equal(gpu_source_open(&source, &error), -ENOENT);
    assert_non_null(strstr(error.message, "libnvidia-ml.so.1"));
    assert_non_null(strstr(error.message, "no nvidia-smi"));
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
    assert_int_equal(gpu_source_open(&source, &error), 0);
    assert_string_equal(gpu_source_name(source), path);
    const struct gpu_device *first = read_device(0), *second = read_device(1);
    assert_true(fabs(first->utilization - 0.37) < 1e-9);
    assert_int_equal(first->memory_used_bytes, 3 * GIB);
    assert_string_equal(second->why_not[GPU_UTILIZATION], "nvidia-smi says [N/A]");
    assert_false(second->has[GPU_TEMPERATURE]);
    assert_true(second->has[GPU_MEMORY]);
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
        cmocka_unit_test_teardown(lost_gpu_keeps_its_index_and_the_others_their_values, unload),
        cmocka_unit_test_teardown(no_device_is_an_empty_list, unload),
        cmocka_unit_test_teardown(driver_that_is_not_loaded_is_not_asked_at_every_reading, unload),
        cmocka_unit_test_teardown(driver_that_fails_is_ended_and_not_begun_again_at_once, unload),
        cmocka_unit_test_teardown(snapshot_has_what_was_read_and_nothing_before, unload),
        cmocka_unit_test_teardown(machine_without_gpus_has_an_empty_list_and_a_failure_none, unload),
        cmocka_unit_test_teardown(reading_grows_old_while_the_driver_blocks_and_nobody_waits, unload),
        cmocka_unit_test_teardown(without_a_library_the_program_is_run, unload),
    };
    int fd = mkstemp(script);

    if (fd < 0 || close(fd) != 0 || setenv("FAKE_NVML", script, 1) != 0)
        return 1;
    int failed = cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
    (void)unlink(script);
    return failed;
}
