/* Groups that metron makes for itself, real ones: locked while their maker lives, swept when it died. */
#include "probe/cgroup/leaf.h"

#include "cgroup_fixture.h"

#include <sys/file.h>
#include <sys/xattr.h>

/* Leaves are made below a group of the test's own, so that no metron on this machine meets them. */
static char parent[480];
static int version;

static enum cgroup_controller in_v1 = CGROUP_PIDS, in_v2 = CGROUP_UNIFIED;

static int make_parent(void **state)
{
    enum cgroup_controller controller = *(enum cgroup_controller *)*state;
    struct cgroup_place place = live_place();
    const struct cgroup_spot *spot = &place.spots[controller];

    parent[0] = '\0';
    version = controller == CGROUP_UNIFIED ? 2 : 1;
    if (spot->version == version && !cgroup_leaf_refusal(spot)) {
        (void)snprintf(parent, sizeof(parent), "%s/metron-test-%d", spot->folder, (int)getpid());
        if (mkdir(parent, 0755) != 0)
            parent[0] = '\0';
    }
    cgroup_place_fini(&place);
    return 0;
}

static int remove_parent(void **state)
{
    (void)state;
    if (!parent[0])
        return 0;
    cgroup_leaf_sweep(parent);
    return rmdir(parent);
}

static void need_parent(void)
{
    if (!parent[0]) {
        print_message("no v%d group can be made here\n", version);
        skip();
    }
}

static bool is_locked(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool locked;

    assert_true(fd >= 0);
    locked = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return locked;
}

/* A leaf whose maker is no more; `member` (may be NULL) gets a process that stayed inside. */
static void leave_behind(char folder[512], pid_t *member)
{
    int told[2];
    pid_t pids[2] = {0};

    assert_int_equal(pipe(told), 0);
    pids[0] = fork();
    assert_true(pids[0] >= 0);
    if (pids[0] == 0) {
        struct cgroup_leaf leaf;
        pid_t stays = 0;
        if (cgroup_leaf_make(parent, version, &leaf) < 0)
            _exit(1);
        if (member)
            stays = start_member(&leaf.join_fd, 1);
        _exit(write(told[1], &stays, sizeof(stays)) == sizeof(stays) ? 0 : 1);
    }
    assert_int_equal(read(told[0], &pids[1], sizeof(pids[1])), sizeof(pids[1]));
    assert_int_equal(waitpid(pids[0], NULL, 0), pids[0]);
    (void)close(told[0]);
    (void)close(told[1]);
    if (member)
        *member = pids[1];
    (void)snprintf(folder, 512, "%s/metron-%d", parent, (int)pids[0]);
    assert_int_equal(access(folder, F_OK), 0);
}

static void a_leaf_is_named_after_its_maker_and_locked(void **state)
{
    struct cgroup_leaf leaf;
    char expected[600];

    (void)state;
    need_parent();
    assert_int_equal(cgroup_leaf_make(parent, version, &leaf), 0);
    (void)snprintf(expected, sizeof(expected), "%s/metron-%d", parent, (int)getpid());
    assert_string_equal(leaf.folder, expected);
    assert_true(is_locked(expected));
    assert_true(fcntl(leaf.lock_fd, F_GETFD) & FD_CLOEXEC); /* or the command would hold the lock */
    assert_true(fcntl(leaf.join_fd, F_GETFD) & FD_CLOEXEC);
    cgroup_leaf_remove(&leaf);
    assert_int_equal(access(expected, F_OK), -1);
    assert_null(leaf.folder);
    assert_int_equal(leaf.lock_fd, -1);
    assert_int_equal(leaf.join_fd, -1);
    cgroup_leaf_remove(&leaf); /* twice is once */
}

static void a_process_enters_by_the_file_that_is_open(void **state)
{
    struct cgroup_leaf leaf;
    char path[600], text[64];

    (void)state;
    need_parent();
    assert_int_equal(cgroup_leaf_make(parent, version, &leaf), 0);
    pid_t member = start_member(&leaf.join_fd, 1);
    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", leaf.folder);
    ssize_t length = file_read(AT_FDCWD, path, text, sizeof(text) - 1);
    assert_true(length > 0);
    text[length] = '\0';
    assert_int_equal(strtol(text, NULL, 10), member);
    end_member(member);
    (void)snprintf(path, sizeof(path), "%s", leaf.folder);
    cgroup_leaf_remove(&leaf);
    cgroup_leaf_sweep(parent);
    assert_true(await_gone(path));
}

static void names_do_not_collide(void **state)
{
    struct cgroup_leaf leaves[3];

    (void)state;
    need_parent();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(cgroup_leaf_make(parent, version, &leaves[i]), 0);
    assert_string_not_equal(leaves[0].folder, leaves[1].folder);
    assert_string_not_equal(leaves[1].folder, leaves[2].folder);
    assert_int_equal(leaves_below(parent), 3);
    for (size_t i = 0; i < 3; i++)
        cgroup_leaf_remove(&leaves[i]);
    assert_int_equal(leaves_below(parent), 0);
}

