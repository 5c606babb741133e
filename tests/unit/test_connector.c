/*
 * The process connector: datagrams as the kernel sends them, datagrams it never would, and the live thing as
 * root, as an ordinary user and inside namespaces. Where this machine refuses, the reason is checked instead.
 */
#include "probe/connector.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>

#include <cmocka.h>

#include "another_user.h"

#define SEQUENCE 4711U
#define HEADERS  (NLMSG_HDRLEN + sizeof(struct cn_msg))

struct datagram {
    char bytes[256];
    size_t length;
};

static struct datagram datagram_make(const struct proc_event *event, size_t event_length)
{
    struct datagram datagram = {.length = HEADERS + event_length};
    struct nlmsghdr netlink = {.nlmsg_len = (uint32_t)datagram.length, .nlmsg_type = NLMSG_DONE};
    struct cn_msg header = {
        .id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}, .seq = SEQUENCE, .len = (uint16_t)event_length};

    memcpy(datagram.bytes, &netlink, sizeof(netlink));
    memcpy(datagram.bytes + NLMSG_HDRLEN, &header, sizeof(header));
    memcpy(datagram.bytes + HEADERS, event, event_length);
    return datagram;
}

struct seen {
    struct connector_event events[16];
    int count;
};

static void remember(void *context, const struct connector_event *event)
{
    struct seen *seen = context;

    assert_true(seen->count < 16);
    seen->events[seen->count++] = *event;
}

static void fork_exec_and_exit_are_told_apart(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};
    struct proc_event event = {.what = PROC_EVENT_FORK, .timestamp_ns = 1234567890123ULL};
    struct datagram datagram;

    event.event_data.fork.parent_pid = 11;
    event.event_data.fork.parent_tgid = 10;
    event.event_data.fork.child_pid = 21;
    event.event_data.fork.child_tgid = 20;
    datagram = datagram_make(&event, sizeof(event));
    assert_int_equal(connector_parse(datagram.bytes, datagram.length, remember, &seen), 1);

    memset(&event.event_data, 0, sizeof(event.event_data));
    event.what = PROC_EVENT_EXEC;
    event.event_data.exec.process_pid = 21;
    event.event_data.exec.process_tgid = 20;
    datagram = datagram_make(&event, sizeof(event));
    assert_int_equal(connector_parse(datagram.bytes, datagram.length, remember, &seen), 1);

    event.what = PROC_EVENT_EXIT;
    event.event_data.exit.process_pid = 20;
    event.event_data.exit.process_tgid = 20;
    event.event_data.exit.exit_code = 9; /* killed, as waitpid gives it */
    event.event_data.exit.exit_signal = 17;
    datagram = datagram_make(&event, sizeof(event));
    assert_int_equal(connector_parse(datagram.bytes, datagram.length, remember, &seen), 1);

    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.events[0].what, CONNECTOR_FORK);
    assert_int_equal(seen.events[0].pid, 21);
    assert_int_equal(seen.events[0].tgid, 20);
    assert_int_equal(seen.events[0].parent_tgid, 10);
    assert_int_equal(seen.events[0].stamp_ns, 1234567890123ULL);
    assert_int_equal(seen.events[1].what, CONNECTOR_EXEC);
    assert_int_equal(seen.events[1].pid, 21);
    assert_int_equal(seen.events[2].what, CONNECTOR_EXIT);
    assert_int_equal(seen.events[2].tgid, 20);
    assert_true(WIFSIGNALED(seen.events[2].wait_status) && WTERMSIG(seen.events[2].wait_status) == 9);
}

static void exit_of_an_older_kernel_is_read(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};
    struct proc_event event = {.what = PROC_EVENT_EXIT};
    struct datagram datagram;

    event.event_data.exit.process_pid = event.event_data.exit.process_tgid = 20;
    event.event_data.exit.exit_code = 3 << 8;
    /* Before 4.18 the event ended after exit_signal. */
    datagram = datagram_make(&event, offsetof(struct proc_event, event_data) + 16);
    assert_int_equal(connector_parse(datagram.bytes, datagram.length, remember, &seen), 1);
    assert_int_equal(WEXITSTATUS(seen.events[0].wait_status), 3);
}

