/* A command that starts inside control groups: real ones, skipped where none can be made. */
#include "launch/launch.h"

#include "cgroup_fixture.h"
#include "launch_fixture.h"

#include <sys/syscall.h>

#include "launch/signals.h"

static struct cgroup_place place;
static struct cgroup_leaf leaves[2];

static int find_place(void **state)
{
    (void)state;
    place = live_place();
    leaves[0] = leaves[1] = CGROUP_LEAF_NONE;
    return 0;
}

static int remove_leaves(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        cgroup_leaf_remove(&leaves[i]);
    cgroup_place_fini(&place);
    return 0;
}

static void make_leaf(size_t which, enum cgroup_controller controller, int version)
{
    assert_int_equal(cgroup_leaf_make(live_folder(&place, controller, version), version, &leaves[which]), 0);
}

/* Whether a /proc/PID/cgroup has a line of this hierarchy that ends in the leaf's name. */
static bool is_in(const char *text, const char *hierarchy, const struct cgroup_leaf *leaf)
{
    const char *line = strstr(text, hierarchy), *slash = strrchr(leaf->folder, '/');
    const char *end = line ? strchr(line, '\n') : NULL;
    size_t length = strlen(slash);

    return end && (size_t)(end - line) > length && memcmp(end - length, slash, length) == 0;
}

static void run_in(const struct launch_cgroup *cgroup, const char *script, char text[TEXT_BYTES])
{
    assert_int_equal(run_shell(script, (struct launch_options){.new_session = true, .cgroup = cgroup}, text),
                     0);
}

static void the_command_begins_inside_a_v2_group(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    make_leaf(0, CGROUP_UNIFIED, 2);
    /* Nothing to join by: it is inside from its first instruction or not at all. */
    const struct launch_cgroup cgroup = {.folder_fd = leaves[0].lock_fd, .procs_fd = -1};

    if (syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS) {
        print_message("this kernel, or a filter, does not know clone3\n");
        skip();
    }
    run_in(&cgroup, "cat /proc/self/cgroup", text);
    assert_true(is_in(text, "0::", &leaves[0]));
    run_in(&cgroup, "sh -c 'cat /proc/self/cgroup; :'; :", text); /* and so are its descendants */
    assert_true(is_in(text, "0::", &leaves[0]));
}

static void a_kernel_that_cannot_start_a_process_inside_moves_it(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    make_leaf(0, CGROUP_UNIFIED, 2);
    int no_group = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* clone3 refuses it */
    const struct launch_cgroup cgroup = {.folder_fd = no_group, .procs_fd = leaves[0].join_fd};

    run_in(&cgroup, "cat /proc/self/cgroup", text);
    assert_true(is_in(text, "0::", &leaves[0]));
    (void)close(no_group);
}

static void the_command_joins_v1_groups(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    make_leaf(0, CGROUP_MEMORY, 1);
    make_leaf(1, CGROUP_PIDS, 1);
    const int join_fds[] = {leaves[0].join_fd, leaves[1].join_fd};
    const struct launch_cgroup cgroup = {
        .folder_fd = -1, .procs_fd = -1, .join_fds = join_fds, .join_count = 2};

    run_in(&cgroup, "cat /proc/self/cgroup", text);
    assert_true(is_in(text, ":memory", &leaves[0]));
    assert_true(is_in(text, ":pids", &leaves[1]));
    run_in(&cgroup, "sh -c 'cat /proc/self/cgroup; :'; :", text);
    assert_true(is_in(text, ":memory", &leaves[0]));
}

static void nobody_but_the_command_is_moved(void **state)
{
    char text[TEXT_BYTES], before[4096] = "", after[4096] = "";
    (void)state;
    make_leaf(0, CGROUP_MEMORY, 1);
    const int join_fds[] = {leaves[0].join_fd};
    const struct launch_cgroup cgroup = {
        .folder_fd = -1, .procs_fd = -1, .join_fds = join_fds, .join_count = 1};

    assert_true(file_read(AT_FDCWD, "/proc/self/cgroup", before, sizeof(before) - 1) > 0);
    run_in(&cgroup, "true", text);
    assert_true(file_read(AT_FDCWD, "/proc/self/cgroup", after, sizeof(after) - 1) > 0);
    assert_string_equal(before, after);
    /* and another command, without a group, starts where we are */
    assert_int_equal(run_shell("cat /proc/self/cgroup", (struct launch_options){.new_session = true}, text),
                     0);
    assert_string_equal(text, before);
}

static void a_group_that_cannot_be_entered_is_an_error_and_nothing_runs(void **state)
{
    char *argv[] = {"true", NULL};
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC), before = count_descriptors();
    const struct launch_cgroup cgroup = {.folder_fd = -1, .procs_fd = -1, .join_fds = &full, .join_count = 1};
    const struct launch_options options = {.argv = argv, .new_session = true, .cgroup = &cgroup};
    struct launched launched;
    struct metron_error error = {0};
    (void)state;

    assert_true(full >= 0);
    assert_int_equal(launch_start(&options, &launched, &error), -ENOSPC);
    assert_non_null(strstr(error.message, "control group"));
    assert_non_null(strstr(error.message, "--cgroup off"));
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    (void)close(full);
}

#define IN_GROUPS(NAME) cmocka_unit_test_setup_teardown(NAME, find_place, remove_leaves)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_GROUPS(the_command_begins_inside_a_v2_group),
        IN_GROUPS(a_kernel_that_cannot_start_a_process_inside_moves_it),
        IN_GROUPS(the_command_joins_v1_groups),
        IN_GROUPS(nobody_but_the_command_is_moved),
        IN_GROUPS(a_group_that_cannot_be_entered_is_an_error_and_nothing_runs),
    };

    launch_signals_save();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
