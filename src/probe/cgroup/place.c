/*
 * From membership and mounts to folders.
 *
 * The path P of a membership line and the root R of a mount of the same hierarchy are both told relative to
 * the cgroup namespace of the reader. Where R is P or one of its ancestors, the group's folder is the mount
 * point and what P has beyond R. The mounts are kept by the length of R, so that the first one that serves
 * shows most ancestors. Either text may begin with "/..", for what is above the namespace: names of groups
 * between are missing then, and nothing can be told.
 *
 * What the texts say is checked by one look: a group's folder has a cgroup.procs, whatever was mounted over
 * it since. Nothing is opened, and each file of /proc is read once: this runs at every start.
 */
#include "probe/cgroup/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "probe/cgroup/files.h"

#define TEXT_LIMIT     (16U << 20) /* far more than any mountinfo */
#define FILE_NAME_ROOM 24          /* for "/" and the longest name looked for, and NUL */

static const char reason_unreadable[] = "its /proc/PID/cgroup cannot be read";
static const char reason_mounts_unreadable[] = "/proc/self/mountinfo cannot be read";
static const char reason_no_hierarchy[] = "no cgroup hierarchy has the controller";
static const char reason_not_mounted[] = "its cgroup hierarchy is not mounted";
static const char reason_outside_namespace[] = "its group is outside of the cgroup namespace";
static const char reason_mount_above[] = "the cgroup mount begins above the cgroup namespace";
static const char reason_outside_mount[] = "its group is outside of what is mounted";
static const char reason_removed[] = "its group has been removed";
static const char reason_no_folder[] = "its group's folder cannot be reached";
static const char reason_root_group[] = "the v2 root group has no such files";

/* How each controller is called by v1, and by which file (one of two) a v2 group shows that it has it. */
static const struct {
    const char *v1_name;
    const char *v2_files[2];
    const char *v2_reason;
} controllers[CGROUP_CONTROLLER_COUNT] = {
    [CGROUP_UNIFIED] = {0},
    [CGROUP_MEMORY] = {"memory", {"memory.current"}, "the memory controller is not enabled for this group"},
    [CGROUP_CPU] = {"cpu", {"cpu.max", "cpu.weight"}, "the cpu controller is not enabled for this group"},
    [CGROUP_CPUACCT] = {"cpuacct", {0}, "v2 counts CPU in its own hierarchy"},
    [CGROUP_PIDS] = {"pids", {"pids.current"}, "the pids controller is not enabled for this group"},
    [CGROUP_IO] = {"blkio", {"io.stat"}, "the io controller is not enabled for this group"},
};

struct search {
    const char *prefix;          /* before every mount point */
    struct cgroup_mount *mounts; /* owned array, shortest root first; the texts are in `texts` */
    size_t mount_count, mount_capacity;
    struct arena texts;
    bool out_of_memory;
    struct cgroup_membership lines[CGROUP_CONTROLLER_COUNT]; /* path NULL: no such line */
};

static void membership_keep(void *context, const struct cgroup_membership *line)
{
    struct search *search = context;

    if (line->hierarchy == 0) {
        search->lines[CGROUP_UNIFIED] = *line;
        return;
    }
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        if (controllers[i].v1_name != NULL &&
            cgroup_list_has(line->controllers, line->controllers_length, controllers[i].v1_name))
            search->lines[i] = *line;
}

/* A mount hides an earlier one on the same point: that one is dropped. */
static void mount_drop(struct search *search, const char *point)
{
    struct cgroup_mount *mounts = search->mounts;

    for (size_t i = 0; i < search->mount_count; i++) {
        if (strcmp(mounts[i].point, point) != 0)
            continue;
        search->mount_count--;
        memmove(&mounts[i], &mounts[i + 1], (search->mount_count - i) * sizeof(*mounts));
        return;
    }
}

static void mount_keep(void *context, const struct cgroup_mount *mount)
{
    struct search *search = context;
    struct cgroup_mount copy = {
        .version = mount->version,
        .root = arena_strdup(&search->texts, mount->root),
        .point = arena_strdup(&search->texts, mount->point),
        .options = arena_strdup(&search->texts, mount->options),
    };
    size_t at, root_length = strlen(mount->root);

    mount_drop(search, mount->point);
    if (copy.root == NULL || copy.point == NULL || copy.options == NULL ||
        ARRAY_RESERVE(search->mounts, search->mount_capacity, search->mount_count + 1) < 0) {
        search->out_of_memory = true;
        return;
    }
    for (at = search->mount_count; at > 0 && strlen(search->mounts[at - 1].root) > root_length; at--)
        search->mounts[at] = search->mounts[at - 1];
    search->mounts[at] = copy;
    search->mount_count++;
}

