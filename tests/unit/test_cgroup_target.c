/* The group of a target: own, inherited or none, on this machine and on recorded ones. */
#include "probe/cgroup/target.h"

#include "cgroup_fixture.h"

#include "probe/breakage.h"

static struct cgroup_target target;
static struct metron_error error;

static int reset(void **state)
{
    (void)state;
    target = (struct cgroup_target){0};
    error = (struct metron_error){0};
    return 0;
}

static int close_target(void **state)
{
    breakage_set(NULL);
    cgroup_target_close(&target);
    return remove_layout(state);
}

static int open_live(enum cgroup_mode mode, bool look_only)
{
    struct cgroup_place place = live_place();
    return cgroup_target_open(&target, &place, mode, look_only, &error);
}

static int open_copied(const char *layout, enum cgroup_mode mode, bool look_only)
{
    copy_layout(layout);
    struct cgroup_place place = copied_place();
    return cgroup_target_open(&target, &place, mode, look_only, &error);
}

/* Opens an own leaf, or skips where this machine has none to give. */
static void open_own(void)
{
    if (open_live(CGROUP_MODE_OWN, false) < 0) {
        print_message("%s\n", error.message);
        skip();
    }
    assert_int_equal(target.scope, CGROUP_SCOPE_OWN);
    assert_null(target.why_not_own);
}

static const char *folder_of(enum cgroup_controller controller, int *version, const char **reason)
{
    return cgroup_target_folder(&target, controller, version, reason);
}

/* How many leaves of this process are below the groups it was started in. */
static unsigned leaves_of(const struct cgroup_place *place)
{
    unsigned count = 0;

    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        /* In v2 all controllers are in one folder. */
        if (place->spots[i].version == 1 || (place->spots[i].version == 2 && i == CGROUP_UNIFIED))
            count += leaves_below(place->spots[i].folder);
    return count;
}

static unsigned leaves_now(void)
{
    struct cgroup_place place = live_place();
    unsigned count = leaves_of(&place);

    cgroup_place_fini(&place);
    return count;
}

/* ---- own ---- */

static void an_own_leaf_is_below_the_group_it_was_started_in(void **state)
{
    (void)state;
    open_own();
    assert_int_not_equal(leaves_now(), 0);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        const struct cgroup_spot *spot = &target.place.spots[i];
        if (!target.leaves[i].folder)
            continue;
        size_t length = strlen(spot->folder);
        assert_memory_equal(target.leaves[i].folder, spot->folder, length); /* limits above still bind */
        assert_int_equal(target.leaves[i].folder[length], '/');
        assert_null(strchr(target.leaves[i].folder + length + 1, '/'));
        assert_int_equal(access(target.leaves[i].folder, F_OK), 0);
    }
}

static void every_hierarchy_that_counts_without_changing_anything_has_a_leaf(void **state)
{
    static const enum cgroup_controller counted[] = {CGROUP_MEMORY, CGROUP_PIDS};
    int version;
    const char *reason;

    (void)state;
    open_own();
    for (size_t i = 0; i < 2; i++) {
        const struct cgroup_spot *spot = &target.place.spots[counted[i]];
        const char *folder = folder_of(counted[i], &version, &reason);
        if (spot->version != 1)
            continue;
        assert_ptr_equal(folder, target.leaves[counted[i]].folder);
        assert_int_equal(version, 1);
        assert_null(reason);
    }
    assert_null(target.leaves[CGROUP_CPU].folder); /* it would change scheduling */
    assert_null(target.leaves[CGROUP_IO].folder);  /* v1: it would leave the limits above */
    const char *cpu = folder_of(CGROUP_CPU, &version, &reason);
    if (target.place.spots[CGROUP_CPU].version)
        assert_ptr_equal(cpu, target.place.spots[CGROUP_CPU].folder); /* read where we were started */
}

static void cpu_time_is_counted_once_in_the_v2_leaf_where_there_is_one(void **state)
{
    int version;
    const char *reason;

    (void)state;
    open_own();
    if (target.leaves[CGROUP_UNIFIED].folder) {
        assert_ptr_equal(folder_of(CGROUP_UNIFIED, &version, &reason), target.leaves[CGROUP_UNIFIED].folder);
        assert_int_equal(version, 2);
        assert_null(folder_of(CGROUP_CPUACCT, &version, &reason));
        assert_non_null(reason);
        assert_null(target.leaves[CGROUP_CPUACCT].folder);
    } else {
        assert_non_null(folder_of(CGROUP_CPUACCT, &version, &reason));
    }
}

