#include "probe/cgroup/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/breakage.h"
#include "probe/cgroup/group.h"
#include "probe/digits.h"

/* v2 names of the controllers that can be had in a leaf without changing how the target runs. */
static const char *const leaf_controllers[CGROUP_CONTROLLER_COUNT] = {
    [CGROUP_MEMORY] = "memory", [CGROUP_PIDS] = "pids", [CGROUP_IO] = "io"};

/* v2: nobody but ourselves is a member. */
static bool alone_in(const char *folder)
{
    char text[64];
    uint64_t pid;
    ssize_t length = cgroup_group_read(folder, "cgroup.procs", text, sizeof(text));

    if (length <= 0)
        return false;
    const char *end = digits_read(text, text + length, &pid);
    return end && pid == (uint64_t)getpid() && end + 1 == text + length;
}

/* v2: turns on below `folder` what leaves can have; true if something is on. */
static bool enable_controllers(struct cgroup_target *target, const char *folder)
{
    bool any = false;

    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        char text[16];
        if (!leaf_controllers[i] || !cgroup_group_word(folder, "cgroup.controllers", leaf_controllers[i]))
            continue;
        (void)snprintf(text, sizeof(text), "+%s", leaf_controllers[i]);
        target->enabled[i] = cgroup_group_write(folder, "cgroup.subtree_control", text) == 0;
        any = any || target->enabled[i];
    }
    return any;
}

static void disable_controllers(struct cgroup_target *target, const char *folder)
{
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        char text[16];
        if (!target->enabled[i])
            continue;
        (void)snprintf(text, sizeof(text), "-%s", leaf_controllers[i]);
        (void)cgroup_group_write(folder, "cgroup.subtree_control", text);
        target->enabled[i] = false;
    }
}

/* v2: a group has members or controllers below it, not both. If we are its only member we can make room: into
 * a leaf of our own, beside the target's. */
static void step_aside(struct cgroup_target *target, const char *folder)
{
    if (!alone_in(folder) || cgroup_leaf_make_aside(folder, &target->aside) < 0)
        return;
    if (write(target->aside.join_fd, "0", 1) == 1 && enable_controllers(target, folder))
        return;
    (void)cgroup_group_write(folder, "cgroup.procs", "0");
    cgroup_leaf_remove(&target->aside);
}

static void step_back(struct cgroup_target *target)
{
    const char *folder = target->place.spots[CGROUP_UNIFIED].folder;

    if (!target->aside.folder)
        return;
    disable_controllers(target, folder);
    (void)cgroup_group_write(folder, "cgroup.procs", "0");
    cgroup_leaf_remove(&target->aside);
}

/* The v2 leaf. On a pure v2 host the controllers come with it, where they can be had at all. */
static const char *make_unified(struct cgroup_target *target)
{
    const struct cgroup_spot *spot = &target->place.spots[CGROUP_UNIFIED];
    const char *refusal = spot->version ? cgroup_leaf_refusal(spot) : spot->reason;
    bool wanted = false;

    if (refusal || target->look_only)
        return refusal;
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        wanted = wanted || (leaf_controllers[i] && target->place.spots[i].version == 2 &&
                            !cgroup_group_word(spot->folder, "cgroup.subtree_control", leaf_controllers[i]));
    if (wanted)
        step_aside(target, spot->folder);
    struct cgroup_leaf *leaf = &target->leaves[CGROUP_UNIFIED];
    refusal = "the kernel refused to make a group";
    if (cgroup_leaf_make(spot->folder, 2, leaf) == 0) {
        /* "domain invalid" or "threaded" (from Linux 4.14; before, there were no such groups). */
        if (!cgroup_group_word(leaf->folder, "cgroup.type", "invalid") &&
            !cgroup_group_word(leaf->folder, "cgroup.type", "threaded"))
            return NULL;
        refusal = "metron was started in a threaded group, which takes no processes below it";
        cgroup_leaf_remove(leaf);
    }
    step_back(target);
    return refusal;
}

/* Why a v1 leaf would not do what it is for: count, and change nothing. */
static const char *v1_refusal(const struct cgroup_target *target, enum cgroup_controller controller)
{
    const struct cgroup_spot *spots = target->place.spots;
    uint64_t hierarchical;

    switch (controller) {
    case CGROUP_IO:
        return "in cgroup v1 a leaf of blkio would leave the limits above it";
    case CGROUP_CPUACCT:
        if (spots[CGROUP_CPU].version == 1 &&
            strcmp(spots[CGROUP_CPU].folder, spots[CGROUP_CPUACCT].folder) == 0)
            return "cpuacct is mounted together with cpu, a leaf of which would change scheduling";
        return NULL;
    case CGROUP_MEMORY:
        if (cgroup_group_number(spots[CGROUP_MEMORY].folder, "memory.use_hierarchy", &hierarchical) &&
            hierarchical == 0)
            return "memory.use_hierarchy is 0: a leaf would leave the limits above it";
        return NULL;
    default:
        return NULL;
    }
}

static const char *make_controller(struct cgroup_target *target, enum cgroup_controller controller)
{
    const struct cgroup_spot *spot = &target->place.spots[controller];
    const char *refusal;

    if (spot->version != 1) { /* it is in the unified leaf, or nowhere */
        const char *unified = target->leaves[CGROUP_UNIFIED].folder;
        if (target->reasons[CGROUP_UNIFIED] || !leaf_controllers[controller])
            return spot->version ? target->reasons[CGROUP_UNIFIED] : spot->reason;
        if (unified)
            target->in_unified[controller] =
                cgroup_group_word(unified, "cgroup.controllers", leaf_controllers[controller]);
        else
            target->in_unified[controller] =
                cgroup_group_word(target->place.spots[CGROUP_UNIFIED].folder, "cgroup.subtree_control",
                                  leaf_controllers[controller]);
        if (target->in_unified[controller])
            return NULL;
        return spot->version ? "in cgroup v2 a leaf has this controller only in a delegated group where "
                               "metron is alone; "
                               "'systemd-run --user --scope -p Delegate=yes metron run ...' gives one"
                             : spot->reason;
    }
    refusal = v1_refusal(target, controller);
    if (!refusal)
        refusal = cgroup_leaf_refusal(spot);
    if (refusal || target->look_only)
        return refusal;
    if (cgroup_leaf_make(spot->folder, 1, &target->leaves[controller]) < 0)
        return "the kernel refused to make a group";
    return NULL;
}

