#include "probe/cgroup/leaf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe/cgroup/group.h"

#define LEAF_PREFIX "metron-"
#define SELF_ROLE   "-self"
/* A leaf of an earlier process with our pid may still have members: then the next number is taken. */
#define NAME_TRIES   16
#define FOLDER_SIZE  4096
#define FOLDERS_OPEN 8 /* at once, while the groups below a leaf are removed */

/* Whether `folder` is still the group that was opened: pid 1 of another container gives the same names. */
static bool is_same_group(const char *folder, int fd)
{
    struct stat opened, now;

    return fstat(fd, &opened) == 0 && stat(folder, &now) == 0 && opened.st_ino == now.st_ino;
}

/* 0; -EEXIST or -ENOENT (swept away before it was locked): another name may do. */
static int make_named(const char *folder, int version, struct cgroup_leaf *leaf)
{
    char path[FOLDER_SIZE + 32];

    if (mkdir(folder, 0755) != 0)
        return -errno;
    leaf->lock_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (leaf->lock_fd < 0 || flock(leaf->lock_fd, LOCK_EX | LOCK_NB) != 0 ||
        !is_same_group(folder, leaf->lock_fd))
        return -ENOENT;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, version == 2 ? "cgroup.procs" : "tasks");
    leaf->join_fd = open(path, O_WRONLY | O_CLOEXEC);
    if (leaf->join_fd >= 0)
        return 0;
    return errno == ENOENT ? -ENOTSUP : -errno; /* no group: the kernel makes none here */
}

static int make_leaf(const char *parent, int version, const char *role, struct cgroup_leaf *out)
{
    int code = -EEXIST;

    *out = CGROUP_LEAF_NONE;
    for (int try = 1; try <= NAME_TRIES && (code == -EEXIST || code == -ENOENT); try++) {
        char number[16] = "";
        if (try > 1)
            (void)snprintf(number, sizeof(number), "-%d", try);
        if (asprintf(&out->folder, "%s/" LEAF_PREFIX "%d%s%s", parent, (int)getpid(), role, number) < 0) {
            out->folder = NULL;
            return -ENOMEM;
        }
        code = make_named(out->folder, version, out);
        if (code == -EEXIST || code == -ENOENT) { /* not ours: a process with our pid may have made it anew */
            free(out->folder);
            out->folder = NULL;
        }
        if (code < 0)
            cgroup_leaf_remove(out);
    }
    return code;
}

int cgroup_leaf_make(const char *parent, int version, struct cgroup_leaf *out)
{
    return make_leaf(parent, version, "", out);
}

int cgroup_leaf_make_aside(const char *parent, struct cgroup_leaf *out)
{
    return make_leaf(parent, 2, SELF_ROLE, out);
}

/* Stops the walk (1) at a group that somebody is in. */
static int find_member(const char *path, const struct stat *status, int type, struct FTW *place)
{
    char text[64];

    (void)status;
    (void)place;
    return type == FTW_D && cgroup_group_read(path, "cgroup.procs", text, sizeof(text)) > 0;
}

static int remove_group(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)place;
    if (type == FTW_DP)
        (void)rmdir(path);
    return 0;
}

/* With the groups that the target made below it, unless somebody is left in one of them: then they are still
 * his. Mostly there are none, and it is one call. */
