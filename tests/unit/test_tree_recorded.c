/* A tree whose files say what we write into them: what cannot be had from real processes. */
#include "tree/tree.h"

#include "tree_fixture.h"

#include <sys/stat.h>

#include "base/text.h"

/* A /proc of our own, with processes as we write them. */
static char root[64];

static void put_file(pid_t pid, const char *name, const char *bytes, size_t length)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%d", root, (int)pid);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s/%d/%s", root, (int)pid, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void remove_file(pid_t pid, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%d/%s", root, (int)pid, name);
    (void)unlink(path);
}

static void put_stat(pid_t pid, const char *text)
{
    put_file(pid, "stat", text, strlen(text));
}

/* `child_ticks`: of the children that it has waited for. */
static void put_parent(pid_t pid, const char *name, pid_t ppid, unsigned user_ticks, unsigned child_ticks,
                       unsigned start_ticks)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "%d (%s) S %d 1 1 0 -1 4194560 10 20 0 0 %u 0 %u 0 20 0 1 0 %u 4096 1 "
                   "18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                   (int)pid, name, (int)ppid, user_ticks, child_ticks, start_ticks);
    put_stat(pid, text);
}

static void put_process(pid_t pid, pid_t ppid, unsigned user_ticks, unsigned start_ticks)
{
    put_parent(pid, "made up", ppid, user_ticks, 0, start_ticks);
}

static void remove_process(pid_t pid)
{
    char path[128];

    remove_file(pid, "stat");
    (void)snprintf(path, sizeof(path), "%s/%d", root, (int)pid);
    (void)rmdir(path);
    (void)rmdir(root);
}

/* What happens while a pass is under way: after 4711 was read, which has another name since the pass before.
 */
static void (*meanwhile)(void);

static void on_found(void *context, struct process *process)
{
    (void)context;
    if (meanwhile && process->subject.id == 4711)
        meanwhile();
}

/* Follows process 4711 of that /proc. */
static void watch_recorded_as(enum tree_method method, bool reaps)
{
    struct tree_options options = tree_options_for(method);

    (void)snprintf(root, sizeof(root), "/tmp/metron-tree-XXXXXX");
    assert_non_null(mkdtemp(root));
    watch.facts.live = false;
    options.proc_root = root;
    options.kept_descriptors = 0; /* a file of ours, once open, would never say that the process is gone */
    options.start_ns = 0;         /* all that it used counts */
    options.reaps = reaps;
    options.read_clock = false;
    options.on_found = on_found;
    meanwhile = NULL;
    watch_with(&options, method);
    assert_int_equal(tree_add_root(watch.tree, 4711), 0);
}

static void watch_recorded(enum tree_method method)
{
    watch_recorded_as(method, false);
}

static void a_process_that_cannot_be_read_costs_its_own_reading_and_nothing_more(void **state)
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 500, 1000);
    tree_refresh(watch.tree);
    double used = 500.0 / (double)clock_ticks_per_second();
    assert_true(who(4711)->fresh);
    assert_true(fabs(tree_ledger(watch.tree)->live.cpu_seconds - used) < 1e-9);
    put_stat(4711, "not what the kernel writes");
    tree_refresh(watch.tree);
    assert_non_null(who(4711)); /* not dead: nothing says so */
    assert_false(who(4711)->fresh);
    assert_int_equal(tree_living(watch.tree), 1);
    assert_int_equal(tree_exited(watch.tree), 0);
    assert_true(fabs(tree_ledger(watch.tree)->live.cpu_seconds - used) < 1e-9);
    put_process(4711, 1, 700, 1000);
    tree_refresh(watch.tree);
    assert_true(who(4711)->fresh);
    assert_true(tree_ledger(watch.tree)->live.cpu_seconds > used);
    remove_process(4711);
    tree_refresh(watch.tree);
    assert_null(who(4711));
    assert_int_equal(tree_exited(watch.tree), 1);
}

static void another_start_time_is_another_process(void **state)
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 500, 1000);
    tree_refresh(watch.tree);
    const uint64_t serial = who(4711)->subject.serial;
    put_process(4711, 1, 3, 1001);
    tree_refresh(watch.tree);
    assert_null(who(4711)); /* the one we knew is gone, whoever has its number */
    assert_int_equal(tree_exited(watch.tree), 1);
    assert_int_equal(tree_add_root(watch.tree, 4711), 0);
    tree_refresh(watch.tree);
    assert_true(who(4711)->subject.serial != serial);
    assert_int_equal(who(4711)->subject.incarnation, 2);
    assert_true(tree_ledger(watch.tree)->gone.cpu_seconds > 0); /* and what it did is kept */
    remove_process(4711);
}