/* True if the target has a leaf in at least one hierarchy that counts CPU or memory. */
static bool make_leaves(struct cgroup_target *target)
{
    static const enum cgroup_controller counted[] = {CGROUP_MEMORY, CGROUP_PIDS, CGROUP_IO};

    target->reasons[CGROUP_UNIFIED] = make_unified(target);
    target->reasons[CGROUP_CPU] = "a leaf of the cpu controller would change scheduling";
    target->reasons[CGROUP_CPUACCT] = target->reasons[CGROUP_UNIFIED]
                                          ? make_controller(target, CGROUP_CPUACCT)
                                          : "CPU time is counted in the v2 leaf";
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
        target->reasons[counted[i]] = make_controller(target, counted[i]);
    return !target->reasons[CGROUP_UNIFIED] || !target->reasons[CGROUP_CPUACCT] ||
           !target->reasons[CGROUP_MEMORY];
}

static void remove_leaves(struct cgroup_target *target)
{
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (!target->leaves[i].folder)
            continue;
        cgroup_leaf_remove(&target->leaves[i]);
        cgroup_leaf_sweep(target->place.spots[i].folder);
    }
}

int cgroup_target_open(struct cgroup_target *target, struct cgroup_place *place, enum cgroup_mode mode,
                       bool look_only, struct metron_error *error)
{
    bool found = false;

    *target = (struct cgroup_target){.place = *place, .aside = CGROUP_LEAF_NONE, .look_only = look_only};
    *place = (struct cgroup_place){0};
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        target->leaves[i] = CGROUP_LEAF_NONE;
        found = found || target->place.spots[i].version != 0;
    }
    target->is_running = mode == CGROUP_MODE_RUNNING || mode == CGROUP_MODE_SEVERAL;
    if (mode == CGROUP_MODE_SEVERAL) {
        target->why_not_own = "the processes are in different groups";
    } else if (breakage_has("cgroup") || mode == CGROUP_MODE_OFF) {
        target->why_not_own = mode == CGROUP_MODE_OFF ? "switched off" : "cgroup files cannot be read";
    } else if (mode == CGROUP_MODE_INHERITED || mode == CGROUP_MODE_RUNNING) {
        target->why_not_own = mode == CGROUP_MODE_INHERITED
                                  ? "not wanted (--cgroup inherited)"
                                  : "processes that run already stay in the group they are in";
        target->scope = found ? CGROUP_SCOPE_INHERITED : CGROUP_SCOPE_NONE;
    } else if (make_leaves(target)) {
        target->scope = CGROUP_SCOPE_OWN;
    } else {
        remove_leaves(target); /* one that counts neither CPU nor memory is of no use */
        target->why_not_own =
            target->reasons[target->place.spots[CGROUP_UNIFIED].version ? CGROUP_UNIFIED : CGROUP_MEMORY];
        target->scope = found ? CGROUP_SCOPE_INHERITED : CGROUP_SCOPE_NONE;
    }
    if (mode == CGROUP_MODE_OWN && target->scope != CGROUP_SCOPE_OWN)
        return error_set(error, -EACCES, "--cgroup own: no group can be made here: %s", target->why_not_own);
    return 0;
}

void cgroup_target_close(struct cgroup_target *target)
{
    remove_leaves(target);
    step_back(target);
    cgroup_place_fini(&target->place);
    *target = (struct cgroup_target){.aside = CGROUP_LEAF_NONE};
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        target->leaves[i] = CGROUP_LEAF_NONE;
}

const char *cgroup_target_folder(const struct cgroup_target *target, enum cgroup_controller controller,
                                 int *version, const char **reason)
{
    const struct cgroup_spot *spot = &target->place.spots[controller];

    *version = target->in_unified[controller] ? 2 : spot->version;
    *reason = NULL;
    if (target->scope == CGROUP_SCOPE_NONE) {
        *reason = target->why_not_own ? target->why_not_own : "no control group is to be seen";
    } else if (target->scope == CGROUP_SCOPE_OWN && controller != CGROUP_CPU) {
        *reason = target->reasons[controller];
        return *reason ? NULL : target->leaves[*version == 2 ? CGROUP_UNIFIED : controller].folder;
    } else if (!spot->version) {
        *reason = spot->reason;
    } else if (spot->is_root && controller != CGROUP_CPU) {
        *reason = target->is_running ? "the processes are in the root group, which holds the whole machine"
                                     : "metron was started in the root group, which holds the whole machine";
    }
    return *reason ? NULL : spot->folder;
}

size_t cgroup_target_entrances(const struct cgroup_target *target, int join_fds[CGROUP_CONTROLLER_COUNT])
{
    size_t count = 0;

    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        if (i != CGROUP_UNIFIED && target->leaves[i].folder)
            join_fds[count++] = target->leaves[i].join_fd;
    return count;
}

bool cgroup_target_kill(const struct cgroup_target *target)
{
    const char *folder = target->leaves[CGROUP_UNIFIED].folder;
    return folder && cgroup_group_write(folder, "cgroup.kill", "1") == 0;
}
