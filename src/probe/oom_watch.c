#include "probe/oom_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/cgroup/files.h"
#include "probe/cgroup/group.h"

/* Who is killed takes a while to go: his memory is freed first. */
#define JUST_NOW_NS (NS_PER_SECOND / 2)
#define LEVELS_MAX  32 /* groups from the leaf up; those above are as good as hidden */

struct level {
    char *folder;
    bool own;
    bool readable;
    uint64_t failures; /* at the start */
    bool memsw_was_full;
};

struct oom_watch {
    char *proc_root;
    uint64_t machine_kills;
    uint64_t rise_ns;      /* when a look found that it had risen; 0: never */
    uint64_t looked_kills; /* of the group, else of the machine: at the last look */
    bool has_machine_kills;
    int version; /* of the memory hierarchy; 0: there is none to be read */
    char *kills_folder;
    uint64_t kills;
    bool has_kills;
    bool ancestors_hidden;
    size_t top_length;
    struct level levels[LEVELS_MAX];
    size_t level_count;
};

static bool read_kills(const struct oom_watch *watch, uint64_t *kills)
{
    return watch->kills_folder &&
           cgroup_group_key(watch->kills_folder, watch->version == 2 ? "memory.events" : "memory.oom_control",
                            "oom_kill", kills);
}

static bool read_failures(const struct oom_watch *watch, const struct level *level, uint64_t *failures)
{
    return watch->version == 2 ? cgroup_group_key(level->folder, "memory.events.local", "oom", failures)
                               : cgroup_group_number(level->folder, "memory.failcnt", failures);
}

/* v1 limits memory and swap together too (memory.memsw), batch systems to the same as memory alone: it is
 * then the one that fails, and memory.failcnt stays as it is. Nor does Linux 6.18 count the failures of
 * memsw, so that its high-water mark is all there is to see it by; a charge is made in steps of up to 64
 * pages per CPU. */
#define MEMSW_STEP_BYTES (1U << 20)
static bool memsw_is_full(const struct oom_watch *watch, const struct level *level)
{
    uint64_t limit, most;

    return watch->version == 1 && cgroup_group_number(level->folder, "memory.memsw.limit_in_bytes", &limit) &&
           limit != CGROUP_NO_LIMIT &&
           cgroup_group_number(level->folder, "memory.memsw.max_usage_in_bytes", &most) &&
           most + MEMSW_STEP_BYTES >= limit;
}

static bool read_machine_kills(const struct oom_watch *watch, uint64_t *kills)
{
    return watch->proc_root && cgroup_group_key(watch->proc_root, "vmstat", "oom_kill", kills);
}

static int add_level(struct oom_watch *watch, const char *folder, bool own)
{
    if (watch->level_count == LEVELS_MAX) {
        watch->ancestors_hidden = true;
        return 0;
    }
    struct level *level = &watch->levels[watch->level_count];
    level->folder = strdup(folder);
    if (!level->folder)
        return -1;
    level->own = own;
    level->readable = read_failures(watch, level, &level->failures);
    level->memsw_was_full = memsw_is_full(watch, level);
    watch->level_count++;
    return 0;
}

/* The leaf, the group, and every ancestor that can be seen. */
static int add_levels(struct oom_watch *watch, const struct cgroup_target *target)
{
    const struct cgroup_spot *spot = &target->place.spots[CGROUP_MEMORY];
    int version, code = 0;
    const char *reason;
    const char *leaf = target->scope == CGROUP_SCOPE_OWN
                           ? cgroup_target_folder(target, CGROUP_MEMORY, &version, &reason)
                           : NULL;

    if (!spot->version && !leaf)
        return 0;
    watch->version = leaf ? version : spot->version;
    watch->kills_folder = strdup(leaf ? leaf : spot->folder);
    if (!watch->kills_folder)
        return -1;
    if (leaf)
        code = add_level(watch, leaf, true);
    if (!spot->version)
        return code;
    watch->ancestors_hidden = spot->ancestors_hidden;
    watch->top_length = spot->top_length;
    char *folder = strdup(spot->folder);
    if (!folder)
        return -1;
    if (code == 0)
        code = add_level(watch, folder, true);
    while (code == 0 && cgroup_spot_ascend(spot, folder))
        code = add_level(watch, folder, false);
    free(folder);
    return code;
}