static void children_of_whoever_has_an_ended_members_pid_are_not_ours(void **state)
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 1, 1000);
    put_process(4712, 4711, 1, 1001);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 2);
    put_process(4712, 1, 1, 2000); /* a stranger with the pid of our child that ended */
    put_process(4713, 4712, 1, 2001);
    put_process(4714, 4711, 1, 2002); /* a new child of our own */
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    assert_null(who(4712));
    assert_null(who(4713));
    assert_non_null(who(4714));
    assert_int_equal(tree_count(watch.tree), 2);
    for (pid_t pid = 4711; pid <= 4714; pid++)
        remove_process(pid);
}

static void end_both_waited_for(void)
{
    remove_process(4712);
    remove_process(4713);
    put_parent(4711, "another", 1, 10, 305, 1000);
}

static void end_both_the_younger_an_orphan(void)
{
    remove_process(4712);
    remove_process(4713);
    put_parent(4711, "another", 1, 10, 5, 1000);
}

/* A process (4713) and its parent end after the pass has read 4711, which waits for the parent. */
static double ticks_with_both_ended(void **state, void (*end_both)(void))
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 10, 1000);
    put_process(4712, 4711, 5, 1001);
    put_process(4713, 4712, 300, 1002);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 3);
    put_parent(4711, "another", 1, 10, 0, 1000);
    meanwhile = end_both;
    tree_refresh(watch.tree);
    meanwhile = NULL;
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 1);
    remove_process(4711);
    return tree_ledger(watch.tree)->published.cpu_seconds * (double)clock_ticks_per_second();
}

static void what_is_inherited_within_a_pass_is_counted_once(void **state)
{
    assert_true(fabs(ticks_with_both_ended(state, end_both_waited_for) - 315) < 0.001);
}

static void an_orphan_that_ends_within_a_pass_is_counted(void **state)
{
    assert_true(fabs(ticks_with_both_ended(state, end_both_the_younger_an_orphan) - 315) < 0.001);
}

static void a_tree_without_a_root_folder_says_so(void **state)
{
    struct tree_options options = tree_options_for(TREE_LISTINGS);
    struct metron_error error = {0};

    (void)state;
    options.proc_root = "/nowhere/proc";
    assert_null(tree_new(&options, &error));
    assert_non_null(strstr(error.message, "/nowhere/proc"));
    assert_int_equal(error.code, -ENOENT);
}

static void put_io(pid_t pid, const char *text)
{
    put_file(pid, "io", text, strlen(text));
}

#define IO_TEXT(RCHAR)                                                                                       \
    "rchar: " RCHAR                                                                                          \
    "\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 0\n"

static void io_that_can_no_longer_be_read_stays_as_it_was(void **state)
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 1, 1000);
    put_io(4711, IO_TEXT("1000"));
    tree_refresh(watch.tree);
    assert_true(who(4711)->has_io);
    assert_int_equal(tree_ledger(watch.tree)->live.counts[LEDGER_RCHAR], 1000);
    assert_int_equal(tree_ledger(watch.tree)->live.counts[LEDGER_WRITE_BYTES], 6);
    remove_file(4711, "io");
    tree_refresh(watch.tree);
    assert_int_equal(tree_ledger(watch.tree)->live.counts[LEDGER_RCHAR], 1000);
    put_io(4711, "rchar: 2000\nwchar: 2"); /* half a file is none */
    tree_refresh(watch.tree);
    assert_int_equal(tree_ledger(watch.tree)->live.counts[LEDGER_RCHAR], 1000);
    put_io(4711, IO_TEXT("3000"));
    tree_refresh(watch.tree);
    assert_int_equal(tree_ledger(watch.tree)->live.counts[LEDGER_RCHAR], 3000);
    remove_file(4711, "io");
    remove_process(4711);
}

static void a_tree_without_io_files_has_no_io(void **state)
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 1, 1000);
    tree_refresh(watch.tree);
    assert_true(who(4711)->fresh);
    assert_false(who(4711)->has_io);
    assert_false(tree_has_io(watch.tree));
    remove_process(4711);
}

