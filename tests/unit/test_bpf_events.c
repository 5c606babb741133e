/* Records of our kernel-side programs: each kind as the kernel writes it, and bytes it never would. */
#include "probe/bpf/events.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "bpf/wire.h"

static struct wire_event beginning(uint32_t what)
{
    return (struct wire_event){
        .what = what, .pid = 4242, .id = 77, .stamp_ns = 5000000001, .start_ns = 6000000002};
}

static void beginning_is_told(const struct lifecycle_event *event)
{
    assert_int_equal(event->pid, 4242);
    assert_int_equal(event->id, 77);
    assert_int_equal(event->stamp_ns, 5000000001);
    assert_int_equal(event->start_ns, 6000000002);
}

static void fork_names_the_parent(void **state)
{
    (void)state;
    const struct wire_fork fork = {.event = beginning(WIRE_FORK), .parent = 4000};
    struct lifecycle_event event;

    assert_int_equal(bpf_event_parse(&fork, sizeof(fork), &event), 0);
    assert_int_equal(event.what, LIFECYCLE_FORK);
    beginning_is_told(&event);
    assert_int_equal(event.fork.parent, 4000);
}

static void exec_has_every_argument(void **state)
{
    (void)state;
    static const char arguments[] = "sh\0-c\0\0exit 7";
    const size_t length = offsetof(struct wire_exec, arguments) + sizeof(arguments);
    struct wire_exec exec = {.event = beginning(WIRE_EXEC), .comm = "sh", .length = sizeof(arguments)};
    struct lifecycle_event event;

    memcpy(exec.arguments, arguments, sizeof(arguments));
    assert_int_equal(bpf_event_parse(&exec, length, &event), 0);
    assert_int_equal(event.what, LIFECYCLE_EXEC);
    beginning_is_told(&event);
    assert_int_equal(event.exec.length, sizeof(arguments));
    assert_memory_equal(event.exec.arguments, arguments, sizeof(arguments));
}

static void exec_without_arguments_tells_none(void **state)
{
    (void)state;
    const struct wire_exec exec = {.event = beginning(WIRE_EXEC)};
    struct lifecycle_event event;

    assert_int_equal(bpf_event_parse(&exec, offsetof(struct wire_exec, arguments), &event), 0);
    assert_null(event.exec.arguments);
    assert_int_equal(event.exec.length, 0);
}

static void exit_tells_what_was_used(void **state)
{
    (void)state;
    const struct wire_exit exit = {
        .event = beginning(WIRE_EXIT),
        .born_ns = 100,
        .gone_ns = 111,
        .peak_bytes = 12,
        .wait_status = 7 << 8,
        .cpu_ns = 14,
        .minor_faults = 15,
        .major_faults = 16,
        .voluntary_switches = 17,
        .involuntary_switches = 18,
        .io = {.rchar = 19, .wchar = 20, .syscr = 21, .syscw = 22, .read_bytes = 23, .write_bytes = 24},
    };
    const struct pid_io io = {
        .rchar = 19, .wchar = 20, .syscr = 21, .syscw = 22, .read_bytes = 23, .write_bytes = 24};
    struct lifecycle_event event;

    assert_int_equal(bpf_event_parse(&exit, sizeof(exit), &event), 0);
    assert_int_equal(event.what, LIFECYCLE_EXIT);
    beginning_is_told(&event);
    assert_int_equal(WEXITSTATUS(event.exit.wait_status), 7);
    assert_int_equal(event.exit.lifetime_ns, 11);
    assert_int_equal(event.exit.peak_bytes, 12);
    assert_true(event.exit.has_use && event.exit.is_whole);
    assert_int_equal(event.exit.use.cpu_ns, 14);
    assert_int_equal(event.exit.use.minor_faults, 15);
    assert_int_equal(event.exit.use.major_faults, 16);
    assert_int_equal(event.exit.use.voluntary_switches, 17);
    assert_int_equal(event.exit.use.involuntary_switches, 18);
    assert_memory_equal(&event.exit.use.io, &io, sizeof(io));
}

static void exit_of_one_followed_late_is_not_whole(void **state)
{
    (void)state;
    const struct wire_exit exit = {.event = beginning(WIRE_EXIT), .seeded = 1};
    struct lifecycle_event event;

    assert_int_equal(bpf_event_parse(&exit, sizeof(exit), &event), 0);
    assert_true(event.exit.has_use);
    assert_false(event.exit.is_whole);
}

