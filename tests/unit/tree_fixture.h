/*
 * Real processes for the tests of tree/: this process is their sub-reaper, as metron is of a command's.
 *
 * A test starts bodies (functions run in a child), which say() that they have come to a point and then
 * wait_for_go(); what they share is one page of memory. Every test runs once for each way of finding members:
 * events of our programs in the kernel, or of the process connector (skipped where they cannot be had),
 * children files, a scan of /proc.
 */
#ifndef METRON_TESTS_TREE_FIXTURE_H
#define METRON_TESTS_TREE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
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
#include <unistd.h>

#include <cmocka.h>

#include "../workloads/workload.h"
#include "base/clock.h"
#include "base/file.h"
#include "probe/bpf/programs.h"
#include "probe/kernel.h"
#include "probe/pid/stat.h"
#include "process_state.h"
#include "schema/secrets.h"
#include "tree/tree.h"

enum { SAID_MAX = 64, TOLD_MAX = 8192, OVER = 1000 };

static struct {
    atomic_int go;
    atomic_int places; /* taken in `pids` */
    atomic_int said;
    pid_t pids[SAID_MAX];  /* who said it, in that order */
    atomic_long counts[4]; /* for a body to count with */
} * shared;

struct told {
    enum event_type type;
    enum event_seen seen;
    pid_t pid, ppid;
    bool has_status;
    int wait_status;
    bool has_start;
    char command[256];
    int signal_num;
    bool has_sender;
    pid_t sender;
    char sender_name[32];
    bool has_use;
    struct event_use use;
};

/* Our programs in the kernel: loaded when the first test wants them, for all of a test program. */
static struct {
    struct bpf_programs *programs;
    struct metron_error error; /* why there are none */
    bool tried;
} kernel_side;

static struct {
    struct tree *tree;
    struct lifecycle *source;
    struct kernel_facts facts;
    size_t told_count;
    unsigned ended;             /* on_end was called */
    double children_before;     /* CPU seconds of all children we had waited for when the test began */
    struct told told[TOLD_MAX]; /* not cleared: every fork would copy the pages */
} watch;

/* ---- in the children ---- */

static inline void say(void)
{
    int place = atomic_fetch_add(&shared->places, 1);

    if (place < SAID_MAX)
        shared->pids[place] = getpid();
    (void)atomic_fetch_add(&shared->said, 1); /* only now: whoever counts it may look */
}

/* The longer somebody has waited, the more seldom it checks: the test may be slow, and compares the CPU time
 * of this process with that of its work. Returns how long it has waited now. */
static inline int wait_more(int ms, int exit_code)
{
    int pause = ms < 200 ? 10 : 50;

    if (ms > PATIENCE_MS)
        _exit(exit_code);
    sleep_seconds(pause / 1000.0);
    return ms + pause;
}

/* Waits until the test lets go for the `step`-th time; a forgotten child ends itself. */
static inline void wait_for_go(int step)
{
    for (int ms = 0; atomic_load(&shared->go) < step;)
        ms = wait_more(ms, 97);
}

/* The test has ended, well or not: nobody shall wait for it any more. */
static inline bool is_over(void)
{
    return atomic_load(&shared->go) >= OVER;
}

static inline void wait_for_said(int count)
{
    for (int ms = 0; atomic_load(&shared->said) < count;)
        ms = wait_more(ms, 96);
}

/* ---- in the test ---- */

static inline pid_t start(void (*body)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        body();
        _exit(0);
    }
    return pid;
}

static inline void await_said(int count)
{
    for (int ms = 0; atomic_load(&shared->said) < count; ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("only %d of %d said anything", atomic_load(&shared->said), count);
        sleep_seconds(0.001);
    }
}

static inline void let_go(int step)
{
    atomic_store(&shared->go, step);
}