/* A running process with so much memory, and the arguments that cmdline shows of it. */
static void put_program(const char *name, unsigned vsize, unsigned stack, const char *arguments,
                        size_t length)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "4711 (%s) R 1 1 1 0 -1 4194560 10 20 0 0 1 0 0 0 20 0 1 0 1000 %u 1 "
                   "18446744073709551615 1 1 %u 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                   name, vsize, stack);
    put_stat(4711, text);
    put_file(4711, "cmdline", arguments, length);
}

static void command_is_read_again_after_exec_but_not_at_exit(void **state)
{
    const char sleeps[] = "sleep\00060", shell[] = "sh\0-c\0true";

    watch_recorded(method_of(state));
    put_program("sleep", 4096, 1, sleeps, sizeof(sleeps));
    tree_refresh(watch.tree);
    assert_string_equal(who(4711)->command, "sleep 60");
    put_program("sh", 4096, 2, "", 0); /* in the middle of exec */
    tree_refresh(watch.tree);
    assert_string_equal(who(4711)->command, "[sh]");
    put_program("sh", 4096, 3, shell, sizeof(shell));
    tree_refresh(watch.tree);
    assert_string_equal(who(4711)->command, "sh -c true");
    put_program("sh", 0, 0, "", 0); /* exiting, and not a zombie yet: the kernel has dropped its memory */
    tree_refresh(watch.tree);
    assert_string_equal(who(4711)->command, "sh -c true");
    remove_file(4711, "cmdline");
    remove_process(4711);
}

/* Of `length` bytes in front of the NUL that ends it. */
static const struct process *one_with_a_long_command(size_t length)
{
    static const char word[] = "€"; /* three bytes, so that a cut is in one of them or behind it */
    char text[2 * TREE_COMMAND_BYTES];

    assert_true(length < sizeof(text));
    for (size_t i = 0; i < length; i++)
        text[i] = i < 4 ? "cat"[i] : word[(i - 4) % 3];
    text[length] = '\0';
    put_program("cat", 4096, (unsigned)length, text, length + 1);
    tree_refresh(watch.tree);
    return who(4711);
}

static void a_command_that_is_cut_says_so(void **state)
{
    (void)state;
    const size_t most = TREE_COMMAND_BYTES;

    watch_recorded(TREE_LISTINGS);
    const struct process *process = one_with_a_long_command(most - 1); /* with its NUL */
    assert_false(process->command_is_truncated);
    assert_false(text_ends_with(process->command, "…"));

    for (size_t more = 1; more <= 4; more++) {
        process = one_with_a_long_command(most + more);
        assert_true(process->command_is_truncated);
        assert_true(text_ends_with(process->command, "€'…") || text_ends_with(process->command, "€…"));
        assert_true(text_is_utf8(process->command));
        assert_in_range(strlen(process->command), most - 3, most + 8);
    }
    assert_false(one_with_a_long_command(100)->command_is_truncated);
    remove_file(4711, "cmdline");
    remove_process(4711);
}

static void thread_of_the_kernel_has_its_newest_name(void **state)
{
    watch_recorded(method_of(state));
    put_program("kworker/0:1", 0, 0, "", 0);
    tree_refresh(watch.tree);
    assert_string_equal(who(4711)->command, "[kworker/0:1]");
    put_program("kworker/0:1-mm", 0, 0, "", 0);
    tree_refresh(watch.tree);
    assert_string_equal(who(4711)->command, "[kworker/0:1-mm]");
    remove_file(4711, "cmdline");
    remove_process(4711);
}

/* What is said to be missing of a process that ignores these signals (a mask) and has a child. */
static bool loses_with_ignored(uint64_t ignored, enum tree_method method)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "4711 (made up) S 1 1 1 0 -1 4194560 10 20 0 0 1 0 0 0 20 0 1 0 1000 4096 1 "
                   "18446744073709551615 1 1 1 0 0 0 0 %lu 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                   (unsigned long)ignored);
    watch_recorded_as(method, true);
    put_stat(4711, text);
    put_process(4712, 4711, 1, 1001);
    for (int i = 0; i < 3; i++)
        tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 2);
    bool loses = tree_cpu_missing(watch.tree) != NULL;
    tree_free(watch.tree);
    watch.tree = NULL;
    remove_process(4712);
    remove_process(4711);
    return loses;
}

