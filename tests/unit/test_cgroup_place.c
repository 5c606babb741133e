/* Where a process stands in each hierarchy: every layout that is recorded, and made-up ones. */
#include "probe/cgroup/place.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"

#define LAYOUTS METRON_FIXTURES "/cgroup/"
#define SCOPE   "/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1f2.scope"
#define TASK    "/slurm/uid_1000/job_42/step_0/task_0"

static void place_of(const char *layout, int pid, struct cgroup_place *place)
{
    char proc_root[600], prefix[512];

    (void)snprintf(prefix, sizeof(prefix), "%s%s", LAYOUTS, layout);
    (void)snprintf(proc_root, sizeof(proc_root), "%s/proc", prefix);
    assert_int_equal(cgroup_place_find(proc_root, prefix, pid, place), 0);
}

/* `folder` is told without the layout's own. */
static void assert_spot(const struct cgroup_place *place, int controller, int version, const char *layout,
                        const char *folder, const char *path)
{
    const struct cgroup_spot *spot = &place->spots[controller];
    char expected[1024];

    if (spot->version == 0)
        print_error("controller %d: %s\n", controller, spot->reason);
    assert_int_equal(spot->version, version);
    assert_null(spot->reason);
    (void)snprintf(expected, sizeof(expected), "%s%s%s", LAYOUTS, layout, folder);
    assert_string_equal(spot->folder, expected);
    assert_string_equal(spot->path, path);
}

static void assert_no_spot(const struct cgroup_place *place, int controller, const char *reason)
{
    const struct cgroup_spot *spot = &place->spots[controller];

    assert_int_equal(spot->version, 0);
    assert_null(spot->folder);
    assert_null(spot->path);
    assert_string_equal(spot->reason, reason);
}

/* How many groups can be seen from the spot up, itself counted; the last is the top. */
static int groups_seen(const struct cgroup_spot *spot)
{
    char *folder = strdup(spot->folder);
    int count = 1;

    assert_non_null(folder);
    while (cgroup_spot_ascend(spot, folder))
        count++;
    assert_int_equal(strlen(folder), spot->top_length);
    assert_memory_equal(folder, spot->folder, spot->top_length);
    free(folder);
    return count;
}

static void controllers_of_v2_are_where_they_are_enabled(void **state)
{
    (void)state;
    static const char layout[] = "v2-6.12";
    struct cgroup_place place;

    place_of(layout, 0, &place);
    assert_spot(&place, CGROUP_UNIFIED, 2, layout, "/sys/fs/cgroup" SCOPE, SCOPE);
    assert_spot(&place, CGROUP_MEMORY, 2, layout, "/sys/fs/cgroup" SCOPE, SCOPE);
    assert_spot(&place, CGROUP_PIDS, 2, layout, "/sys/fs/cgroup" SCOPE, SCOPE);
    assert_no_spot(&place, CGROUP_CPU, "the cpu controller is not enabled for this group");
    assert_no_spot(&place, CGROUP_IO, "the io controller is not enabled for this group");
    assert_no_spot(&place, CGROUP_CPUACCT, "v2 counts CPU in its own hierarchy");
    assert_int_equal(groups_seen(&place.spots[CGROUP_UNIFIED]), 6);
    assert_false(place.spots[CGROUP_MEMORY].is_root);
    assert_false(place.spots[CGROUP_MEMORY].ancestors_hidden);
    /* Each spot owns its texts. */
    assert_ptr_not_equal(place.spots[CGROUP_MEMORY].folder, place.spots[CGROUP_UNIFIED].folder);
    assert_ptr_not_equal(place.spots[CGROUP_MEMORY].path, place.spots[CGROUP_UNIFIED].path);
    cgroup_place_fini(&place);
}

static void older_v2_has_the_same_places(void **state)
{
    (void)state;
    static const char layout[] = "v2-5.10";
    static const int controllers[] = {CGROUP_UNIFIED, CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_IO};
    struct cgroup_place place;

    place_of(layout, 0, &place);
    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
        assert_spot(&place, controllers[i], 2, layout, "/sys/fs/cgroup/system.slice/batch.service",
                    "/system.slice/batch.service");
    assert_int_equal(groups_seen(&place.spots[CGROUP_IO]), 3);
    cgroup_place_fini(&place);
}