static void signal_names_its_sender(void **state)
{
    (void)state;
    struct wire_signal signal = {
        .event = beginning(WIRE_SIGNAL), .number = SIGTERM, .code = -6, .sender = 99, .deadly = 1};
    struct lifecycle_event event;

    memcpy(signal.sender_comm, "fifteen letters", 16);
    assert_int_equal(bpf_event_parse(&signal, sizeof(signal), &event), 0);
    assert_int_equal(event.what, LIFECYCLE_SIGNAL);
    beginning_is_told(&event);
    assert_int_equal(event.signal.number, SIGTERM);
    assert_int_equal(event.signal.code, -6);
    assert_int_equal(event.signal.sender, 99);
    assert_true(event.signal.deadly);
    assert_string_equal(event.signal.name, "fifteen letters");
}

static void name_without_end_is_refused(void **state)
{
    (void)state;
    struct wire_signal signal = {.event = beginning(WIRE_SIGNAL), .number = SIGTERM};
    struct lifecycle_event event;

    memset(signal.sender_comm, 'x', sizeof(signal.sender_comm));
    assert_int_equal(bpf_event_parse(&signal, sizeof(signal), &event), -EBADMSG);
}

static void oom_names_the_victim(void **state)
{
    (void)state;
    const struct wire_oom oom = {.event = beginning(WIRE_OOM)};
    struct lifecycle_event event;

    assert_int_equal(bpf_event_parse(&oom, sizeof(oom), &event), 0);
    assert_int_equal(event.what, LIFECYCLE_OOM);
    beginning_is_told(&event);
}

static void other_kinds_are_refused(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {0, WIRE_OOM + 1, 1000, UINT32_MAX};
    struct lifecycle_event event;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct wire_exit record = {.event = beginning(kinds[i])};

        assert_int_equal(bpf_event_parse(&record, sizeof(record), &event), -EBADMSG);
    }
}

/* Every prefix in a block of its own, so that a read past it is seen by AddressSanitizer. */
static void refused_up_to(const void *record, size_t whole)
{
    struct lifecycle_event event;

    for (size_t cut = 0; cut < whole; cut++) {
        char *prefix = malloc(cut > 0 ? cut : 1);

        assert_non_null(prefix);
        memcpy(prefix, record, cut);
        assert_int_equal(bpf_event_parse(prefix, cut, &event), -EBADMSG);
        free(prefix);
    }
}

static void cut_off_record_is_refused(void **state)
{
    (void)state;
    const struct wire_fork fork = {.event = beginning(WIRE_FORK)};
    const struct wire_exit exit = {.event = beginning(WIRE_EXIT)};
    const struct wire_signal signal = {.event = beginning(WIRE_SIGNAL)};
    const struct wire_oom oom = {.event = beginning(WIRE_OOM)};
    const struct wire_exec exec = {.event = beginning(WIRE_EXEC), .length = 10, .arguments = "/bin/true"};

    refused_up_to(&fork, sizeof(fork));
    refused_up_to(&exit, sizeof(exit));
    refused_up_to(&signal, sizeof(signal));
    refused_up_to(&oom, sizeof(oom));
    refused_up_to(&exec, offsetof(struct wire_exec, arguments) + 10);
}

static void wild_length_of_arguments_is_refused(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {11, WIRE_ARGUMENTS_MAX, UINT32_MAX - 64, UINT32_MAX};
    const size_t sent = offsetof(struct wire_exec, arguments) + 10;
    struct lifecycle_event event;

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const struct wire_exec exec = {.event = beginning(WIRE_EXEC), .length = lengths[i]};

        assert_int_equal(bpf_event_parse(&exec, sent, &event), -EBADMSG);
    }
}

/* The ring rounds up, so that a record may be followed by bytes that are none of its own. */
static void bytes_behind_the_arguments_are_not_theirs(void **state)
{
    (void)state;
    const struct wire_exec exec = {.event = beginning(WIRE_EXEC), .length = 5, .arguments = "true\0rubbish"};
    struct lifecycle_event event;

    assert_int_equal(bpf_event_parse(&exec, offsetof(struct wire_exec, arguments) + 13, &event), 0);
    assert_int_equal(event.exec.length, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_names_the_parent),
        cmocka_unit_test(exec_has_every_argument),
        cmocka_unit_test(exec_without_arguments_tells_none),
        cmocka_unit_test(exit_tells_what_was_used),
        cmocka_unit_test(exit_of_one_followed_late_is_not_whole),
        cmocka_unit_test(signal_names_its_sender),
        cmocka_unit_test(name_without_end_is_refused),
        cmocka_unit_test(oom_names_the_victim),
        cmocka_unit_test(other_kinds_are_refused),
        cmocka_unit_test(cut_off_record_is_refused),
        cmocka_unit_test(wild_length_of_arguments_is_refused),
        cmocka_unit_test(bytes_behind_the_arguments_are_not_theirs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
