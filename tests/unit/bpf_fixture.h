/*
 * Our programs in this machine's kernel, for the tests of what they tell: loaded once for a test program,
 * following its children. Where they cannot be had, every test is skipped by name with the reason.
 */
#ifndef METRON_TESTS_BPF_FIXTURE_H
#define METRON_TESTS_BPF_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "probe/bpf/programs.h"
#include "process_state.h"

enum { TEXT_MAX = WIRE_ARGUMENTS_MAX };

/* An event with its texts, which the reader only lends. */
struct kept_event {
    struct lifecycle_event event;
    char text[TEXT_MAX]; /* arguments or sender's name */
};

static struct {
    struct bpf_programs *programs;
    struct metron_error error; /* why there are none */
    struct kept_event *events;
    size_t event_count, event_capacity;
    pid_t stranger; /* lived before the programs: neither spawner nor member */
    int stranger_gate[2], stranger_answer[2];
    char *shared; /* children leave here what they saw */
} fixture;

static inline void keep_event(void *context, const struct lifecycle_event *event)
{
    (void)context;
    if (fixture.event_count == fixture.event_capacity) {
        fixture.event_capacity = fixture.event_capacity * 2 + 64;
        fixture.events = realloc(fixture.events, fixture.event_capacity * sizeof(*fixture.events));
        if (!fixture.events)
            abort();
    }
    struct kept_event *kept = &fixture.events[fixture.event_count++];
    kept->event = *event;
    kept->text[0] = '\0';
    if (event->what == LIFECYCLE_EXEC && event->exec.arguments && event->exec.length <= TEXT_MAX)
        memcpy(kept->text, event->exec.arguments, event->exec.length);
    else if (event->what == LIFECYCLE_SIGNAL)
        (void)snprintf(kept->text, sizeof(kept->text), "%s", event->signal.name);
}

static inline size_t events_of(pid_t pid, enum lifecycle_what what)
{
    size_t count = 0;

    bpf_programs_read_events(fixture.programs, keep_event, NULL);
    for (size_t i = 0; i < fixture.event_count; i++)
        count += fixture.events[i].event.pid == pid && fixture.events[i].event.what == what;
    return count;
}

/* The first such event; waits for it. (The end of a process is told a moment after it can be waited for.) */
static inline const struct kept_event *event_of(pid_t pid, enum lifecycle_what what)
{
    const uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_MS * UINT64_C(1000000);

    while (events_of(pid, what) == 0) {
        if (clock_monotonic_ns() > limit_ns)
            fail_msg("no event %d of process %d", (int)what, (int)pid);
        (void)usleep(500);
    }
    for (size_t i = 0;; i++)
        if (fixture.events[i].event.pid == pid && fixture.events[i].event.what == what)
            return &fixture.events[i];
}

/* The only one: nothing more comes later. */
static inline const struct kept_event *only_exit_of(pid_t pid)
{
    (void)event_of(pid, LIFECYCLE_EXIT);
    (void)usleep(5000);
    assert_int_equal(events_of(pid, LIFECYCLE_EXIT), 1);
    return event_of(pid, LIFECYCLE_EXIT);
}

static inline void stranger_main(void)
{
    char byte;

    (void)close(fixture.stranger_gate[1]);
    while (read(fixture.stranger_gate[0], &byte, 1) == 1) {
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        (void)waitpid(child, NULL, 0);
        if (write(fixture.stranger_answer[1], &child, sizeof(child)) < 0)
            break;
    }
    _exit(0);
}

/* The pid of a child that the stranger has had. */
static inline pid_t stranger_forks(void)
{
    pid_t child = 0;

    assert_int_equal(write(fixture.stranger_gate[1], "x", 1), 1);
    assert_int_equal(read(fixture.stranger_answer[0], &child, sizeof(child)), sizeof(child));
    return child;
}

static inline int fixture_setup(bool calls)
{
    const struct bpf_start_options options = {
        .spawner = getpid(), .calls = calls, .loader_path = METRON_BPF_LOADER};
    struct bpf_start start;

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    fixture.shared = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fixture.shared == MAP_FAILED || pipe(fixture.stranger_gate) != 0 ||
        pipe(fixture.stranger_answer) != 0)
        return -1;
    fixture.stranger = fork();
    if (fixture.stranger == 0)
        stranger_main();
    if (bpf_start(&start, &options, &fixture.error) == 0) {
        (void)bpf_start_finish(&start, true, &fixture.programs, &fixture.error);
        (void)waitpid(start.pid, NULL, 0);
    }
    return 0;
}

/* Others than the fixture's: these follow nobody by themselves. */
static inline struct bpf_programs *programs_following_nobody(void)
{
    const struct bpf_start_options options = {.loader_path = METRON_BPF_LOADER};
    struct bpf_programs *programs = NULL;
    struct bpf_start start;

    assert_int_equal(bpf_start(&start, &options, NULL), 0);
    assert_int_equal(bpf_start_finish(&start, true, &programs, NULL), 0);
    (void)waitpid(start.pid, NULL, 0);
    return programs;
}

static inline int fixture_teardown(void **state)
{
    (void)state;
    bpf_programs_free(fixture.programs);
    free(fixture.events);
    (void)close(fixture.stranger_gate[1]);
    (void)waitpid(fixture.stranger, NULL, 0);
    return 0;
}

static inline int test_setup(void **state)
{
    (void)state;
    if (fixture.programs)
        bpf_programs_read_events(fixture.programs, keep_event, NULL);
    fixture.event_count = 0;
    memset(fixture.shared, 0, 1 << 16);
    return 0;
}

static inline void skip_without_programs(const char *name)
{
    if (fixture.programs)
        return;
    print_message("skip %s: no programs in this kernel: %s\n", name, fixture.error.message);
    skip();
}

#define needs_programs() skip_without_programs(__func__)

/* A test that fails leaves nobody behind. */
static inline void die_with_parent(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static inline pid_t child_start(void (*body)(void))
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        die_with_parent();
        body();
        _exit(0);
    }
    return child;
}

struct ended_child {
    pid_t pid;
    int status;
    struct rusage usage;
};

static inline struct ended_child child_end(pid_t pid)
{
    struct ended_child ended = {.pid = pid};

    assert_int_equal(wait4(pid, &ended.status, 0, &ended.usage), pid);
    return ended;
}

static inline double usage_cpu_seconds(const struct rusage *usage)
{
    return clock_timeval_seconds(usage->ru_utime) + clock_timeval_seconds(usage->ru_stime);
}

static inline void burn_thread_ms(int milliseconds)
{
    struct timespec now;
    uint64_t begin_ns, now_ns;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    begin_ns = now_ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
    while (now_ns - begin_ns < (uint64_t)milliseconds * 1000000) {
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        now_ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
    }
}

/* Whether two amounts agree within so many percent of the larger. */
static inline bool agree(double a, double b, double percent)
{
    double larger = a > b ? a : b;

    return (a > b ? a - b : b - a) <= larger * percent / 100;
}

/* Maps so many bytes and writes to each page of them. */
static inline char *touch_memory(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        _exit(99);
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
    return memory;
}

#endif