static void batch_job_has_memory_of_its_own_and_cpu_of_the_machine(void **state)
{
    (void)state;
    static const char layout[] = "v1-batch";
    struct cgroup_place place;

    place_of(layout, 0, &place);
    assert_spot(&place, CGROUP_MEMORY, 1, layout, "/sys/fs/cgroup/memory" TASK, TASK);
    assert_spot(&place, CGROUP_CPU, 1, layout, "/sys/fs/cgroup/cpu,cpuacct", "/");
    assert_spot(&place, CGROUP_CPUACCT, 1, layout, "/sys/fs/cgroup/cpu,cpuacct", "/");
    assert_spot(&place, CGROUP_PIDS, 1, layout, "/sys/fs/cgroup/pids/system.slice/slurmd.service",
                "/system.slice/slurmd.service");
    assert_spot(&place, CGROUP_IO, 1, layout, "/sys/fs/cgroup/blkio/system.slice/slurmd.service",
                "/system.slice/slurmd.service");
    assert_no_spot(&place, CGROUP_UNIFIED, "its cgroup hierarchy is not mounted");
    assert_true(place.spots[CGROUP_CPUACCT].is_root);
    assert_false(place.spots[CGROUP_MEMORY].is_root);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        assert_false(place.spots[i].ancestors_hidden);
    assert_int_equal(groups_seen(&place.spots[CGROUP_MEMORY]), 6);
    assert_int_equal(groups_seen(&place.spots[CGROUP_CPU]), 1);
    cgroup_place_fini(&place);
}

static void hybrid_host_has_v2_without_its_controllers(void **state)
{
    (void)state;
    static const char layout[] = "hybrid-6.18";
    struct cgroup_place place;

    place_of(layout, 0, &place);
    assert_spot(&place, CGROUP_UNIFIED, 2, layout, "/sys/fs/cgroup/unified", "/");
    assert_spot(&place, CGROUP_MEMORY, 1, layout, "/sys/fs/cgroup/memory/jobs/55d64081", "/jobs/55d64081");
    assert_spot(&place, CGROUP_CPU, 1, layout, "/sys/fs/cgroup/cpu", "/");
    assert_spot(&place, CGROUP_CPUACCT, 1, layout, "/sys/fs/cgroup/cpuacct", "/");
    assert_spot(&place, CGROUP_PIDS, 1, layout, "/sys/fs/cgroup/pids", "/");
    assert_spot(&place, CGROUP_IO, 1, layout, "/sys/fs/cgroup/blkio", "/");
    assert_true(place.spots[CGROUP_UNIFIED].is_root);
    assert_true(place.spots[CGROUP_PIDS].is_root);
    assert_false(place.spots[CGROUP_MEMORY].is_root);
    assert_false(place.spots[CGROUP_MEMORY].ancestors_hidden);
    cgroup_place_fini(&place);
}

static void bind_mount_of_a_container_hides_what_is_above(void **state)
{
    (void)state;
    static const char layout[] = "container-v1", path[] = "/docker/9f1c2b7e5a40";
    struct cgroup_place place;

    place_of(layout, 0, &place);
    assert_spot(&place, CGROUP_MEMORY, 1, layout, "/sys/fs/cgroup/memory", path);
    assert_spot(&place, CGROUP_CPU, 1, layout, "/sys/fs/cgroup/cpu,cpuacct", path);
    assert_spot(&place, CGROUP_CPUACCT, 1, layout, "/sys/fs/cgroup/cpu,cpuacct", path);
    assert_spot(&place, CGROUP_IO, 1, layout, "/sys/fs/cgroup/blkio", path);
    assert_no_spot(&place, CGROUP_UNIFIED, "its cgroup hierarchy is not mounted");
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        assert_true(place.spots[i].ancestors_hidden);
        assert_false(place.spots[i].is_root);
    }
    assert_int_equal(groups_seen(&place.spots[CGROUP_MEMORY]), 1);
    cgroup_place_fini(&place);
}