static void sigchld_is_told_from_other_ignored_signals(void **state)
{
    const uint64_t all = 0x7fffffff, sigchld = UINT64_C(1) << (SIGCHLD - 1);

    assert_true(loses_with_ignored(sigchld, method_of(state)));
    assert_true(loses_with_ignored(all, method_of(state)));
    assert_false(loses_with_ignored(all & ~sigchld, method_of(state)));
    assert_false(loses_with_ignored(0, method_of(state)));
}

/* ---- on its way out when the command exits ---- */

static void put_state(char state, unsigned flags, pid_t ppid, unsigned threads, const char *pending,
                      const char *handled)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "4711 (made up) %c %d 1 1 0 -1 %u 0 0 0 0 1 0 0 0 20 0 %u 0 1000 4096 1 0\n", state,
                   (int)ppid, flags, threads);
    put_stat(4711, text);
    (void)snprintf(text, sizeof(text),
                   "Name:\tmade up\nSigPnd:\t%s\nShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\n"
                   "SigIgn:\t0000000000000000\nSigCgt:\t%s\n",
                   pending, handled);
    put_file(4711, "status", text, strlen(text));
}

static void one_on_its_way_out_is_awaited(void **state)
{
    static const char none[] = "0000000000000000", term[] = "0000000000004000", kill[] = "0000000000004100",
                      abort[] = "0000000000000020", child[] = "0000000000010000";
    static const unsigned exiting = 0x400104, signalled = 0x400500, running = 0x400100;
    const pid_t self = getpid();
    const struct {
        char state;
        unsigned flags, threads;
        pid_t ppid;
        const char *pending, *handled;
        bool awaited;
    } cases[] = {
        {'S', running, 1, 1, none, none, false},
        {'R', running, 1, 1, kill, none, true},
        {'D', exiting, 1, 1, none, none, true},
        {'S', running, 1, 1, term, term, false},
        {'t', running, 1, 1, term, none, true},
        {'T', running, 1, 1, term, none, false},
        {'T', running, 1, 1, kill, none, true},
        {'R', running, 1, 1, abort, none, true}, /* it may write a core: no SIGKILL goes with it */
        {'R', running, 1, 1, abort, abort, false},
        {'R', signalled, 1, 1, none, none, true},
        {'R', running, 1, 1, child, none, false},
        {'Z', exiting, 2, 1, none, none, false},
        {'Z', exiting, 2, 1, kill, none, true},
        {'Z', exiting, 1, 1, none, none, false},
        {'Z', exiting, 1, self, none, none, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        watch_recorded_as(TREE_LISTINGS, true);
        put_state(cases[i].state, cases[i].flags, cases[i].ppid, cases[i].threads, cases[i].pending,
                  cases[i].handled);
        if (tree_awaits_exits(watch.tree, true) != cases[i].awaited)
            fail_msg("case %zu", i);
        assert_int_equal(tree_awaits_exits(watch.tree, false), cases[i].awaited);
        /* One that went on when the command had exited is not awaited, whatever becomes of it. */
        put_state('R', exiting, 1, 1, kill, none);
        assert_int_equal(tree_awaits_exits(watch.tree, false), cases[i].awaited);
        remove_file(4711, "status");
        remove_process(4711);
        assert_false(tree_awaits_exits(watch.tree, false));
        tree_free(watch.tree);
        watch.tree = NULL;
    }
}

int main(void)
{
    (void)by_connector;
    const struct CMUnitTest tests[] = {
        ONE_WAY(one_on_its_way_out_is_awaited, by_listings),
        ONE_WAY(a_process_that_cannot_be_read_costs_its_own_reading_and_nothing_more, by_listings),
        ONE_WAY(another_start_time_is_another_process, by_listings),
        ONE_WAY(children_of_whoever_has_an_ended_members_pid_are_not_ours, by_scan),
        ONE_WAY(what_is_inherited_within_a_pass_is_counted_once, by_scan),
        ONE_WAY(an_orphan_that_ends_within_a_pass_is_counted, by_scan),
        ONE_WAY(io_that_can_no_longer_be_read_stays_as_it_was, by_listings),
        ONE_WAY(a_tree_without_io_files_has_no_io, by_listings),
        ONE_WAY(command_is_read_again_after_exec_but_not_at_exit, by_listings),
        ONE_WAY(a_command_that_is_cut_says_so, by_listings),
        ONE_WAY(thread_of_the_kernel_has_its_newest_name, by_listings),
        ONE_WAY(sigchld_is_told_from_other_ignored_signals, by_scan),
        ONE_WAY(a_tree_without_a_root_folder_says_so, by_listings),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