static void a_leaf_whose_maker_died_is_swept(void **state)
{
    char folder[512];

    (void)state;
    need_parent();
    leave_behind(folder, NULL);
    assert_false(is_locked(folder));
    cgroup_leaf_sweep(parent);
    assert_int_equal(access(folder, F_OK), -1);
}

static void a_leaf_in_use_is_not_swept(void **state)
{
    struct cgroup_leaf leaf;

    (void)state;
    need_parent();
    assert_int_equal(cgroup_leaf_make(parent, version, &leaf), 0);
    pid_t other = fork(); /* another metron */
    if (other == 0) {
        (void)close(leaf.lock_fd); /* inherited by this fork alone */
        cgroup_leaf_sweep(parent);
        _exit(0);
    }
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_int_equal(access(leaf.folder, F_OK), 0);
    cgroup_leaf_sweep(parent);
    assert_int_equal(access(leaf.folder, F_OK), 0);
    cgroup_leaf_remove(&leaf);
}

static void a_leaf_with_members_is_swept_once_they_are_gone(void **state)
{
    char folder[512];
    pid_t member;

    (void)state;
    need_parent();
    leave_behind(folder, &member);
    cgroup_leaf_sweep(parent);
    assert_int_equal(access(folder, F_OK), 0);
    assert_int_equal(kill(member, 0), 0);       /* nor is anybody killed for it */
    assert_int_equal(kill(member, SIGKILL), 0); /* init, or who adopted it, waits for it */
    for (int ms = 0; ms < 5000 && access(folder, F_OK) == 0; ms++) {
        usleep(1000);
        cgroup_leaf_sweep(parent);
    }
    assert_int_equal(access(folder, F_OK), -1);
}

static void a_leaf_that_still_has_members_stays_unlocked(void **state)
{
    struct cgroup_leaf leaf;
    char folder[512];

    (void)state;
    need_parent();
    assert_int_equal(cgroup_leaf_make(parent, version, &leaf), 0);
    (void)snprintf(folder, sizeof(folder), "%s", leaf.folder);
    pid_t member = start_member(&leaf.join_fd, 1);
    cgroup_leaf_remove(&leaf);
    assert_int_equal(access(folder, F_OK), 0);
    assert_false(is_locked(folder));
    end_member(member);
    for (int ms = 0; ms < 5000 && access(folder, F_OK) == 0; ms++) {
        usleep(1000);
        cgroup_leaf_sweep(parent);
    }
    assert_int_equal(access(folder, F_OK), -1);
}