/* The mount beneath, of what is above the namespace, is hidden by the one over it. */
static void root_of_a_namespace_is_not_the_real_root(void **state)
{
    (void)state;
    static const char layout[] = "container-v2";
    static const int controllers[] = {CGROUP_UNIFIED, CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_IO};
    struct cgroup_place place;

    place_of(layout, 0, &place);
    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
        assert_spot(&place, controllers[i], 2, layout, "/sys/fs/cgroup", "/");
        assert_false(place.spots[controllers[i]].is_root);
        assert_true(place.spots[controllers[i]].ancestors_hidden);
    }
    cgroup_place_fini(&place);
}

static void what_lies_above_the_namespace_is_not_guessed(void **state)
{
    (void)state;
    struct cgroup_place place;

    place_of("v2-above", 0, &place);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        assert_no_spot(&place, i, "the cgroup mount begins above the cgroup namespace");
        assert_true(place.spots[i].ancestors_hidden);
    }
    cgroup_place_fini(&place);
    place_of("v2-above", 77, &place);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        assert_no_spot(&place, i, "its group is outside of the cgroup namespace");
    cgroup_place_fini(&place);
}

static void escaped_mounts_are_found(void **state)
{
    (void)state;
    static const char layout[] = "escapes";
    struct cgroup_place place;

    place_of(layout, 0, &place);
    assert_spot(&place, CGROUP_MEMORY, 2, layout, "/mnt/control groups/night shift: 2",
                "/my jobs/night shift: 2");
    assert_true(place.spots[CGROUP_MEMORY].ancestors_hidden);
    assert_int_equal(groups_seen(&place.spots[CGROUP_MEMORY]), 2);
    cgroup_place_fini(&place);
}

static void process_that_is_gone_has_no_place(void **state)
{
    (void)state;
    struct cgroup_place place;

    place_of("v2-6.12", 4242, &place);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        assert_no_spot(&place, i, "its /proc/PID/cgroup cannot be read");
        assert_false(place.spots[i].ancestors_hidden);
    }
    cgroup_place_fini(&place);
    cgroup_place_fini(&place); /* twice is safe */
}

/* A tree of our own. */
struct made {
    char root[64];
};

static void made_begin(struct made *made)
{
    (void)snprintf(made->root, sizeof(made->root), "/tmp/test_cgroup_place_XXXXXX");
    assert_non_null(mkdtemp(made->root));
}