static void nothing_is_left_after_it_is_closed(void **state)
{
    (void)state;
    open_own();
    cgroup_target_close(&target);
    assert_int_equal(leaves_now(), 0);
    cgroup_target_close(&target); /* twice is once */
    struct cgroup_target zeroed = {0};
    cgroup_target_close(&zeroed);
}

static void nobody_is_moved(void **state)
{
    char before[4096] = "", after[4096] = "";

    (void)state;
    assert_true(file_read(AT_FDCWD, "/proc/self/cgroup", before, sizeof(before) - 1) > 0);
    open_own();
    if (!target.aside.folder) { /* only to make room in a delegated v2 group, and then back again */
        assert_true(file_read(AT_FDCWD, "/proc/self/cgroup", after, sizeof(after) - 1) > 0);
        assert_string_equal(before, after);
    }
    cgroup_target_close(&target);
    memset(after, 0, sizeof(after));
    assert_true(file_read(AT_FDCWD, "/proc/self/cgroup", after, sizeof(after) - 1) > 0);
    assert_string_equal(before, after);
}

static void the_command_enters_its_v1_leaves_by_these_files(void **state)
{
    int join_fds[CGROUP_CONTROLLER_COUNT];
    size_t wanted = 0;

    (void)state;
    open_own();
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        wanted += i != CGROUP_UNIFIED && target.leaves[i].folder;
    size_t count = cgroup_target_entrances(&target, join_fds);
    assert_int_equal(count, wanted); /* the v2 leaf is entered at the fork */
    pid_t member = start_member(join_fds, count);
    struct cgroup_place place;
    assert_int_equal(cgroup_place_find("/proc", "", (int)member, &place), 0);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        if (i != CGROUP_UNIFIED && target.leaves[i].folder)
            assert_string_equal(place.spots[i].folder, target.leaves[i].folder);
    cgroup_place_fini(&place);
    end_member(member);
}

