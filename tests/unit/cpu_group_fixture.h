/*
 * The CPU time of children as the kernel charges it to a group. It is complete where wait4 is not: wait4
 * misses what a thread uses after its process can be waited for.
 */
#ifndef METRON_TESTS_CPU_GROUP_FIXTURE_H
#define METRON_TESTS_CPU_GROUP_FIXTURE_H

#include "bpf_fixture.h"
#include "cgroup_fixture.h"

static struct {
    char folder[480]; /* "": there is none */
    int version;
} cpu_group;

/* What the joining processes had used when they asked to join, and when they were inside. */
struct cpu_joined {
    uint64_t before_ns, after_ns;
};

static inline void cpu_group_make(void)
{
    struct cgroup_place place = live_place();
    const struct cgroup_spot *spot = &place.spots[CGROUP_CPUACCT];

    if (spot->version != 1 || cgroup_leaf_refusal(spot))
        spot = &place.spots[CGROUP_UNIFIED];
    const char *refusal = spot->version ? cgroup_leaf_refusal(spot) : "no control groups";
    cpu_group.version = spot->version;
    (void)snprintf(cpu_group.folder, sizeof(cpu_group.folder), "%s/metron-test-cpu-%d", spot->folder,
                   (int)getpid());
    if (!refusal && mkdir(cpu_group.folder, 0755) != 0)
        refusal = strerror(errno);
    cgroup_place_fini(&place);
    if (refusal) {
        cpu_group.folder[0] = '\0';
        print_message("skip: no group can be made here: %s\n", refusal);
        skip();
    }
}

static inline void cpu_group_remove(void)
{
    for (int ms = 0; cpu_group.folder[0] && rmdir(cpu_group.folder) != 0 && ms < PATIENCE_MS; ms++)
        (void)usleep(1000);
    cpu_group.folder[0] = '\0';
}

static inline uint64_t own_cpu_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* In the child, while it has one thread. */
static inline void cpu_group_join(struct cpu_joined *joined)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", cpu_group.folder);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    joined->before_ns += own_cpu_ns(); /* charges all until now to the group before */
    if (fd < 0 || write(fd, "0", 1) != 1)
        _exit(98);
    joined->after_ns += own_cpu_ns();
    (void)close(fd);
}

static inline uint64_t cpu_group_ns(void)
{
    char path[512], text[1024] = "";
    bool is_v1 = cpu_group.version == 1;

    (void)snprintf(path, sizeof(path), "%s/%s", cpu_group.folder, is_v1 ? "cpuacct.usage" : "cpu.stat");
    assert_true(file_read(AT_FDCWD, path, text, sizeof(text)) > 0);
    return is_v1 ? strtoull(text, NULL, 10) : strtoull(text + sizeof("usage_usec ") - 1, NULL, 10) * 1000;
}

/* Whether the processes that joined have used so much in all; `inside_ns`: what the group has of them. */
static inline bool cpu_group_agrees(uint64_t used_ns, const struct cpu_joined *joined, uint64_t inside_ns)
{
    const uint64_t resolution_ns = 2000; /* two readings of v2, cut down to microseconds */
    bool agrees = used_ns + resolution_ns >= inside_ns + joined->before_ns &&
                  used_ns <= inside_ns + joined->after_ns + resolution_ns;

    if (!agrees)
        print_message("used %ju ns; the group has %ju ns, and before it joined %ju to %ju ns\n",
                      (uintmax_t)used_ns, (uintmax_t)inside_ns, (uintmax_t)joined->before_ns,
                      (uintmax_t)joined->after_ns);
    return agrees;
}

/* Children whose CPU time a group counts as well; skips where none can be made. cpu_group_remove() at the
 * end. */
static uint64_t in_group_before_ns;
static void (*in_group_body)(void);

static inline struct cpu_joined *in_group_joined(void)
{
    return (struct cpu_joined *)(void *)(fixture.shared + (1 << 15));
}

static inline void in_group_begin(void)
{
    if (!cpu_group.folder[0])
        cpu_group_make();
    in_group_before_ns = cpu_group_ns();
    *in_group_joined() = (struct cpu_joined){0};
}

static inline void in_group_main(void)
{
    cpu_group_join(in_group_joined());
    in_group_body();
}

static inline pid_t in_group_start(void (*body)(void))
{
    in_group_body = body;
    return child_start(in_group_main);
}

/* Whether all children since in_group_begin() have used so much. */
static inline bool in_group_agrees(uint64_t used_ns)
{
    return cpu_group_agrees(used_ns, in_group_joined(), cpu_group_ns() - in_group_before_ns);
}

static inline int in_group_teardown(void **state)
{
    cpu_group_remove();
    return fixture_teardown(state);
}

#endif