static bool has_dot_dot(const char *path, size_t length)
{
    const char *end = path + length;

    while (end - path >= 3) {
        path = memmem(path, (size_t)(end - path), "/..", 3);
        if (path == NULL)
            return false;
        path += 3;
        if (path == end || *path == '/')
            return true;
    }
    return false;
}

/* Whether the mount shows the group, and then how long the part of the path is that its root stands for. */
static bool mount_serves(const struct cgroup_mount *mount, const struct cgroup_membership *line,
                         size_t *root_length)
{
    size_t length = strlen(mount->root);

    *root_length = length;
    if (length == 1) {
        *root_length = line->path_length == 1 ? 1 : 0;
        return true;
    }
    return length <= line->path_length && memcmp(line->path, mount->root, length) == 0 &&
           (length == line->path_length || line->path[length] == '/');
}

/* Whether the folder whose path is `path` up to `length` has a file; `path` has room for the name. */
static bool folder_has(char *path, size_t length, const char *name)
{
    path[length] = '/';
    memcpy(path + length + 1, name, strlen(name) + 1);
    return faccessat(AT_FDCWD, path, F_OK, 0) == 0;
}

/*
 * Whether the folder is the real root of its hierarchy, and not only the top of a namespace. v1 has
 * release_agent in the root alone (CFTYPE_ONLY_ON_ROOT, kernel/cgroup/cgroup-v1.c), v2 has cgroup.events in
 * every other group (CFTYPE_NOT_ON_ROOT, kernel/cgroup/cgroup.c).
 */
static bool is_real_root(int version, char *path, size_t length)
{
    if (version == 1)
        return folder_has(path, length, "release_agent");
    return !folder_has(path, length, "cgroup.events") && errno == ENOENT;
}

/* Fills `spot` if the folder is there: 1. 0 if it is not, or -ENOMEM. */
static int spot_try(const struct search *search, const struct cgroup_mount *mount,
                    const struct cgroup_membership *line, size_t root_length, struct cgroup_spot *spot)
{
    size_t prefix_length = strlen(search->prefix), point_length = strlen(mount->point), top_length, length;
    size_t rest_length = line->path_length - root_length;
    bool top_is_root = false, there;
    char *folder;

    while (point_length > 0 && mount->point[point_length - 1] == '/')
        point_length--;
    top_length = prefix_length + point_length;
    length = top_length + rest_length;
    if (top_length == 0)
        return 0;
    folder = malloc(length + FILE_NAME_ROOM);
    if (folder == NULL)
        return -ENOMEM;
    memcpy(folder, search->prefix, prefix_length);
    memcpy(folder + prefix_length, mount->point, point_length);
    if (strcmp(mount->root, "/") == 0)
        top_is_root = is_real_root(mount->version, folder, top_length);
    memcpy(folder + top_length, line->path + root_length, rest_length);
    /* A v1 root is known by a file of its own; anything else might be a folder that was mounted over it. */
    there = top_is_root && rest_length == 0 && mount->version == 1;
    if (!there)
        there = folder_has(folder, length, "cgroup.procs");
    folder[length] = '\0';
    if (!there) {
        free(folder);
        return 0;
    }
    *spot = (struct cgroup_spot){
        .version = mount->version,
        .folder = folder,
        .path = strndup(line->path, line->path_length),
        .top_length = top_length,
        .is_root = top_is_root && rest_length == 0,
        .ancestors_hidden = !top_is_root,
    };
    return spot->path != NULL ? 1 : -ENOMEM;
}

/* Finds the folder of a membership line; `v1_name` is NULL for v2. */
static int spot_find(const struct search *search, const struct cgroup_membership *line, const char *v1_name,
                     struct cgroup_spot *spot)
{
    static const char removed[] = " (deleted)";
    const size_t removed_length = sizeof(removed) - 1;
    bool outside = has_dot_dot(line->path, line->path_length);

    spot->reason = outside ? reason_outside_namespace : reason_not_mounted;
    for (size_t i = 0; i < search->mount_count && !outside; i++) {
        const struct cgroup_mount *mount = &search->mounts[i];
        size_t root_length;
        int found;

        if (v1_name == NULL
                ? mount->version != 2
                : mount->version != 1 || !cgroup_list_has(mount->options, strlen(mount->options), v1_name))
            continue;
        if (!mount_serves(mount, line, &root_length)) {
            bool above = has_dot_dot(mount->root, strlen(mount->root));

            spot->reason = above ? reason_mount_above : reason_outside_mount;
            continue;
        }
        found = spot_try(search, mount, line, root_length, spot);
        if (found != 0)
            return found < 0 ? found : 0;
        spot->reason = reason_no_folder;
    }
    if (line->path_length > removed_length &&
        memcmp(line->path + line->path_length - removed_length, removed, removed_length) == 0)
        spot->reason = reason_removed;
    spot->ancestors_hidden = true;
    return 0;
}