static inline double children_cpu_seconds(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static inline void on_event(void *context, const struct event *event)
{
    (void)context;
    if (watch.told_count == TOLD_MAX)
        return;
    struct told *told = &watch.told[watch.told_count++];
    *told = (struct told){event->type,
                          event->seen,
                          event->pid,
                          event->ppid,
                          event->has_status,
                          event->wait_status,
                          event->start_time != NULL,
                          "",
                          event->signal_num,
                          event->sender != NULL,
                          event->sender ? event->sender->pid : -1,
                          "",
                          event->use != NULL,
                          event->use ? *event->use : (struct event_use){0}};
    if (event->sender && event->sender->name)
        (void)snprintf(told->sender_name, sizeof(told->sender_name), "%s", event->sender->name);
    if (event->command)
        (void)snprintf(told->command, sizeof(told->command), "%s", event->command);
}

static inline void on_end(void *context, const struct process *process)
{
    (void)context;
    (void)process;
    watch.ended++;
}

static inline void nobody_listens(void *context, const struct lifecycle_event *event)
{
    (void)context;
    (void)event;
}

/* Loads our programs, anew if they are there: who lives by now is not followed. A tree that is there does not
 * take the loader for one of its own. */
static inline void programs_load(void)
{
    const struct bpf_start_options options = {.spawner = getpid(), .loader_path = METRON_BPF_LOADER};
    struct bpf_start loading;

    bpf_programs_free(kernel_side.programs);
    kernel_side.programs = NULL;
    kernel_side.tried = true;
    if (bpf_start(&loading, &options, &kernel_side.error) < 0)
        return;
    if (watch.tree)
        tree_ignore(watch.tree, loading.pid);
    (void)bpf_start_finish(&loading, true, &kernel_side.programs, &kernel_side.error);
    (void)waitpid(loading.pid, NULL, 0);
    if (watch.tree)
        tree_unignore(watch.tree, loading.pid);
}

static inline void needs_programs(void)
{
    /* What one test made them lose is not the next one's. */
    if (!kernel_side.tried || (kernel_side.programs && bpf_programs_lost(kernel_side.programs) > 0))
        programs_load();
    if (!kernel_side.programs) {
        print_message("skip: no programs in this kernel: %s\n", kernel_side.error.message);
        skip();
    }
}

/* Whether a child of this process lives, or is a zombie. */
static inline bool has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* What the kernel tells, by this method; NULL where it is not to be asked. */
static inline struct lifecycle *source_open(enum tree_method method)
{
    struct metron_error error = {0};
    struct lifecycle *source = NULL;

    if (method == TREE_BPF) {
        needs_programs();
        source = lifecycle_bpf(kernel_side.programs);
        assert_non_null(source);
        (void)lifecycle_read(source, nobody_listens, NULL); /* of the test before */
    } else if (method == TREE_CONNECTOR) {
        source = lifecycle_connector(&error);
        if (!source) {
            print_message("skip: the process connector does not answer here: %s\n", error.message);
            skip();
        }
    }
    return source;
}

/* Skips the test where its method is not to be had. */
static inline struct tree_options tree_options_for(enum tree_method method)
{
    watch.source = source_open(method);
    assert_int_equal(kernel_facts_read("/proc", &watch.facts), 0);
    if (method == TREE_SCAN)
        watch.facts.has_children_files = false;
    return (struct tree_options){
        .proc_root = "/proc",
        .facts = &watch.facts,
        .kept_descriptors = 200,
        .start_ns = clock_monotonic_ns(),
        .reaps = true,
        .source = watch.source,
        .why_no_source = watch.source ? NULL : "switched off",
        .read_clock = true,
        .read_io = true,
        .command_bytes = TREE_COMMAND_BYTES,
        .secrets = &secrets_built_in,
        .on_event = on_event,
        .on_end = on_end,
    };
}

static inline void watch_with(const struct tree_options *options, enum tree_method method)
{
    struct metron_error error = {0};

    watch.children_before = children_cpu_seconds();
    watch.tree = tree_new(options, &error);
    if (!watch.tree)
        fail_msg("%s", error.message);
    if (options->scope != TREE_OF_SESSION)
        assert_int_equal(tree_method(watch.tree), method);
}

static inline enum tree_method method_of(void **state)
{
    return *(const enum tree_method *)*state;
}

/* Births and ends are told, not looked for. */
static inline bool is_told(void **state)
{
    return method_of(state) == TREE_CONNECTOR || method_of(state) == TREE_BPF;
}

static inline void watch_begin(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    watch_with(&options, method_of(state));
}

/* Starts the command: the root of the tree. */
static inline pid_t start_root(void (*body)(void))
{
    pid_t pid = start(body);

    assert_int_equal(tree_add_root(watch.tree, pid), 0);
    return pid;
}

/* Reaps whoever has ended, as the loop does; returns how many. */
static inline unsigned reap_all(void)
{
    struct rusage usage;
    siginfo_t ended;
    unsigned count = 0;
    int status;

    for (;; count++) {
        ended.si_pid = 0;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
            return count;
        tree_before_reap(watch.tree, ended.si_pid);
        assert_int_equal(wait4(ended.si_pid, &status, 0, &usage), ended.si_pid);
        tree_reap(watch.tree, ended.si_pid, status, &usage);
    }
}

/* Also until the kernel has told of their ends, which may be a moment later. */
static inline void await_reaped(unsigned count)
{
    unsigned reaped = 0;

    for (int ms = 0; (reaped += reap_all()) < count; ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("only %u of %u ended", reaped, count);
        sleep_seconds(0.001);
    }
    tree_drain(watch.tree);
}

static inline struct process *who(pid_t pid)
{
    for (size_t i = 0; i < tree_count(watch.tree); i++)
        if (tree_process(watch.tree, i)->subject.id == pid)
            return tree_process(watch.tree, i);
    return NULL;
}

static inline size_t place_of(pid_t pid)
{
    for (size_t i = 0; i < tree_count(watch.tree); i++)
        if (tree_process(watch.tree, i)->subject.id == pid)
            return i;
    fail_msg("%d is no member", (int)pid);
    return 0;
}

static inline unsigned times_told(enum event_type type, pid_t pid)
{
    unsigned count = 0;

    for (size_t i = 0; i < watch.told_count; i++)
        count += watch.told[i].type == type && watch.told[i].pid == pid;
    return count;
}

static inline const struct told *told_of(enum event_type type, pid_t pid)
{
    for (size_t i = 0; i < watch.told_count; i++)
        if (watch.told[i].type == type && watch.told[i].pid == pid)
            return &watch.told[i];
    return NULL;
}

static inline double cpu_published(void)
{
    return tree_ledger(watch.tree)->published.cpu_seconds;
}

/* The next process of this machine gets this pid, if it is free; that is for root. */
static inline int ask_for_pid(pid_t pid)
{
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    int length = fd < 0 ? -1 : dprintf(fd, "%d", (int)pid - 1);

    if (fd >= 0)
        (void)close(fd);
    return length > 0 ? 0 : -1;
}

static inline void body_that_waits(void)
{
    say();
    wait_for_go(1);
}

/* ---- set-up ---- */

static inline int become_reaper(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static inline int watch_setup(void **state)
{
    (void)state;
    memset(shared, 0, sizeof(*shared));
    memset(&watch, 0, (size_t)((char *)watch.told - (char *)&watch));
    return 0;
}

/* Whether it is this process or below it. */
static inline bool is_ours(pid_t pid)
{
    char path[64], text[1024];
    struct pid_stat stat;

    while (pid > 1 && pid != getpid()) {
        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        ssize_t length = file_read(AT_FDCWD, path, text, sizeof(text));
        if (length < 0 || pid_stat_parse(text, (size_t)length, &stat) < 0)
            return false;
        pid = stat.ppid;
    }
    return pid == getpid();
}

/* Kills it if it is still there. Its parent may have waited for it, and another process of the machine may
 * have its pid: so a descriptor is opened, and after that it is checked whose process this is. */
static inline void kill_if_ours(pid_t pid)
{
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

    if (fd >= 0 && is_ours(pid))
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    if (fd >= 0)
        (void)close(fd);
}

/* Ends every child that is left, whatever the test did: nobody must be seen by the next one. */
static inline int watch_teardown(void **state)
{
    (void)state;
    int places = atomic_load(&shared->places);

    let_go(OVER);
    tree_free(watch.tree);
    lifecycle_free(watch.source);
    watch.tree = NULL;
    watch.source = NULL;
    for (int i = 0; i < places && i < SAID_MAX; i++)
        kill_if_ours(shared->pids[i]);
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD)
            return 0;
        if (pid == 0)
            sleep_seconds(0.001);
    }
    return -1;
}

__attribute__((unused)) static enum tree_method by_bpf = TREE_BPF, by_connector = TREE_CONNECTOR,
                                                by_listings = TREE_LISTINGS, by_scan = TREE_SCAN;

#define ONE_WAY(NAME, WAY)                                                                                   \
    {                                                                                                        \
#NAME "_" #WAY, NAME, watch_setup, watch_teardown, &(WAY)                                            \
    }
/* The test, once for each way of finding members. */
#define ALL_WAYS(NAME)                                                                                       \
    ONE_WAY(NAME, by_bpf), ONE_WAY(NAME, by_connector), ONE_WAY(NAME, by_listings), ONE_WAY(NAME, by_scan)

#endif