static void remove_groups(const char *folder)
{
    if (rmdir(folder) != 0 && nftw(folder, find_member, FOLDERS_OPEN, FTW_PHYS) == 0)
        (void)nftw(folder, remove_group, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
}

void cgroup_leaf_remove(struct cgroup_leaf *leaf)
{
    if (leaf->join_fd >= 0)
        (void)close(leaf->join_fd);
    if (leaf->folder)
        remove_groups(leaf->folder);
    if (leaf->lock_fd >= 0)
        (void)close(leaf->lock_fd);
    free(leaf->folder);
    *leaf = CGROUP_LEAF_NONE;
}

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* The length of "metron-4711" in a name that make_leaf gives: metron-4711, metron-4711-self, metron-4711-2.
 * 0: it gives no such name. */
static size_t maker_length(const char *name)
{
    size_t prefix = sizeof(LEAF_PREFIX) - 1;

    if (strncmp(name, LEAF_PREFIX, prefix) != 0 || skip_digits(name + prefix) == name + prefix)
        return 0;
    const char *maker_end = skip_digits(name + prefix), *at = maker_end;
    if (strncmp(at, SELF_ROLE, sizeof(SELF_ROLE) - 1) == 0)
        at += sizeof(SELF_ROLE) - 1;
    if (*at == '-' && skip_digits(at + 1) > at + 1)
        at = skip_digits(at + 1);
    return *at == '\0' ? (size_t)(maker_end - name) : 0;
}

static int is_leaf(const struct dirent *entry)
{
    return maker_length(entry->d_name) > 0;
}

bool cgroup_leaf_has_same_maker(const char *name, const char *other)
{
    size_t length = maker_length(name);

    return length > 0 && length == maker_length(other) && strncmp(name, other, length) == 0;
}

static void sweep_leaf(const char *parent, const char *name)
{
    char folder[FOLDER_SIZE];

    if (snprintf(folder, sizeof(folder), "%s/%s", parent, name) >= (int)sizeof(folder))
        return;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same_group(folder, fd))
        remove_groups(folder);
    (void)close(fd);
}

void cgroup_leaf_sweep(const char *parent)
{
    struct dirent **entries = NULL;
    int count = scandir(parent, &entries, is_leaf, alphasort);

    for (int i = 0; i < count; i++) {
        sweep_leaf(parent, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* systemd marks what it hands over: by a user's attribute from version 251, before by a trusted one, which
 * only root can read. */
static bool is_marked(const char *folder)
{
    static const char *const names[] = {"user.delegate", "trusted.delegate"};
    char value[4];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getxattr(folder, names[i], value, sizeof(value)) >= 1 && value[0] == '1')
            return true;
    return false;
}

static bool is_unit(const char *name, size_t length)
{
    static const char *const endings[] = {".slice", ".scope", ".service"};

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strncmp(name + length - ending, endings[i], ending) == 0)
            return true;
    }
    return false;
}

/* The nearest unit above us must be marked itself: what lies below a delegated one, but in a unit of its own,
 * is another manager's (a user's systemd). */
bool cgroup_spot_is_delegated(const struct cgroup_spot *spot)
{
    char *folder = strdup(spot->folder);
    bool marked = false, more = folder != NULL;

    while (more && !marked) {
        const char *name = strrchr(folder, '/');
        marked = is_marked(folder);
        if (name && is_unit(name + 1, strlen(name + 1)))
            break;
        more = cgroup_spot_ascend(spot, folder);
    }
    free(folder);
    return marked;
}

bool cgroup_path_is_systemds(const char *path, bool systemd_runs, bool delegated)
{
    size_t length = strcspn(path + 1, "/");

    if (!systemd_runs || delegated)
        return false;
    /* The root itself, or below a unit. Else it is another manager's, such as a batch system's. */
    return length == 0 || is_unit(path + 1, length);
}

const char *cgroup_leaf_refusal(const struct cgroup_spot *spot)
{
    char procs[CGROUP_PATH_SIZE];

    if (access(spot->folder, W_OK) != 0)
        return errno == EROFS ? "the cgroup file system is mounted read-only"
                              : "no permission to make a group below the one metron was started in";
    /* In v2 whoever moves must be able to write to the common ancestor's too. */
    if (spot->version == 2 &&
        (!cgroup_group_path(spot->folder, "cgroup.procs", procs) || access(procs, W_OK) != 0))
        return "no permission to move a process below the group metron was started in";
    /* As sd_booted(3) tells it. */
    bool systemd_runs = access("/run/systemd/system", F_OK) == 0;
    if (systemd_runs && cgroup_path_is_systemds(spot->path, true, cgroup_spot_is_delegated(spot)))
        return "systemd manages this group and has not delegated it; "
               "'systemd-run --user --scope -p Delegate=yes metron run ...' gets one";
    return NULL;
}
