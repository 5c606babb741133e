/* Where this process stands on this machine: the kernel's own list of members is the truth. */
#include "probe/cgroup/place.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/strbuf.h"

static bool group_has_member(const char *folder, pid_t pid)
{
    struct strbuf text = STRBUF_INIT;
    char path[4200], line[32];
    bool found;

    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
    strbuf_addc(&text, '\n');
    (void)snprintf(line, sizeof(line), "\n%d\n", (int)pid);
    found = file_read_all(AT_FDCWD, path, 1 << 20, &text) == 0 && strstr(text.data, line) != NULL;
    strbuf_fini(&text);
    return found;
}

/* The kernel's own list of members is the truth. */
static void we_are_a_member_of_every_group_found_on_this_machine(void **state)
{
    (void)state;
    struct cgroup_place place, of_pid;
    int found = 0;

    if (access("/proc/self/cgroup", R_OK) != 0) {
        print_message("skip %s: no /proc/self/cgroup\n", __func__);
        skip();
    }
    assert_int_equal(cgroup_place_find("/proc", "", 0, &place), 0);
    assert_int_equal(cgroup_place_find("/proc", "", getpid(), &of_pid), 0);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        const struct cgroup_spot *spot = &place.spots[i];

        assert_int_equal(of_pid.spots[i].version, spot->version);
        if (spot->version == 0) {
            assert_non_null(spot->reason);
            continue;
        }
        assert_string_equal(of_pid.spots[i].folder, spot->folder);
        assert_true(group_has_member(spot->folder, getpid()));
        assert_true(!spot->is_root || (strcmp(spot->path, "/") == 0 && !spot->ancestors_hidden));
        found++;
    }
    print_message("%d of %d spots found\n", found, CGROUP_CONTROLLER_COUNT);
    cgroup_place_fini(&place);
    cgroup_place_fini(&of_pid);
}

/* In a child: a namespace whose root is our memory group, first with the old mount, then with one of its own.
 */
static int place_in_namespace(const char *folder)
{
    struct cgroup_place place;
    const struct cgroup_spot *memory = &place.spots[CGROUP_MEMORY];

    if (unshare(CLONE_NEWCGROUP | CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 77;
    if (cgroup_place_find("/proc", "", 0, &place) < 0 || memory->version != 0 || memory->reason == NULL ||
        strcmp(memory->reason, "the cgroup mount begins above the cgroup namespace") != 0)
        return 1;
    cgroup_place_fini(&place);
    if (mount("cgroup", folder, "cgroup", 0, "memory") < 0)
        return 77;
    if (cgroup_place_find("/proc", "", 0, &place) < 0 || memory->version != 1 ||
        strcmp(memory->folder, folder) != 0 || strcmp(memory->path, "/") != 0 || memory->is_root ||
        !memory->ancestors_hidden || !group_has_member(folder, getpid()))
        return 2;
    cgroup_place_fini(&place);
    return 0;
}

static void namespace_made_here_is_seen_through(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_cgroup_place_XXXXXX";
    struct cgroup_place place;
    bool usable;
    int status = 77 << 8;

    assert_int_equal(cgroup_place_find("/proc", "", 0, &place), 0);
    usable = place.spots[CGROUP_MEMORY].version == 1 && strcmp(place.spots[CGROUP_MEMORY].path, "/") != 0;
    cgroup_place_fini(&place);
    if (usable) {
        pid_t child;

        assert_non_null(mkdtemp(folder));
        child = fork();
        if (child == 0)
            _exit(place_in_namespace(folder));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(rmdir(folder), 0);
    }
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skip %s: no v1 memory group of our own, or no right to make namespaces\n", __func__);
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(we_are_a_member_of_every_group_found_on_this_machine),
        cmocka_unit_test(namespace_made_here_is_seen_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
