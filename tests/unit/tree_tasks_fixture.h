/*
 * A large family of processes for the tests of reading them in one go: most sleep, some are something
 * special. Two trees may watch it: one reads in one go, the other from /proc.
 *
 * Whether that is worth it depends on what else runs on the machine, and must not depend on it here: so
 * tree/tasks.c is compiled into the test, with a hand in what it calls.
 */
#ifndef METRON_TESTS_TREE_TASKS_FIXTURE_H
#define METRON_TESTS_TREE_TASKS_FIXTURE_H

#include <sys/sysinfo.h>

#include "probe/bpf/programs.h"

static ssize_t read_tasks(struct bpf_programs *programs, bool everybody, const struct wire_task **tasks);
static int count_threads(struct sysinfo *machine);
#define bpf_programs_read_tasks read_tasks
#define sysinfo(MACHINE)        count_threads(MACHINE)
#include "tree/tasks.c" /* NOLINT(bugprone-suspicious-include) */
#undef bpf_programs_read_tasks
#undef sysinfo

#include "tree_fixture.h"

#include <pthread.h>

enum { MIB = 1048576, MEMBERS = 60 };

/* Members that are something special; the others sleep. */
enum kind {
    WITH_THREADS,
    WITHOUT_MAIN_THREAD,
    STOPPED,
    WITH_IO,
    WITH_MEMORY,
    WITH_A_PAST, /* of children it waited for */
    ZOMBIE,
    BUSY, /* where the test wants that; otherwise it sleeps */
    KINDS
};

static struct {
    pid_t pids[MEMBERS]; /* the special ones first, by their kind */
    atomic_int members;  /* that shall be started */
    atomic_int ready;
    atomic_bool has_busy;
} * family;

static struct tree *reference; /* from /proc */

static struct {
    unsigned short threads; /* so many run on the machine */
    ssize_t (*read_tasks)(struct bpf_programs *programs, const struct wire_task **tasks); /* instead */
} hand;

static int count_threads(struct sysinfo *machine)
{
    *machine = (struct sysinfo){.procs = hand.threads};
    return 0;
}

static ssize_t read_tasks(struct bpf_programs *programs, bool everybody, const struct wire_task **tasks)
{
    return hand.read_tasks ? hand.read_tasks(programs, tasks)
                           : bpf_programs_read_tasks(programs, everybody, tasks);
}

/* ---- the family ---- */

static inline _Noreturn void sleep_for_ever(void)
{
    (void)atomic_fetch_add(&family->ready, 1);
    for (;;)
        (void)pause();
}

static inline void *thread_sleeps(void *argument)
{
    burn_thread(0.01);
    (void)atomic_fetch_add((atomic_int *)argument, 1);
    for (;;)
        (void)pause();
    return NULL;
}

static inline void *thread_ends(void *argument)
{
    (void)argument;
    burn_thread(0.02);
    return NULL;
}

static inline void be_with_threads(void)
{
    static atomic_int asleep;
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_ends, NULL) != 0)
        _exit(95);
    (void)pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++)
        (void)pthread_create(&thread, NULL, thread_sleeps, &asleep);
    while (atomic_load(&asleep) < 3)
        sleep_seconds(0.001);
}

static inline void *thread_is_ready(void *argument)
{
    (void)argument;
    while (state_of(getpid()) != 'Z') /* until the main thread has left */
        sleep_seconds(0.001);
    sleep_for_ever();
}

static inline void be_without_main_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_is_ready, NULL) != 0)
        _exit(95);
    pthread_exit(NULL);
}

static inline void be_with_io(void)
{
    char block[512] = "";
    FILE *file = tmpfile();

    if (!file)
        _exit(95);
    for (int i = 0; i < 100; i++)
        if (write(fileno(file), block, sizeof(block)) != (ssize_t)sizeof(block) ||
            pread(fileno(file), block, 100, 0) != 100)
            _exit(95);
}

static inline void be_with_memory(void)
{
    char *memory = mmap(NULL, 12 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        _exit(95);
    for (size_t i = 0; i < 12 * MIB; i += 4096)
        memory[i] = 1;
    (void)munmap(memory, 8 * MIB);
}

static inline void be_with_a_past(void)
{
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            burn_process(0.03);
            _exit(0);
        }
        (void)wait_checked(pid);
    }
}