static void other_events_have_their_number_and_other_senders_are_passed_over(void **state)
{
    (void)state;
    static const unsigned kinds[] = {PROC_EVENT_NONE, PROC_EVENT_UID,      PROC_EVENT_SID, PROC_EVENT_COMM,
                                     PROC_EVENT_GID,  PROC_EVENT_COREDUMP, 0x00000400,     PROC_EVENT_PTRACE};
    struct seen seen = {.count = 0};
    struct proc_event event = {.cpu = 3, .timestamp_ns = 1};
    struct datagram datagram;
    uint32_t other = CN_IDX_PROC + 1;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        memcpy(&event.what, &kinds[i], sizeof(event.what));
        datagram = datagram_make(&event, sizeof(event));
        assert_int_equal(connector_parse(datagram.bytes, datagram.length, remember, &seen), 1);
        assert_int_equal(seen.events[i].what, CONNECTOR_OTHER);
        assert_int_equal(seen.events[i].cpu, 3);
        assert_int_equal(seen.events[i].sequence, SEQUENCE);
    }
    event.what = PROC_EVENT_FORK;
    datagram = datagram_make(&event, sizeof(event));
    memcpy(datagram.bytes + NLMSG_HDRLEN, &other, sizeof(other));
    assert_int_equal(connector_parse(datagram.bytes, datagram.length, remember, &seen), 0);
    datagram = datagram_make(&event, 0); /* nothing behind its header */
    memcpy(datagram.bytes + NLMSG_HDRLEN, &other, sizeof(other));
    assert_int_equal(connector_parse(datagram.bytes, datagram.length, remember, &seen), 0);
    assert_int_equal(seen.count, sizeof(kinds) / sizeof(kinds[0]));
}

static void several_messages_of_a_datagram_are_all_read(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};
    struct proc_event event = {.what = PROC_EVENT_FORK};
    struct datagram one, both;

    event.event_data.fork.child_pid = 5;
    one = datagram_make(&event, sizeof(event));
    both = one;
    event.event_data.fork.child_pid = 6;
    one = datagram_make(&event, sizeof(event));
    memcpy(both.bytes + NLMSG_ALIGN(both.length), one.bytes, one.length);
    both.length = NLMSG_ALIGN(both.length) + one.length;
    assert_int_equal(connector_parse(both.bytes, both.length, remember, &seen), 2);
    assert_int_equal(seen.events[0].pid, 5);
    assert_int_equal(seen.events[1].pid, 6);
}

static void length_that_is_not_aligned_ends_the_datagram(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};
    struct proc_event event = {.what = PROC_EVENT_EXEC};
    struct datagram datagram = datagram_make(&event, offsetof(struct proc_event, event_data) + 9);
    char *exact = malloc(datagram.length);

    assert_non_null(exact);
    memcpy(exact, datagram.bytes, datagram.length);
    assert_int_equal(connector_parse(exact, datagram.length, remember, &seen), 1);
    free(exact);
}

static void cut_off_datagram_is_refused(void **state)
{
    (void)state;
    struct proc_event event = {.what = PROC_EVENT_FORK};
    struct datagram datagram = datagram_make(&event, sizeof(event));

    for (size_t cut = 1; cut < datagram.length; cut++) {
        struct seen seen = {.count = 0};
        char *prefix = malloc(cut);

        assert_non_null(prefix);
        memcpy(prefix, datagram.bytes, cut);
        assert_int_equal(connector_parse(prefix, cut, remember, &seen), -EBADMSG);
        assert_int_equal(seen.count, 0);
        free(prefix);
    }
}

static void event_shorter_than_its_kind_is_refused(void **state)
{
    (void)state;
    struct proc_event event = {.what = PROC_EVENT_FORK};

    for (size_t length = 0; length < offsetof(struct proc_event, event_data) + 16; length++) {
        struct seen seen = {.count = 0};
        struct datagram datagram = datagram_make(&event, length);

        assert_int_equal(connector_parse(datagram.bytes, datagram.length, remember, &seen), -EBADMSG);
        assert_int_equal(seen.count, 0);
    }
}

struct watch {
    pid_t child;
    pid_t parent;
    bool forked, executed, ended;
    int wait_status;
    uint64_t fork_ns, exit_ns;
};

static void watch_visit(void *context, const struct connector_event *event)
{
    struct watch *watch = context;

    if (event->tgid != watch->child || event->pid != event->tgid)
        return;
    if (event->what == CONNECTOR_FORK && event->parent_tgid == watch->parent) {
        watch->forked = true;
        watch->fork_ns = event->stamp_ns;
    } else if (event->what == CONNECTOR_EXEC) {
        watch->executed = true;
    } else if (event->what == CONNECTOR_EXIT) {
        watch->ended = true;
        watch->wait_status = event->wait_status;
        watch->exit_ns = event->stamp_ns;
    }
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* Starts a child that executes and ends with 7, and follows it. 0, or the number of the step that failed. */
static int child_is_seen(int fd)
{
    uint64_t before = monotonic_ns();
    struct watch watch = {.parent = getpid()};
    pid_t child = fork();

    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(127);
    }
    watch.child = child;
    if (waitpid(child, NULL, 0) != child)
        return 10;
    for (int tries = 0; tries < 100 && !watch.ended; tries++) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int count;

        if (poll(&ready, 1, 1000) <= 0)
            return 11;
        count = connector_read(fd, watch_visit, &watch);
        if (count < 0 && count != -ENOBUFS)
            return 12;
    }
    if (!watch.forked || !watch.executed || !watch.ended)
        return 13;
    if (!WIFEXITED(watch.wait_status) || WEXITSTATUS(watch.wait_status) != 7)
        return 14;
    if (watch.fork_ns < before || watch.exit_ns < watch.fork_ns || watch.exit_ns > monotonic_ns())
        return 15;
    return 0;
}