static void everybody_in_the_leaf_is_killed_at_once(void **state)
{
    int status;

    (void)state;
    open_own();
    if (!target.leaves[CGROUP_UNIFIED].folder) {
        assert_false(cgroup_target_kill(&target));
        print_message("no v2 leaf here\n");
        skip();
    }
    pid_t members[2];
    for (size_t i = 0; i < 2; i++)
        members[i] = start_member(&target.leaves[CGROUP_UNIFIED].join_fd, 1);
    if (!cgroup_target_kill(&target)) {
        for (size_t i = 0; i < 2; i++)
            end_member(members[i]);
        print_message("no cgroup.kill here (from Linux 5.14)\n");
        skip();
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(waitpid(members[i], &status, 0), members[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
}

static void a_leaf_that_somebody_is_still_in_is_removed_by_the_next_run(void **state)
{
    int join_fds[CGROUP_CONTROLLER_COUNT];

    (void)state;
    open_own();
    size_t count = cgroup_target_entrances(&target, join_fds);
    if (count == 0)
        join_fds[count++] = target.leaves[CGROUP_UNIFIED].join_fd;
    pid_t member = start_member(join_fds, count);
    cgroup_target_close(&target);
    assert_int_equal(leaves_now(), count);
    open_own(); /* the same pid: another name */
    assert_true(leaves_now() > count);
    end_member(member);
    cgroup_target_close(&target);
    for (int tries = 0; tries < 3000 && leaves_now() > 0; tries++) {
        usleep(20000);
        open_own();
        cgroup_target_close(&target);
    }
    assert_int_equal(leaves_now(), 0);
}

/* ---- the other modes ---- */

static void auto_is_own_where_that_can_be_had(void **state)
{
    (void)state;
    bool can = open_live(CGROUP_MODE_OWN, false) == 0;
    cgroup_target_close(&target);
    assert_int_equal(open_live(CGROUP_MODE_AUTO, false), 0);
    assert_int_equal(target.scope == CGROUP_SCOPE_OWN, can);
    assert_int_equal(target.why_not_own == NULL, can);
}

static void an_inherited_group_is_read_where_it_is_and_nothing_is_made(void **state)
{
    int version;
    const char *reason;

    (void)state;
    assert_int_equal(open_live(CGROUP_MODE_INHERITED, false), 0);
    assert_int_equal(leaves_now(), 0);
    assert_non_null(strstr(target.why_not_own, "not wanted"));
    int join_fds[CGROUP_CONTROLLER_COUNT];
    assert_int_equal(cgroup_target_entrances(&target, join_fds), 0);
    assert_false(cgroup_target_kill(&target)); /* it may hold others */
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        const struct cgroup_spot *spot = &target.place.spots[i];
        const char *folder = folder_of((enum cgroup_controller)i, &version, &reason);
        if (!spot->version || (spot->is_root && i != CGROUP_CPU)) {
            assert_null(folder);
            assert_non_null(reason);
        } else {
            assert_string_equal(folder, spot->folder);
            assert_int_equal(version, spot->version);
            assert_null(reason);
        }
    }
}

static void switched_off_nothing_is_looked_at(void **state)
{
    int version;
    const char *reason;

    (void)state;
    assert_int_equal(open_live(CGROUP_MODE_OFF, false), 0);
    assert_int_equal(target.scope, CGROUP_SCOPE_NONE);
    assert_int_equal(leaves_now(), 0);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        assert_null(folder_of((enum cgroup_controller)i, &version, &reason));
        assert_string_equal(reason, "switched off");
    }
}

static void a_look_makes_nothing_and_tells_what_a_run_would_get(void **state)
{
    const char *reasons[CGROUP_CONTROLLER_COUNT];

    (void)state;
    assert_int_equal(open_live(CGROUP_MODE_AUTO, true), 0);
    assert_int_equal(leaves_now(), 0);
    enum cgroup_scope looked = target.scope;
    memcpy(reasons, target.reasons, sizeof(reasons));
    cgroup_target_close(&target);
    assert_int_equal(open_live(CGROUP_MODE_AUTO, false), 0);
    assert_int_equal(target.scope, looked);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        assert_int_equal(target.reasons[i] == NULL, reasons[i] == NULL);
}

static void a_broken_reader_is_no_group(void **state)
{
    (void)state;
    breakage_set("cgroup");
    assert_int_equal(open_live(CGROUP_MODE_AUTO, false), 0);
    assert_int_equal(target.scope, CGROUP_SCOPE_NONE);
    assert_non_null(target.why_not_own);
    assert_int_equal(leaves_now(), 0);
    cgroup_target_close(&target);
    assert_int_equal(open_live(CGROUP_MODE_OWN, false), -EACCES);
}

static void without_permission_own_is_an_error_and_auto_is_not(void **state)
{
    (void)state;
    if (!become_ordinary_user()) {
        print_message("only root can become somebody else\n");
        skip();
    }
    int own = open_live(CGROUP_MODE_OWN, false);
    bool says = strstr(error.message, "--cgroup own") && strstr(error.message, "permission");
    cgroup_target_close(&target);
    int code = open_live(CGROUP_MODE_AUTO, false);
    bool reasons = target.why_not_own != NULL;
    enum cgroup_scope scope = target.scope;
    become_root();
    assert_int_equal(own, -EACCES);
    assert_true(says || strstr(error.message, "read-only"));
    assert_int_equal(code, 0);
    assert_true(reasons);
    assert_int_not_equal(scope, CGROUP_SCOPE_OWN);
    assert_int_equal(leaves_now(), 0);
}

/* ---- recorded layouts: folders, but no kernel that makes groups of them ---- */

static void where_the_kernel_makes_no_group_auto_inherits_and_leaves_nothing(void **state)
{
    static const char *const layouts[] = {"v2-6.12",     "v2-5.10",      "v1-batch",
                                          "hybrid-6.18", "container-v1", "container-v2"};

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        char command[256];

        assert_int_equal(open_copied(layouts[i], CGROUP_MODE_AUTO, false), 0);
        assert_int_equal(target.scope, CGROUP_SCOPE_INHERITED);
        assert_non_null(target.why_not_own);
        cgroup_target_close(&target);
        (void)snprintf(command, sizeof(command), "test -z \"$(find '%s' -name 'metron-*' | grep '/sys/')\"",
                       copied);
        assert_int_equal(system(command), 0);
        assert_int_equal(remove_layout(state), 0);
    }
}