static void made_file(const struct made *made, const char *path, const char *text)
{
    struct metron_error error;
    char whole[8192];
    int fd;

    assert_true(snprintf(whole, sizeof(whole), "%s/%s", made->root, path) < (int)sizeof(whole));
    assert_int_equal(file_make_folders(whole, &error), 0);
    fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static void made_find(const struct made *made, const char *cgroup, const char *mountinfo,
                      struct cgroup_place *place)
{
    char proc_root[128];

    made_file(made, "proc/self/cgroup", cgroup);
    made_file(made, "proc/self/mountinfo", mountinfo);
    (void)snprintf(proc_root, sizeof(proc_root), "%s/proc", made->root);
    assert_int_equal(cgroup_place_find(proc_root, made->root, 0, place), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void made_end(const struct made *made)
{
    assert_int_equal(nftw(made->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void assert_made(const struct made *made, const struct cgroup_spot *spot, const char *folder)
{
    assert_true(spot->version > 0);
    assert_string_equal(spot->folder + strlen(made->root), folder);
}

static void mount_with_most_ancestors_is_taken_if_it_is_there(void **state)
{
    (void)state;
    static const char cgroup[] = "0::/a/b/c\n";
    static const char mountinfo[] = "1 0 0:9 /a/b /narrow rw - cgroup2 x rw\n"
                                    "2 0 0:9 / /wide rw - cgroup2 x rw\n"
                                    "3 0 0:9 /a /middle rw - cgroup2 x rw\n"
                                    "4 0 0:9 /a/bb /other rw - cgroup2 x rw\n";
    struct cgroup_place place;
    struct made made;

    made_begin(&made);
    made_file(&made, "narrow/c/cgroup.procs", "");
    made_find(&made, cgroup, mountinfo, &place);
    assert_made(&made, &place.spots[CGROUP_UNIFIED], "/narrow/c");
    assert_int_equal(groups_seen(&place.spots[CGROUP_UNIFIED]), 2);
    cgroup_place_fini(&place);

    made_file(&made, "middle/b/c/cgroup.procs", "");
    made_find(&made, cgroup, mountinfo, &place);
    assert_made(&made, &place.spots[CGROUP_UNIFIED], "/middle/b/c");
    assert_true(place.spots[CGROUP_UNIFIED].ancestors_hidden);
    cgroup_place_fini(&place);

    /* A folder that is no group's does not count: something else may be mounted there. */
    made_file(&made, "wide/a/b/c/file", "");
    made_find(&made, cgroup, mountinfo, &place);
    assert_made(&made, &place.spots[CGROUP_UNIFIED], "/middle/b/c");
    cgroup_place_fini(&place);

    made_file(&made, "wide/a/b/c/cgroup.procs", "");
    made_find(&made, cgroup, mountinfo, &place);
    assert_made(&made, &place.spots[CGROUP_UNIFIED], "/wide/a/b/c");
    assert_int_equal(groups_seen(&place.spots[CGROUP_UNIFIED]), 4);
    assert_false(place.spots[CGROUP_UNIFIED].ancestors_hidden);
    cgroup_place_fini(&place);
    made_end(&made);
}

static void mount_beneath_another_is_not_looked_at(void **state)
{
    (void)state;
    struct cgroup_place place;
    struct made made;

    made_begin(&made);
    made_file(&made, "m/a/b/cgroup.procs", "");
    made_file(&made, "m/b/cgroup.procs", "");
    made_find(&made, "0::/a/b\n", "1 0 0:9 / /m rw - cgroup2 x rw\n2 1 0:9 /a /m rw - cgroup2 x rw\n",
              &place);
    assert_made(&made, &place.spots[CGROUP_UNIFIED], "/m/b");
    cgroup_place_fini(&place);
    /* Of whatever version: its options do not make v2 a hierarchy of v1. */
    made_find(&made, "1:memory:/a/b\n",
              "1 0 0:9 / /m rw - cgroup x rw,memory\n2 1 0:9 /a /m rw - cgroup2 x rw,memory\n", &place);
    assert_no_spot(&place, CGROUP_MEMORY, "its cgroup hierarchy is not mounted");
    cgroup_place_fini(&place);
    made_end(&made);
}

static void roots_are_compared_by_component(void **state)
{
    (void)state;
    struct cgroup_place place;
    struct made made;

    made_begin(&made);
    made_file(&made, "m/b/cgroup.procs", "");
    made_file(&made, "mb/cgroup.procs", "");
    made_find(&made, "0::/ab/b\n", "1 0 0:9 /a /m rw - cgroup2 x rw\n", &place);
    assert_no_spot(&place, CGROUP_UNIFIED, "its group is outside of what is mounted");
    assert_true(place.spots[CGROUP_UNIFIED].ancestors_hidden);
    cgroup_place_fini(&place);
    /* Names that only look like the parent's. */
    made_file(&made, "m/..b/cgroup.procs", "");
    made_find(&made, "0::/a/..b\n", "1 0 0:9 /a /m rw - cgroup2 x rw\n", &place);
    assert_made(&made, &place.spots[CGROUP_UNIFIED], "/m/..b");
    cgroup_place_fini(&place);
    made_find(&made, "0::/a/../a/b\n", "1 0 0:9 /a /m rw - cgroup2 x rw\n", &place);
    assert_no_spot(&place, CGROUP_UNIFIED, "its group is outside of the cgroup namespace");
    cgroup_place_fini(&place);
    made_end(&made);
}

static void named_hierarchy_is_no_controller(void **state)
{
    (void)state;
    struct cgroup_place place;
    struct made made;

    made_begin(&made);
    made_file(&made, "named/a/cgroup.procs", "");
    made_file(&made, "real/a/cgroup.procs", "");
    made_find(&made, "3:memory:/a\n2:name=memory:/a\n1:name=cpu:/a\n",
              "1 0 0:9 / /named rw - cgroup x rw,name=memory\n2 0 0:8 / /cpu rw - cgroup x rw,name=cpu\n"
              "3 0 0:7 / /real rw - cgroup x rw,memory\n",
              &place);
    assert_made(&made, &place.spots[CGROUP_MEMORY], "/real/a");
    assert_no_spot(&place, CGROUP_CPU, "no cgroup hierarchy has the controller");
    cgroup_place_fini(&place);
    made_end(&made);
}

static void missing_mounts_and_groups_are_told_apart(void **state)
{
    (void)state;
    struct cgroup_place place;
    struct made made;

    made_begin(&made);
    made_find(&made, "3:memory:/a\n2:cpu:/gone (deleted)\n0::/\n", "2 0 0:7 / /cpu rw - cgroup x rw,cpu\n",
              &place);
    assert_no_spot(&place, CGROUP_MEMORY, "its cgroup hierarchy is not mounted");
    assert_no_spot(&place, CGROUP_CPU, "its group has been removed");
    assert_no_spot(&place, CGROUP_PIDS, "its cgroup hierarchy is not mounted");
    cgroup_place_fini(&place);
    made_find(&made, "2:cpu:/a\n", "2 0 0:7 / /cpu rw - cgroup x rw,cpu\n", &place);
    assert_no_spot(&place, CGROUP_CPU, "its group's folder cannot be reached");
    cgroup_place_fini(&place);
    /* A mount on "/" leaves no folder to name. */
    made_find(&made, "0::/a\n", "2 0 0:7 / / rw - cgroup2 x rw\n", &place);
    assert_int_equal(place.spots[CGROUP_UNIFIED].version, 0);
    cgroup_place_fini(&place);
    made_end(&made);
}

static void real_root_of_v2_says_that_it_has_no_files(void **state)
{
    (void)state;
    struct cgroup_place place;
    struct made made;

    made_begin(&made);
    made_file(&made, "cg/cgroup.procs", "");
    made_file(&made, "cg/io.stat", "");
    made_find(&made, "0::/\n", "2 0 0:7 / /cg/ rw - cgroup2 x rw\n", &place);
    assert_made(&made, &place.spots[CGROUP_UNIFIED], "/cg");
    assert_true(place.spots[CGROUP_UNIFIED].is_root);
    assert_true(place.spots[CGROUP_IO].is_root);
    assert_no_spot(&place, CGROUP_MEMORY, "the v2 root group has no such files");
    assert_no_spot(&place, CGROUP_CPUACCT, "v2 counts CPU in its own hierarchy");
    cgroup_place_fini(&place);
    made_end(&made);
}

static void texts_cut_off_or_hostile_place_nothing_wrong(void **state)
{
    (void)state;
    static const char cgroup[] = "2:memory:/a/b\n0::/a/b\n";
    static const char mountinfo[] =
        "1 0 0:9 / /v1 rw - cgroup x rw,memory\n2 0 0:7 / /v2 rw - cgroup2 x rw\n";
    struct cgroup_place place;
    struct made made;
    char text[128];

    made_begin(&made);
    /* Every group that half a path would name is there. */
    made_file(&made, "v1/cgroup.procs", "");
    made_file(&made, "v1/a/cgroup.procs", "");
    made_file(&made, "v1/a/b/cgroup.procs", "");
    made_file(&made, "v2/a/b/cgroup.procs", "");
    for (size_t cut = 0; cut < sizeof(cgroup); cut++) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)cut, cgroup);
        made_find(&made, text, mountinfo, &place);
        for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
            assert_true(place.spots[i].version == 0 ? place.spots[i].reason != NULL
                                                    : strcmp(place.spots[i].path, "/a/b") == 0);
        cgroup_place_fini(&place);
    }
    for (size_t cut = 0; cut < sizeof(mountinfo) - 1; cut++) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)cut, mountinfo);
        made_find(&made, cgroup, text, &place);
        assert_int_equal(place.spots[CGROUP_UNIFIED].version, 0);
        cgroup_place_fini(&place);
    }
    made_find(&made, "not a cgroup file\n", mountinfo, &place);
    assert_no_spot(&place, CGROUP_MEMORY, "its /proc/PID/cgroup cannot be read");
    cgroup_place_fini(&place);
    made_find(&made, cgroup, "1 0 0:9 - cgroup2 x rw\n", &place);
    assert_no_spot(&place, CGROUP_MEMORY, "/proc/self/mountinfo cannot be read");
    cgroup_place_fini(&place);
    made_end(&made);
}