/* Runs `body` in a child of ours and returns its exit code; 77 means that this machine cannot do it. */
static int in_child_of(const char *name, int (*body)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skip %s: not permitted here, or no process connector answers\n", name);
        skip();
    }
    return WEXITSTATUS(status);
}

#define in_child(body) in_child_of(__func__, body)

static int open_and_see(void)
{
    struct metron_error error = {0};
    int fd = connector_open(&error), result;

    if (fd < 0)
        /* A refusal is fine, but it must say why. */
        return error.code == fd && error.message[0] != '\0' ? 77 : 1;
    if (!(fcntl(fd, F_GETFL) & O_NONBLOCK) || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
        return 2;
    result = child_is_seen(fd);
    connector_close(fd);
    return result;
}

static int open_and_see_as_nobody(void)
{
    struct metron_error error = {0};
    int fd;

    if (geteuid() == 0 && !become_another_user())
        return 77;
    fd = connector_open(&error);
    if (fd == -EPERM)
        return strstr(error.message, "CAP_NET_ADMIN") != NULL ? 77 : 3;
    if (fd >= 0)
        connector_close(fd);
    return open_and_see();
}

static int refused_in_network_namespace(void)
{
    struct metron_error error = {0};

    if (unshare(CLONE_NEWNET) < 0)
        return 77;
    if (connector_open(&error) >= 0)
        return 1;
    return strstr(error.message, "network namespace") != NULL ? 0 : 2;
}

/* Only where it answers at all can a namespace be the reason that it does not. */
static bool answers(void)
{
    int fd = connector_open(NULL);
    connector_close(fd);
    return fd >= 0;
}

static int refused_in_user_namespace(void)
{
    struct metron_error error = {0};
    int fd;

    if (!answers() || unshare(CLONE_NEWUSER) < 0)
        return 77;
    fd = connector_open(&error);
    if (fd == -EPERM) /* older kernels look at the capability first */
        return strstr(error.message, "CAP_NET_ADMIN") != NULL ? 0 : 3;
    if (fd >= 0)
        return 1;
    return strstr(error.message, "user namespace") != NULL ? 0 : 2;
}

static int refused_in_pid_namespace(void)
{
    int status;
    pid_t child;

    if (!answers() || unshare(CLONE_NEWPID) < 0)
        return 77;
    child = fork();
    if (child == 0) {
        struct metron_error error = {0};

        if (connector_open(&error) >= 0)
            _exit(1);
        _exit(strstr(error.message, "pid namespace") != NULL ? 0 : 2);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 4;
    return WEXITSTATUS(status);
}

static void live_child_is_seen(void **state)
{
    (void)state;
    assert_int_equal(in_child(open_and_see), 0);
}

static void ordinary_user_sees_a_child_or_learns_why_not(void **state)
{
    (void)state;
    assert_int_equal(in_child(open_and_see_as_nobody), 0);
}

static void network_namespace_is_named_as_the_reason(void **state)
{
    (void)state;
    assert_int_equal(in_child(refused_in_network_namespace), 0);
}

static void pid_namespace_is_named_as_the_reason(void **state)
{
    (void)state;
    assert_int_equal(in_child(refused_in_pid_namespace), 0);
}

static void user_namespace_is_named_as_the_reason(void **state)
{
    (void)state;
    assert_int_equal(in_child(refused_in_user_namespace), 0);
}

static void closing_nothing_is_allowed(void **state)
{
    (void)state;
    connector_close(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_exec_and_exit_are_told_apart),
        cmocka_unit_test(exit_of_an_older_kernel_is_read),
        cmocka_unit_test(other_events_have_their_number_and_other_senders_are_passed_over),
        cmocka_unit_test(several_messages_of_a_datagram_are_all_read),
        cmocka_unit_test(length_that_is_not_aligned_ends_the_datagram),
        cmocka_unit_test(cut_off_datagram_is_refused),
        cmocka_unit_test(event_shorter_than_its_kind_is_refused),
        cmocka_unit_test(live_child_is_seen),
        cmocka_unit_test(ordinary_user_sees_a_child_or_learns_why_not),
        cmocka_unit_test(network_namespace_is_named_as_the_reason),
        cmocka_unit_test(pid_namespace_is_named_as_the_reason),
        cmocka_unit_test(user_namespace_is_named_as_the_reason),
        cmocka_unit_test(closing_nothing_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