struct oom_watch *oom_watch_new(const char *proc_root, const struct cgroup_target *target)
{
    struct oom_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return NULL;
    watch->proc_root = strdup(proc_root);
    if (!watch->proc_root ||
        (target && target->scope != CGROUP_SCOPE_NONE && add_levels(watch, target) < 0)) {
        oom_watch_free(watch);
        return NULL;
    }
    watch->has_kills = read_kills(watch, &watch->kills);
    if (!watch->has_kills)
        watch->has_machine_kills = read_machine_kills(watch, &watch->machine_kills);
    watch->looked_kills = watch->has_kills ? watch->kills : watch->machine_kills;
    return watch;
}

static bool read_any_kills(const struct oom_watch *watch, uint64_t *kills)
{
    return watch->has_kills ? read_kills(watch, kills)
                            : watch->has_machine_kills && read_machine_kills(watch, kills);
}

void oom_watch_look(struct oom_watch *watch)
{
    uint64_t now;

    if (!read_any_kills(watch, &now))
        return;
    if (now > watch->looked_kills)
        watch->rise_ns = clock_monotonic_ns();
    watch->looked_kills = now;
}

void oom_watch_free(struct oom_watch *watch)
{
    if (!watch)
        return;
    for (size_t i = 0; i < watch->level_count; i++)
        free(watch->levels[i].folder);
    free(watch->kills_folder);
    free(watch->proc_root);
    free(watch);
}

static void name_limit(const struct oom_watch *watch, const struct level *level, struct oom_verdict *out)
{
    size_t top = watch->top_length;
    const char *path = level->folder + (strlen(level->folder) > top ? top : strlen(level->folder));

    out->kind = level->own ? OOM_OWN_LIMIT : OOM_ANCESTOR_LIMIT;
    out->is_parent = !level->own && level > watch->levels && level[-1].own;
    (void)snprintf(out->group, sizeof(out->group), "%s", path[0] ? path : "/");
    if (!cgroup_group_number(level->folder, watch->version == 2 ? "memory.max" : "memory.limit_in_bytes",
                             &out->limit_bytes))
        out->limit_bytes = CGROUP_NO_LIMIT;
}

void oom_watch_read(struct oom_watch *watch, struct oom_verdict *out)
{
    uint64_t now;
    const struct level *nearest = NULL;
    bool all_readable = true;

    *out = (struct oom_verdict){.limit_bytes = CGROUP_NO_LIMIT};
    oom_watch_look(watch);
    out->just_now = watch->rise_ns && clock_monotonic_ns() - watch->rise_ns < JUST_NOW_NS;
    if (!watch->has_kills) {
        if (watch->has_machine_kills && read_machine_kills(watch, &now) && now > watch->machine_kills)
            out->kind = OOM_ON_MACHINE;
        return;
    }
    if (!read_kills(watch, &now) || now <= watch->kills)
        return;
    out->kills = now - watch->kills;
    for (size_t i = 0; i < watch->level_count; i++) {
        const struct level *level = &watch->levels[i];
        if (!level->readable || !read_failures(watch, level, &now)) {
            /* v2's root group has no such file, and no limit either. */
            all_readable = all_readable && watch->version == 2 && i + 1 == watch->level_count &&
                           !watch->ancestors_hidden && i > 0;
            continue;
        }
        if (now <= level->failures && (level->memsw_was_full || !memsw_is_full(watch, level)))
            continue;
        name_limit(watch, level, out);
        /* A leaf without a limit of its own fails for the group above: that one's limit it was. */
        if (out->limit_bytes != CGROUP_NO_LIMIT)
            return;
        if (!nearest)
            nearest = level;
    }
    if (nearest)
        name_limit(watch, nearest, out);
    else
        out->kind = all_readable && !watch->ancestors_hidden ? OOM_HOST : OOM_UNKNOWN;
}
