/*
 * Control groups for tests: the real ones of this machine, and recorded ones copied to where they can be
 * changed.
 */
#ifndef METRON_TESTS_CGROUP_FIXTURE_H
#define METRON_TESTS_CGROUP_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "another_user.h"
#include "base/file.h"
#include "probe/cgroup/leaf.h"
#include "probe/cgroup/place.h"

/* ---- this machine's ---- */

static inline struct cgroup_place live_place(void)
{
    struct cgroup_place place;

    assert_int_equal(cgroup_place_find("/proc", "", 0, &place), 0);
    return place;
}

/* The folder where the test may make groups; skips, by name, where it may not. */
static inline const char *live_folder(const struct cgroup_place *place, enum cgroup_controller controller,
                                      int version)
{
    const struct cgroup_spot *spot = &place->spots[controller];

    if (spot->version != version) {
        print_message("no v%d group of this controller here\n", version);
        skip();
    }
    const char *refusal = cgroup_leaf_refusal(spot);
    if (refusal) {
        print_message("no group can be made here: %s\n", refusal);
        skip();
    }
    return spot->folder;
}

/* How many leaves of ours (of this process) are below a folder. */
static inline unsigned leaves_below(const char *folder)
{
    char name[32];
    unsigned count = 0;
    DIR *listing = opendir(folder);
    struct dirent *entry;

    assert_non_null(listing);
    (void)snprintf(name, sizeof(name), "metron-%d", (int)getpid());
    while ((entry = readdir(listing)) != NULL) {
        size_t length = strlen(name);
        if (strncmp(entry->d_name, name, length) == 0 &&
            (entry->d_name[length] == '\0' || entry->d_name[length] == '-'))
            count++;
    }
    (void)closedir(listing);
    return count;
}

/* A program inside groups that waits to be killed. It has none of our descriptors. */
static inline pid_t start_member(const int *join_fds, size_t count)
{
    int gone[2];
    char byte;

    assert_int_equal(pipe2(gone, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (size_t i = 0; i < count; i++)
            if (write(join_fds[i], "0", 1) != 1)
                _exit(1);
        (void)execlp("sleep", "sleep", "60", (char *)NULL); /* not for ever, if the test is no more */
        _exit(1);
    }
    (void)close(gone[1]);
    assert_int_equal(read(gone[0], &byte, 1), 0); /* closed by exec */
    (void)close(gone[0]);
    return pid;
}

static inline void end_member(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* rmdir of a group fails for a moment after its last member was reaped. */
static inline bool await_gone(const char *folder)
{
    for (int ms = 0; ms < 60000; ms++) {
        if (access(folder, F_OK) != 0)
            return true;
        usleep(1000);
    }
    return false;
}

/* An ordinary user for a while: only root can try it. */
static inline bool become_ordinary_user(void)
{
    return geteuid() == 0 && setresuid(another_user, another_user, 0) == 0;
}

static inline void become_root(void)
{
    assert_int_equal(setresuid(0, 0, 0), 0);
}

/* ---- recorded ones ---- */

static char copied[64]; /* the root of a copied layout; "" if there is none */

/* Copies tests/fixtures/cgroup/LAYOUT, to be changed. */
static inline void copy_layout(const char *layout)
{
    char command[512];

    (void)snprintf(copied, sizeof(copied), "/tmp/metron-cgroup-XXXXXX");
    assert_non_null(mkdtemp(copied));
    (void)snprintf(command, sizeof(command), "cp -r '%s/cgroup/%s/.' '%s' && chmod -R u+rwX '%s'",
                   METRON_FIXTURES, layout, copied, copied);
    assert_int_equal(system(command), 0);
}

static inline int remove_layout(void **state)
{
    char command[128];

    (void)state;
    if (!copied[0])
        return 0;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", copied);
    copied[0] = '\0';
    return system(command) == 0 ? 0 : -1;
}

/* The place of the caller in the copied layout. */
static inline struct cgroup_place copied_place(void)
{
    char proc[128];
    struct cgroup_place place;

    (void)snprintf(proc, sizeof(proc), "%s/proc", copied);
    assert_int_equal(cgroup_place_find(proc, copied, 0, &place), 0);
    return place;
}

/* Writes a file of a group anew (`text` NULL: takes it away), whatever it was. In place: descriptors that are
 * open see it. */
static inline void group_put(const char *folder, const char *name, const char *text)
{
    char path[1024];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!text) {
        assert_int_equal(unlink(path), 0);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(close(fd), 0);
}

#endif