static void a_batch_system_scopes_memory_and_not_cpu(void **state)
{
    int version;
    const char *reason;

    (void)state;
    assert_int_equal(open_copied("v1-batch", CGROUP_MODE_INHERITED, false), 0);
    assert_int_equal(target.scope, CGROUP_SCOPE_INHERITED);
    const char *memory = folder_of(CGROUP_MEMORY, &version, &reason);
    assert_non_null(memory);
    assert_non_null(strstr(memory, "/memory/slurm/uid_1000/job_42/step_0/task_0"));
    assert_int_equal(version, 1);
    assert_null(folder_of(CGROUP_CPUACCT, &version, &reason));
    assert_non_null(strstr(reason, "root group"));
    assert_null(folder_of(CGROUP_UNIFIED, &version, &reason));
    assert_non_null(reason);
}

/* A leaf must count, and change nothing. */
static void a_v1_leaf_that_would_change_something_is_refused(void **state)
{
    (void)state;
    (void)open_copied("v1-batch", CGROUP_MODE_AUTO, true);
    assert_non_null(strstr(target.reasons[CGROUP_CPUACCT], "together with cpu"));
    assert_non_null(strstr(target.reasons[CGROUP_IO], "blkio"));
    assert_null(target.reasons[CGROUP_MEMORY]);
    char folder[512];
    (void)snprintf(folder, sizeof(folder), "%s", target.place.spots[CGROUP_MEMORY].folder);
    cgroup_target_close(&target);
    group_put(folder, "memory.use_hierarchy", "0\n");
    struct cgroup_place place = copied_place();
    (void)cgroup_target_open(&target, &place, CGROUP_MODE_AUTO, true, &error);
    assert_non_null(strstr(target.reasons[CGROUP_MEMORY], "use_hierarchy"));
}

static void a_hybrid_hosts_v2_root_is_not_the_targets(void **state)
{
    int version;
    const char *reason;

    (void)state;
    assert_int_equal(open_copied("hybrid-6.18", CGROUP_MODE_INHERITED, false), 0);
    assert_null(folder_of(CGROUP_UNIFIED, &version, &reason));
    assert_non_null(strstr(reason, "root group"));
    assert_non_null(folder_of(CGROUP_MEMORY, &version, &reason));
    assert_int_equal(version, 1);
}

static void in_a_container_the_top_group_is_the_targets(void **state)
{
    int version;
    const char *reason;

    (void)state;
    assert_int_equal(open_copied("container-v2", CGROUP_MODE_INHERITED, false), 0);
    assert_non_null(folder_of(CGROUP_MEMORY, &version, &reason)); /* "/" of a namespace is no root group */
    assert_int_equal(version, 2);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, reset, close_target)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_own_leaf_is_below_the_group_it_was_started_in),
        TEST(every_hierarchy_that_counts_without_changing_anything_has_a_leaf),
        TEST(cpu_time_is_counted_once_in_the_v2_leaf_where_there_is_one),
        TEST(nothing_is_left_after_it_is_closed),
        TEST(nobody_is_moved),
        TEST(the_command_enters_its_v1_leaves_by_these_files),
        TEST(everybody_in_the_leaf_is_killed_at_once),
        TEST(a_leaf_that_somebody_is_still_in_is_removed_by_the_next_run),
        TEST(auto_is_own_where_that_can_be_had),
        TEST(an_inherited_group_is_read_where_it_is_and_nothing_is_made),
        TEST(switched_off_nothing_is_looked_at),
        TEST(a_look_makes_nothing_and_tells_what_a_run_would_get),
        TEST(a_broken_reader_is_no_group),
        TEST(without_permission_own_is_an_error_and_auto_is_not),
        TEST(where_the_kernel_makes_no_group_auto_inherits_and_leaves_nothing),
        TEST(a_batch_system_scopes_memory_and_not_cpu),
        TEST(a_v1_leaf_that_would_change_something_is_refused),
        TEST(a_hybrid_hosts_v2_root_is_not_the_targets),
        TEST(in_a_container_the_top_group_is_the_targets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