/* A controller that no v1 hierarchy has: v2 has it if the group shows its file. */
static int spot_share(const struct cgroup_spot *unified, int controller, int folder_fd,
                      struct cgroup_spot *spot)
{
    bool enabled = false;

    for (int i = 0; i < 2 && !enabled; i++) {
        const char *name = controllers[controller].v2_files[i];

        enabled = name != NULL && faccessat(folder_fd, name, F_OK, 0) == 0;
    }
    if (!enabled) {
        bool of_root = unified->is_root && controller != CGROUP_CPUACCT;

        spot->reason = of_root ? reason_root_group : controllers[controller].v2_reason;
        return 0;
    }
    *spot = *unified;
    spot->folder = strdup(unified->folder);
    spot->path = strdup(unified->path);
    return spot->folder != NULL && spot->path != NULL ? 0 : -ENOMEM;
}

static int spots_find(const struct search *search, struct cgroup_place *out)
{
    struct cgroup_spot *unified = &out->spots[CGROUP_UNIFIED];
    int folder_fd = -1, status = 0;

    for (int i = 0; i < CGROUP_CONTROLLER_COUNT && status == 0; i++) {
        struct cgroup_spot *spot = &out->spots[i];

        if (search->lines[i].path != NULL) {
            status = spot_find(search, &search->lines[i], controllers[i].v1_name, spot);
        } else if (i == CGROUP_UNIFIED) {
            spot->reason = reason_not_mounted;
        } else if (unified->version == 0) {
            bool known = search->lines[CGROUP_UNIFIED].path != NULL;

            spot->reason = known ? unified->reason : reason_no_hierarchy;
            spot->ancestors_hidden = known;
        } else {
            if (folder_fd < 0)
                folder_fd = open(unified->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
            status = spot_share(unified, i, folder_fd, spot);
        }
    }
    if (folder_fd >= 0)
        (void)close(folder_fd);
    return status;
}

/* Reads and parses both files. 0, -ENOMEM, or another negative errno with `reason` set. `membership` must
 * live as long as `search`. */
static int search_read(const char *proc_root, int pid, struct search *search, struct strbuf *membership,
                       const char **reason)
{
    struct strbuf path = STRBUF_INIT, mounts = STRBUF_INIT;
    int status;

    if (pid > 0)
        strbuf_addf(&path, "%s/%d/cgroup", proc_root, pid);
    else
        strbuf_addf(&path, "%s/self/cgroup", proc_root);
    *reason = reason_unreadable;
    status = path.failed ? -ENOMEM : file_read_all(AT_FDCWD, path.data, TEXT_LIMIT, membership);
    if (status == 0)
        status =
            cgroup_membership_parse(strbuf_text(membership), membership->length, membership_keep, search);
    if (status < 0)
        goto out;

    *reason = reason_mounts_unreadable;
    strbuf_reset(&path);
    strbuf_addf(&path, "%s/self/mountinfo", proc_root);
    status = path.failed ? -ENOMEM : file_read_all(AT_FDCWD, path.data, TEXT_LIMIT, &mounts);
    if (status == 0)
        status = cgroup_mounts_parse(strbuf_text(&mounts), mounts.length, mount_keep, search);
    if (search->out_of_memory)
        status = -ENOMEM;
out:
    strbuf_fini(&mounts);
    strbuf_fini(&path);
    return status < 0 ? status : 0;
}

int cgroup_place_find(const char *proc_root, const char *root_prefix, int pid, struct cgroup_place *out)
{
    struct strbuf membership = STRBUF_INIT;
    struct search search = {.prefix = root_prefix};
    const char *reason;
    int status;

    memset(out, 0, sizeof(*out));
    status = search_read(proc_root, pid, &search, &membership, &reason);
    if (status == 0) {
        status = spots_find(&search, out);
    } else if (status != -ENOMEM) {
        for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
            out->spots[i].reason = reason;
        status = 0;
    }
    if (status < 0)
        cgroup_place_fini(out);
    arena_fini(&search.texts);
    free(search.mounts);
    strbuf_fini(&membership);
    return status;
}

void cgroup_place_fini(struct cgroup_place *place)
{
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        free(place->spots[i].folder);
        free(place->spots[i].path);
    }
    memset(place, 0, sizeof(*place));
}

bool cgroup_spot_ascend(const struct cgroup_spot *spot, char *folder)
{
    size_t length = strlen(folder);

    if (length <= spot->top_length)
        return false;
    while (length > spot->top_length && folder[length - 1] != '/')
        length--;
    while (length > spot->top_length && folder[length - 1] == '/')
        length--;
    folder[length] = '\0';
    return true;
}