static void groups_that_the_target_made_go_with_the_leaf(void **state)
{
    struct cgroup_leaf leaf;
    char path[600];
    static const char *const below[] = {"", "/a", "/a/b", "/c"};

    (void)state;
    need_parent();
    assert_int_equal(cgroup_leaf_make(parent, version, &leaf), 0);
    for (size_t i = 1; i < sizeof(below) / sizeof(below[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", leaf.folder, below[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    (void)snprintf(path, sizeof(path), "%s", leaf.folder);
    cgroup_leaf_remove(&leaf);
    assert_int_equal(access(path, F_OK), -1);
}

static void groups_below_a_leaf_that_somebody_is_left_in_are_still_his(void **state)
{
    struct cgroup_leaf leaf;
    char folder[512], path[600];

    (void)state;
    need_parent();
    assert_int_equal(cgroup_leaf_make(parent, version, &leaf), 0);
    (void)snprintf(folder, sizeof(folder), "%s", leaf.folder);
    (void)snprintf(path, sizeof(path), "%s/payload", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    pid_t member = start_member(&leaf.join_fd, 1);
    cgroup_leaf_remove(&leaf);
    assert_int_equal(access(path, F_OK), 0);
    cgroup_leaf_sweep(parent);
    assert_int_equal(access(path, F_OK), 0);
    end_member(member);
    for (int tries = 0; tries < 6000 && access(folder, F_OK) == 0; tries++) {
        cgroup_leaf_sweep(parent);
        usleep(10000);
    }
    assert_int_equal(access(folder, F_OK), -1);
}

/* Plain folders with systemd's mark on them. */
static void a_mark_counts_only_within_its_own_unit(void **state)
{
    static const char *const below[] = {"", "/user@1000.service", "/user@1000.service/mine",
                                        "/user@1000.service/app.slice",
                                        "/user@1000.service/app.slice/term.scope"};
    char top[] = "/tmp/metron-delegate-XXXXXX", folders[5][256];
    bool marked = false;

    (void)state;
    assert_non_null(mkdtemp(top));
    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(folders[i], sizeof(folders[i]), "%s%s", top, below[i]);
        assert_true(i == 0 || mkdir(folders[i], 0755) == 0);
    }
    marked = setxattr(folders[1], geteuid() == 0 ? "trusted.delegate" : "user.delegate", "1", 1, 0) == 0;
    bool delegated[5];
    for (size_t i = 0; i < 5; i++)
        delegated[i] = cgroup_spot_is_delegated(
            &(struct cgroup_spot){.version = 2, .folder = folders[i], .top_length = strlen(top)});
    for (size_t i = 5; i-- > 0;)
        assert_int_equal(rmdir(folders[i]), 0);
    if (!marked) {
        print_message("the file system of /tmp takes no such attributes\n");
        skip();
    }
    assert_false(delegated[0]);
    assert_true(delegated[1]);
    assert_true(delegated[2]);
    assert_false(delegated[3]); /* a unit of its own: the user's systemd has it */
    assert_false(delegated[4]);
}

static void only_our_names_are_swept(void **state)
{
    static const char *const names[] = {"metron",   "metron-",        "metron-x1",       "metronome-1",
                                        "1",        "other-metron-1", "metron-2024-lab", "metron-7-self-x",
                                        "metron-7-"};
    char path[600];

    (void)state;
    need_parent();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", parent, names[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    cgroup_leaf_sweep(parent);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", parent, names[i]);
        assert_int_equal(rmdir(path), 0);
    }
}

static void a_folder_that_is_no_group_gets_nothing(void **state)
{
    char folder[] = "/tmp/metron-leaf-XXXXXX";
    struct cgroup_leaf leaf;

    (void)state;
    assert_int_equal(cgroup_leaf_make("/nowhere", 1, &leaf), -ENOENT);
    assert_null(leaf.folder);
    assert_non_null(mkdtemp(folder));
    assert_true(cgroup_leaf_make(folder, 1, &leaf) < 0);
    assert_null(leaf.folder);
    assert_true(leaf.lock_fd < 0 && leaf.join_fd < 0);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
    cgroup_leaf_sweep("/nowhere");
}

static void an_ordinary_user_is_told_that_it_may_not(void **state)
{
    struct cgroup_place place = live_place();

    (void)state;
    if (!become_ordinary_user()) {
        cgroup_place_fini(&place);
        print_message("only root can become somebody else\n");
        skip();
    }
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        const char *refusal = place.spots[i].version ? cgroup_leaf_refusal(&place.spots[i]) : NULL;
        if (place.spots[i].version &&
            (!refusal || (!strstr(refusal, "permission") && !strstr(refusal, "read-only")))) {
            become_root();
            fail_msg("controller %d: %s", i, refusal ? refusal : "no refusal");
        }
    }
    become_root();
    cgroup_place_fini(&place);
}

static void what_systemd_manages_is_told_by_the_first_name(void **state)
{
    static const struct {
        const char *path;
        bool systemds;
    } cases[] = {
        {"/", true}, /* the root is its own */
        {"/user.slice/user-1000.slice/session-3.scope", true},
        {"/system.slice/slurmd.service", true},
        {"/init.scope", true},
        {"/machine.slice/libpod-1.scope/container", true},
        {"/a.service", true},
        {"/slurm/uid_1000/job_42", false}, /* another manager's */
        {"/docker/9f1c2b7e5a40", false},
        {"/jobs/system.slice", false},
        {"/user.slicer/x", false},
        {"/slice", false},
        {"/.slice", false}, /* no name */
        {"/scope/x.scope", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (cgroup_path_is_systemds(cases[i].path, true, false) != cases[i].systemds)
            fail_msg("%s", cases[i].path);
        assert_false(cgroup_path_is_systemds(cases[i].path, true, true)); /* it was handed over */
        assert_false(cgroup_path_is_systemds(cases[i].path, false, false));
    }
}

#define BOTH(NAME)                                                                                           \
    {#NAME "_in_v1", NAME, make_parent, remove_parent, &in_v1},                                              \
    {                                                                                                        \
#NAME "_in_v2", NAME, make_parent, remove_parent, &in_v2                                             \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_leaf_is_named_after_its_maker_and_locked),
        BOTH(a_process_enters_by_the_file_that_is_open),
        BOTH(names_do_not_collide),
        BOTH(a_leaf_whose_maker_died_is_swept),
        BOTH(a_leaf_in_use_is_not_swept),
        BOTH(a_leaf_with_members_is_swept_once_they_are_gone),
        BOTH(a_leaf_that_still_has_members_stays_unlocked),
        BOTH(groups_that_the_target_made_go_with_the_leaf),
        BOTH(groups_below_a_leaf_that_somebody_is_left_in_are_still_his),
        BOTH(only_our_names_are_swept),
        cmocka_unit_test(a_mark_counts_only_within_its_own_unit),
        cmocka_unit_test(a_folder_that_is_no_group_gets_nothing),
        cmocka_unit_test(an_ordinary_user_is_told_that_it_may_not),
        cmocka_unit_test(what_systemd_manages_is_told_by_the_first_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