static void many_mounts_and_long_paths_are_taken(void **state)
{
    (void)state;
    struct strbuf cgroup = STRBUF_INIT, mountinfo = STRBUF_INIT, folder = STRBUF_INIT;
    struct cgroup_place place;
    struct made made;

    made_begin(&made);
    strbuf_adds(&folder, "cg");
    for (int i = 0; i < 20; i++)
        strbuf_addf(&folder, "/%0100d", i);
    strbuf_addf(&cgroup, "0::%s\n", strbuf_text(&folder) + 2);
    for (int i = 0; i < 500; i++)
        strbuf_addf(&mountinfo, "%d 0 0:9 /box_%d /mnt/box_%d rw - cgroup2 x rw\n", i, i, i);
    strbuf_adds(&mountinfo, "900 0 0:9 / /cg rw - cgroup2 x rw\n");
    strbuf_adds(&folder, "/cgroup.procs");
    made_file(&made, strbuf_text(&folder), "");
    made_find(&made, strbuf_text(&cgroup), strbuf_text(&mountinfo), &place);
    assert_int_equal(place.spots[CGROUP_UNIFIED].version, 2);
    assert_int_equal(groups_seen(&place.spots[CGROUP_UNIFIED]), 21);
    cgroup_place_fini(&place);
    made_end(&made);
    strbuf_fini(&cgroup);
    strbuf_fini(&mountinfo);
    strbuf_fini(&folder);
}