static inline void be(enum kind kind, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0); /* too late for that */
    switch (kind) {
    case WITH_THREADS:
        be_with_threads();
        break;
    case WITHOUT_MAIN_THREAD:
        be_without_main_thread();
        break;
    case STOPPED:
        (void)atomic_fetch_add(&family->ready, 1);
        (void)raise(SIGSTOP);
        break;
    case WITH_IO:
        be_with_io();
        break;
    case WITH_MEMORY:
        be_with_memory();
        break;
    case WITH_A_PAST:
        be_with_a_past();
        break;
    case ZOMBIE:
        burn_process(0.03);
        (void)atomic_fetch_add(&family->ready, 1);
        _exit(0);
    case BUSY:
        if (!atomic_load(&family->has_busy))
            break;
        (void)atomic_fetch_add(&family->ready, 1);
        burn_process(1000);
        _exit(0);
    case KINDS:
        break;
    }
    sleep_for_ever();
}

static inline void start_family(void)
{
    const int members = atomic_load(&family->members);
    const pid_t self = getpid();

    for (int i = 0; i < members; i++) {
        pid_t pid = fork();
        if (pid == 0)
            be(i < KINDS ? (enum kind)i : KINDS, self);
        family->pids[i] = pid;
    }
    say();
}

static inline void body_family(void)
{
    start_family();
    (void)pause();
}

/* ---- two trees ---- */

static inline bool is_read_in_one_go(const struct tree *tree)
{
    for (size_t i = 0; i < tree_count(tree); i++)
        if (tree_process(tree, i)->by_tasks)
            return true;
    return false;
}

static inline void watch_twice(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));
    struct metron_error error = {0};

    watch_with(&options, method_of(state));
    tree_use_tasks(watch.tree, kernel_side.programs);
    options.source = NULL;
    options.why_no_source = "not wanted";
    options.on_event = NULL;
    options.on_end = NULL;
    reference = tree_new(&options, &error);
    assert_non_null(reference);
}

/* All but one that is busy have nothing more to do. */
static inline void await_states(void)
{
    const bool has_busy = atomic_load(&family->has_busy);
    const char *wanted = has_busy ? "SZTSSSZR" : "SZTSSSZS";
    static const unsigned threads[KINDS] = {[WITH_THREADS] = 4, [WITHOUT_MAIN_THREAD] = 2};

    for (int i = 0; i < atomic_load(&family->members); i++) {
        await_state(family->pids[i], i < KINDS ? wanted[i] : 'S');
        if (i != BUSY || !has_busy)
            await_rest(family->pids[i], i < KINDS && threads[i] > 0 ? threads[i] : 1);
    }
}

static inline void watch_family(void **state, void (*body)(void))
{
    watch_twice(state);
    atomic_store(&family->members, MEMBERS);
    pid_t root = start_root(body);
    assert_int_equal(tree_add_root(reference, root), 0);
    await_said(1);
    for (int ms = 0; atomic_load(&family->ready) < atomic_load(&family->members); ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("only %d are ready", atomic_load(&family->ready));
        sleep_seconds(0.001);
    }
    await_states();
    await_rest(root, 1);
}

/* ---- set-up ---- */

static inline int tasks_group_setup(void **state)
{
    family = mmap(NULL, sizeof(*family), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return family == MAP_FAILED ? -1 : become_reaper(state);
}

static inline int tasks_setup(void **state)
{
    memset(family, 0, sizeof(*family));
    memset(&hand, 0, sizeof(hand));
    hand.threads = 4 * MEMBERS;
    return watch_setup(state);
}

static inline int tasks_teardown(void **state)
{
    tree_free(reference);
    reference = NULL;
    for (int kind = 0; kind < KINDS; kind++)
        kill_if_ours(family->pids[kind]);
    return watch_teardown(state);
}

#define TASKS(NAME)                                                                                          \
    {                                                                                                        \
#NAME, NAME, tasks_setup, tasks_teardown, &by_bpf                                                    \
    }

#endif
