/* What nvidia-smi prints: lines as real machines printed them, and everything else that comes along. */
#include "probe/gpu/nvidia_smi.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gpu_list list;
static struct metron_error error;

static int parse(const char *text)
{
    /* Of exactly its size: a byte too many is seen. */
    size_t length = strlen(text);
    char *exact = malloc(length ? length : 1);

    assert_non_null(exact);
    memcpy(exact, text, length);
    error = (struct metron_error){0};
    int code = nvidia_smi_parse(exact, length, &list, &error);
    free(exact);
    return code;
}

static void numbers_are_percent_mebibytes_and_degrees(void **state)
{
    (void)state;
    assert_int_equal(parse("0, 37, 12034, 143771, 41\n1, 100, 0, 143771, 0\n"), 0);
    assert_int_equal(list.count, 2);
    assert_true(fabs(list.devices[0].values[GPU_UTILIZATION] - 0.37) < 1e-9);
    assert_true(list.devices[0].values[GPU_MEMORY_USED] == 12034.0 * (1 << 20));
    assert_true(list.devices[0].values[GPU_MEMORY_TOTAL] == 143771.0 * (1 << 20));
    assert_true(fabs(list.devices[0].values[GPU_TEMPERATURE] - 41) < 1e-9);
    assert_int_equal(list.devices[1].index, 1);
    for (int field = 0; field <= GPU_TEMPERATURE; field++)
        assert_true(list.devices[1].has[field]);
}

static void what_is_no_number_is_absent_with_its_own_words(void **state)
{
    static const char *const words[] = {"[N/A]",           "N/A",           "[Not Supported]",
                                        "[Unknown Error]", "[GPU is lost]", "[Insufficient Permissions]"};
    char line[128];

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        (void)snprintf(line, sizeof(line), "2, %s, 87, 40960, 30\n", words[i]);
        assert_int_equal(parse(line), 0);
        assert_int_equal(list.devices[0].index, 2);
        assert_false(list.devices[0].has[GPU_UTILIZATION]);
        assert_non_null(strstr(list.devices[0].why_not[GPU_UTILIZATION], words[i]));
        assert_true(list.devices[0].has[GPU_MEMORY_USED] && list.devices[0].has[GPU_TEMPERATURE]);
    }
    /* Memory that is the machine's: a GB10. */
    assert_int_equal(parse("0, 0, [N/A], [N/A], 50\n"), 0);
    assert_false(list.devices[0].has[GPU_MEMORY_USED]);
    assert_true(list.devices[0].has[GPU_UTILIZATION]);
    assert_int_equal(parse("0, 0, 5, [N/A], 50\n"), 0);
    assert_false(list.devices[0].has[GPU_MEMORY_USED]);
}

static void implausible_numbers_are_absent(void **state)
{
    (void)state;
    assert_int_equal(parse("0, 101, 99999999999999999999, 5, 4294967295\n"), 0);
    for (int field = 0; field < GPU_FIELD_COUNT; field++)
        assert_false(list.devices[0].has[field]);
    assert_int_equal(parse("0, -1, 17592186044416, 5, -4\n"), 0);
    for (int field = 0; field < GPU_FIELD_COUNT; field++)
        assert_false(list.devices[0].has[field]);
}

static void a_device_that_fell_off_the_bus_does_not_hide_the_others(void **state)
{
    (void)state;
    assert_int_equal(parse("Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n"
                           "1, 5, 10, 20, 30\n"),
                     0);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.devices[0].index, 1);
}

static void no_devices_is_an_empty_list(void **state)
{
    (void)state;
    assert_int_equal(parse("No devices were found\n"), 0);
    assert_int_equal(list.count, 0);
}

static void failure_is_told_in_its_own_words(void **state)
{
    (void)state;
    assert_int_equal(
        parse("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
              "that the latest NVIDIA driver is installed and running.\n\n"),
        -EIO);
    assert_non_null(strstr(error.message, "couldn't communicate with the NVIDIA driver"));
    assert_int_equal(parse(""), -EIO);
    assert_non_null(strstr(error.message, "nothing"));
    assert_int_equal(parse("Field \"temperature.gpu\" is not a valid field to query.\n"), -EIO);
    assert_non_null(strstr(error.message, "not a valid field"));
}

static void lines_that_are_cut_off_or_too_long_are_no_devices(void **state)
{
    static const char *const lines[] = {"0, 37, 12034, 143771", "0, 37, 12034, 143771, 41, 7", ", , , ,",
                                        "x, 37, 12034, 143771, 41", "99999999999, 1, 2, 3, 4"};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(parse(lines[i]), -EIO);
    assert_int_equal(parse("0, 37, 12034, 143771, 41"), 0); /* without its newline it is whole */
    assert_int_equal(parse("0, 37, 12034, 143771, 41\r\n"), 0);
    assert_true(list.devices[0].has[GPU_TEMPERATURE]);
}

static void more_devices_than_there_is_room_for_are_left_out(void **state)
{
    char text[GPU_DEVICES_MAX * 48] = "";
    size_t length = 0;

    (void)state;
    for (int i = 0; i < GPU_DEVICES_MAX + 5; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%d, 1, 2, 3, 4\n", i);
    assert_int_equal(parse(text), 0);
    assert_int_equal(list.count, GPU_DEVICES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_percent_mebibytes_and_degrees),
        cmocka_unit_test(what_is_no_number_is_absent_with_its_own_words),
        cmocka_unit_test(implausible_numbers_are_absent),
        cmocka_unit_test(a_device_that_fell_off_the_bus_does_not_hide_the_others),
        cmocka_unit_test(no_devices_is_an_empty_list),
        cmocka_unit_test(failure_is_told_in_its_own_words),
        cmocka_unit_test(lines_that_are_cut_off_or_too_long_are_no_devices),
        cmocka_unit_test(more_devices_than_there_is_room_for_are_left_out),
    };

    return cmocka_run_group_tests_name("nvidia_smi", tests, NULL, NULL);
}