static void ascending_ends_at_the_top_and_changes_nothing_there(void **state)
{
    (void)state;
    const struct cgroup_spot spot = {.version = 2, .top_length = strlen("/cg")};
    char folder[] = "/cg/a/bc";

    assert_true(cgroup_spot_ascend(&spot, folder));
    assert_string_equal(folder, "/cg/a");
    assert_true(cgroup_spot_ascend(&spot, folder));
    assert_string_equal(folder, "/cg");
    assert_false(cgroup_spot_ascend(&spot, folder));
    assert_string_equal(folder, "/cg");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controllers_of_v2_are_where_they_are_enabled),
        cmocka_unit_test(older_v2_has_the_same_places),
        cmocka_unit_test(batch_job_has_memory_of_its_own_and_cpu_of_the_machine),
        cmocka_unit_test(hybrid_host_has_v2_without_its_controllers),
        cmocka_unit_test(bind_mount_of_a_container_hides_what_is_above),
        cmocka_unit_test(root_of_a_namespace_is_not_the_real_root),
        cmocka_unit_test(what_lies_above_the_namespace_is_not_guessed),
        cmocka_unit_test(escaped_mounts_are_found),
        cmocka_unit_test(process_that_is_gone_has_no_place),
        cmocka_unit_test(mount_with_most_ancestors_is_taken_if_it_is_there),
        cmocka_unit_test(mount_beneath_another_is_not_looked_at),
        cmocka_unit_test(roots_are_compared_by_component),
        cmocka_unit_test(named_hierarchy_is_no_controller),
        cmocka_unit_test(missing_mounts_and_groups_are_told_apart),
        cmocka_unit_test(real_root_of_v2_says_that_it_has_no_files),
        cmocka_unit_test(texts_cut_off_or_hostile_place_nothing_wrong),
        cmocka_unit_test(many_mounts_and_long_paths_are_taken),
        cmocka_unit_test(ascending_ends_at_the_top_and_changes_nothing_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
