/* What a target may use: the lowest of affinity, quotas and limits in every recorded layout, and on this
 * machine in groups made for it. */
#include "probe/allowance.h"

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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "probe/cgroup/files.h"

#define LAYOUTS METRON_FIXTURES "/cgroup/"
#define GIB     (UINT64_C(1) << 30)

static void allowance_in(const char *prefix, const struct kernel_facts *facts, struct allowance *out)
{
    struct cgroup_place place;
    char proc_root[600];

    (void)snprintf(proc_root, sizeof(proc_root), "%s/proc", prefix);
    assert_int_equal(cgroup_place_find(proc_root, prefix, 0, &place), 0);
    allowance_find(&place, facts, out);
    cgroup_place_fini(&place);
}

static void allowance_of(const char *layout, unsigned cpus, uint64_t memory_bytes, struct allowance *out)
{
    const struct kernel_facts facts = {.usable_cpus = cpus, .memory_bytes = memory_bytes};
    char prefix[512];

    (void)snprintf(prefix, sizeof(prefix), "%s%s", LAYOUTS, layout);
    allowance_in(prefix, &facts, out);
}

static void assert_cpus(const struct allowance *allowance, double cpus, const char *by)
{
    assert_true(allowance->cpus > cpus - 1e-9 && allowance->cpus < cpus + 1e-9);
    assert_string_equal(allowance->cpus_by, by);
}

static void assert_memory(const struct allowance *allowance, uint64_t bytes, const char *by)
{
    assert_int_equal(allowance->memory_bytes, bytes);
    assert_string_equal(allowance->memory_by, by);
}

static void ancestors_limits_bind_even_without_the_controller(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("v2-6.12", 8, 16 * GIB, &allowance);
    assert_cpus(&allowance, 1.5, "quota of /user.slice/user-1000.slice");
    assert_memory(&allowance, 4 * GIB, "limit of /user.slice/user-1000.slice/user@1000.service");
    assert_int_equal(allowance.memory_limit_bytes, 4 * GIB);
    assert_false(allowance.ancestors_hidden);
}

static void affinity_and_the_machine_bind_where_they_are_lower(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("v2-6.12", 1, 2 * GIB, &allowance);
    assert_cpus(&allowance, 1, "affinity");
    assert_memory(&allowance, 2 * GIB, "memory of the machine");
    assert_int_equal(allowance.memory_limit_bytes, 4 * GIB); /* there all the same */
}

static void own_limit_of_an_older_v2_binds(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("v2-5.10", 4, 8 * GIB, &allowance);
    assert_cpus(&allowance, 4, "affinity");
    assert_memory(&allowance, 2 * GIB, "limit of /system.slice/batch.service");
}

static void batch_job_may_use_what_its_job_has(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("v1-batch", 2, 64 * GIB, &allowance);
    assert_cpus(&allowance, 2, "affinity");
    assert_memory(&allowance, 8 * GIB, "limit of /slurm/uid_1000/job_42");
    assert_false(allowance.ancestors_hidden);
}

static void host_without_limits_allows_the_machine(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("hybrid-6.18", 2, 23 * GIB, &allowance);
    assert_cpus(&allowance, 2, "affinity");
    assert_memory(&allowance, 23 * GIB, "memory of the machine");
    assert_true(allowance.memory_limit_bytes == CGROUP_NO_LIMIT);
    assert_false(allowance.ancestors_hidden);
}

/* Its own limit is 512 MiB; v1 tells that a group above, which it cannot see, has 384. */
static void v1_tells_of_limits_above_a_container(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("container-v1", 8, 16 * GIB, &allowance);
    assert_cpus(&allowance, 1.5, "quota of /docker/9f1c2b7e5a40");
    assert_memory(&allowance, GIB * 3 / 8, "limit of a group that cannot be seen");
    assert_true(allowance.ancestors_hidden); /* of cpu, where nothing tells */
}

static void top_of_a_namespace_has_limits(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("container-v2", 8, 16 * GIB, &allowance);
    assert_cpus(&allowance, 0.5, "quota of /");
    assert_memory(&allowance, GIB, "limit of /");
    assert_true(allowance.ancestors_hidden);
}

static void group_that_cannot_be_found_leaves_limits_open(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("v2-above", 8, 16 * GIB, &allowance);
    assert_cpus(&allowance, 8, "affinity");
    assert_memory(&allowance, 16 * GIB, "memory of the machine");
    assert_true(allowance.memory_limit_bytes == CGROUP_NO_LIMIT);
    assert_true(allowance.ancestors_hidden);
}

static void limit_behind_an_escaped_mount_is_found(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("escapes", 8, 16 * GIB, &allowance);
    assert_memory(&allowance, 1610612736, "limit of /my jobs");
    assert_true(allowance.ancestors_hidden);
}

static void unknown_memory_stays_unknown_without_a_limit(void **state)
{
    (void)state;
    struct allowance allowance;

    allowance_of("hybrid-6.18", 2, 0, &allowance);
    assert_memory(&allowance, 0, "");
    allowance_of("container-v2", 2, 0, &allowance);
    assert_memory(&allowance, GIB, "limit of /");
}

/* A tree of our own. */
struct made {
    char root[64];
};

static void made_begin(struct made *made)
{
    (void)snprintf(made->root, sizeof(made->root), "/tmp/test_allowance_XXXXXX");
    assert_non_null(mkdtemp(made->root));
}

static void made_file(const struct made *made, const char *folder, const char *name, const char *text)
{
    struct metron_error error;
    char whole[8192];
    int fd;

    assert_true(snprintf(whole, sizeof(whole), "%s/%s/%s", made->root, folder, name) < (int)sizeof(whole));
    assert_int_equal(file_make_folders(whole, &error), 0);
    fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static void made_find(const struct made *made, struct allowance *out)
{
    const struct kernel_facts facts = {.usable_cpus = 4, .memory_bytes = 8 * GIB};

    allowance_in(made->root, &facts, out);
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

/* Before Linux 5.11 a group of v1 could leave its children alone (memory.use_hierarchy 0):
 * hierarchical_memory_limit knows, the files of the groups do not. */
static void limit_of_a_v1_group_that_does_not_bind_is_left_out(void **state)
{
    (void)state;
    struct allowance allowance;
    struct made made;

    made_begin(&made);
    made_file(&made, "proc/self", "cgroup", "3:memory:/flat/job\n");
    made_file(&made, "proc/self", "mountinfo", "3 0 0:7 / /cg rw - cgroup x rw,memory\n");
    made_file(&made, "cg", "release_agent", "\n");
    made_file(&made, "cg", "memory.limit_in_bytes", "4096\n"); /* of the real root: never read */
    made_file(&made, "cg/flat", "memory.limit_in_bytes", "1048576\n");
    made_file(&made, "cg/flat/job", "cgroup.procs", "");
    made_file(&made, "cg/flat/job", "memory.limit_in_bytes", "4194304\n");
    made_file(&made, "cg/flat/job", "memory.stat", "cache 0\nhierarchical_memory_limit 4194304\n");
    made_find(&made, &allowance);
    assert_memory(&allowance, 4194304, "limit of /flat/job");

    /* Without that line the groups' own files are all there is. */
    made_file(&made, "cg/flat/job", "memory.stat", "cache 0\n");
    made_find(&made, &allowance);
    assert_memory(&allowance, 1048576, "limit of /flat");
    made_file(&made, "cg/flat/job", "memory.stat", "hierarchical_memory_limit lots\n");
    made_file(&made, "cg/flat", "memory.limit_in_bytes", "lots\n");
    made_find(&made, &allowance);
    assert_memory(&allowance, 4194304, "limit of /flat/job");
    made_end(&made);
}

static void limits_that_cannot_be_read_are_left_out(void **state)
{
    (void)state;
    struct allowance allowance;
    struct made made;

    made_begin(&made);
    made_file(&made, "proc/self", "cgroup", "4:cpu,cpuacct:/a/b\n0::/a/b\n");
    made_file(&made, "proc/self", "mountinfo",
              "3 0 0:7 / /v1 rw - cgroup x rw,cpu,cpuacct\n4 0 0:8 / /v2 rw - cgroup2 x rw\n");
    made_file(&made, "v1", "release_agent", "\n");
    made_file(&made, "v1/a/b", "cgroup.procs", "");
    made_file(&made, "v1/a/b", "cpu.cfs_quota_us", "50000\n"); /* no period */
    made_file(&made, "v1/a", "cpu.cfs_quota_us", "300000\n");
    made_file(&made, "v1/a", "cpu.cfs_period_us", "100000\n");
    made_file(&made, "v2", "cgroup.procs", "");
    made_file(&made, "v2/a/b", "cgroup.procs", "");
    made_file(&made, "v2/a/b", "memory.max", "99");          /* cut off */
    made_file(&made, "v2/a/b", "cpu.max", "10000 100000\n"); /* cpu is v1's here */
    made_file(&made, "v2/a", "memory.max", "1073741824\n");
    made_find(&made, &allowance);
    assert_cpus(&allowance, 3, "quota of /a");
    assert_memory(&allowance, GIB, "limit of /a");
    assert_false(allowance.ancestors_hidden);
    made_file(&made, "v1/a/b", "cpu.cfs_period_us", "0\n");
    made_find(&made, &allowance);
    assert_cpus(&allowance, 3, "quota of /a");
    made_end(&made);
}

/* v1's memory.stat counts them; of cpu, and where that file says nothing, they may be lower. */
static void hidden_ancestors_matter_unless_they_are_told(void **state)
{
    (void)state;
    struct allowance allowance;
    struct made made;

    made_begin(&made);
    made_file(&made, "proc/self", "cgroup", "3:memory:/box\n");
    made_file(&made, "proc/self", "mountinfo", "3 0 0:7 /box /cg rw - cgroup x rw,memory\n");
    made_file(&made, "cg", "cgroup.procs", "");
    made_file(&made, "cg", "memory.limit_in_bytes", "4194304\n");
    made_file(&made, "cg", "memory.stat", "hierarchical_memory_limit 4194304\n");
    made_find(&made, &allowance);
    assert_memory(&allowance, 4194304, "limit of /box");
    assert_false(allowance.ancestors_hidden);
    made_file(&made, "cg", "memory.stat", "cache 0\n");
    made_find(&made, &allowance);
    assert_memory(&allowance, 4194304, "limit of /box");
    assert_true(allowance.ancestors_hidden);
    /* A memory group that is not mounted at all, beside a cpu group without anything above. */
    made_file(&made, "proc/self", "cgroup", "3:memory:/box\n2:cpu:/\n");
    made_file(&made, "proc/self", "mountinfo", "3 0 0:7 / /cpu rw - cgroup x rw,cpu\n");
    made_file(&made, "cpu", "release_agent", "\n");
    made_find(&made, &allowance);
    assert_memory(&allowance, 8 * GIB, "memory of the machine");
    assert_true(allowance.ancestors_hidden);
    made_end(&made);
}

static void long_names_keep_their_end(void **state)
{
    (void)state;
    struct strbuf folder = STRBUF_INIT, line = STRBUF_INIT;
    struct allowance allowance;
    struct made made;

    made_begin(&made);
    for (int i = 0; i < 12; i++)
        strbuf_addf(&folder, "/%030d", i);
    strbuf_addf(&line, "0::%s/job\n", strbuf_text(&folder));
    made_file(&made, "proc/self", "cgroup", strbuf_text(&line));
    made_file(&made, "proc/self", "mountinfo", "4 0 0:8 / /cg rw - cgroup2 x rw\n");
    strbuf_reset(&line);
    strbuf_addf(&line, "cg%s/job", strbuf_text(&folder));
    made_file(&made, strbuf_text(&line), "cgroup.procs", "");
    made_file(&made, strbuf_text(&line), "cpu.max", "100000 100000\n");
    made_find(&made, &allowance);
    assert_true(strlen(allowance.cpus_by) < ALLOWANCE_BY_SIZE);
    assert_memory_equal(allowance.cpus_by, "quota of .../0000", 17);
    assert_string_equal(allowance.cpus_by + strlen(allowance.cpus_by) - 7, "011/job");
    made_end(&made);
    strbuf_fini(&folder);
    strbuf_fini(&line);
}

static int group_write(const char *folder, const char *name, const char *text)
{
    char path[4200];
    int fd, status;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    status = file_write_all(fd, text, strlen(text));
    close(fd);
    return status;
}

/* In a child: joins the groups, whose limits are set already, and looks at itself. */
static int look_from_inside(const char *memory_folder, const char *cpu_folder)
{
    struct kernel_facts facts = {.usable_cpus = 2, .memory_bytes = 64 * GIB};
    struct cgroup_place place;
    struct allowance allowance;

    if (group_write(memory_folder, "tasks", "0") < 0 || group_write(cpu_folder, "tasks", "0") < 0)
        return 77;
    if (cgroup_place_find("/proc", "", 0, &place) < 0)
        return 1;
    allowance_find(&place, &facts, &allowance);
    cgroup_place_fini(&place);
    if (allowance.memory_bytes > GIB / 16 || strstr(allowance.memory_by, "/metron_test_") == NULL)
        return 2;
    if (allowance.cpus > 0.25 || strstr(allowance.cpus_by, "/metron_test_") == NULL)
        return 3;
    return 0;
}

static void limits_set_here_are_found_from_inside(void **state)
{
    (void)state;
    char memory_folder[4100] = "", cpu_folder[4100] = "";
    struct cgroup_place place;
    int status = 77 << 8;

    assert_int_equal(cgroup_place_find("/proc", "", 0, &place), 0);
    if (place.spots[CGROUP_MEMORY].version == 1 && place.spots[CGROUP_CPU].version == 1) {
        (void)snprintf(memory_folder, sizeof(memory_folder), "%s/metron_test_%d",
                       place.spots[CGROUP_MEMORY].folder, (int)getpid());
        (void)snprintf(cpu_folder, sizeof(cpu_folder), "%s/metron_test_%d", place.spots[CGROUP_CPU].folder,
                       (int)getpid());
    }
    cgroup_place_fini(&place);
    if (memory_folder[0] != '\0' && mkdir(memory_folder, 0700) == 0) {
        if (mkdir(cpu_folder, 0700) == 0 &&
            group_write(memory_folder, "memory.limit_in_bytes", "67108864") == 0 &&
            group_write(cpu_folder, "cpu.cfs_quota_us", "25000") == 0) {
            pid_t child = fork();

            if (child == 0)
                _exit(look_from_inside(memory_folder, cpu_folder));
            assert_int_equal(waitpid(child, &status, 0), child);
        }
        (void)rmdir(cpu_folder);
        assert_int_equal(rmdir(memory_folder), 0);
    }
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skip %s: no v1 groups that can be made here\n", __func__);
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ancestors_limits_bind_even_without_the_controller),
        cmocka_unit_test(affinity_and_the_machine_bind_where_they_are_lower),
        cmocka_unit_test(own_limit_of_an_older_v2_binds),
        cmocka_unit_test(batch_job_may_use_what_its_job_has),
        cmocka_unit_test(host_without_limits_allows_the_machine),
        cmocka_unit_test(v1_tells_of_limits_above_a_container),
        cmocka_unit_test(top_of_a_namespace_has_limits),
        cmocka_unit_test(group_that_cannot_be_found_leaves_limits_open),
        cmocka_unit_test(limit_behind_an_escaped_mount_is_found),
        cmocka_unit_test(unknown_memory_stays_unknown_without_a_limit),
        cmocka_unit_test(limit_of_a_v1_group_that_does_not_bind_is_left_out),
        cmocka_unit_test(limits_that_cannot_be_read_are_left_out),
        cmocka_unit_test(hidden_ancestors_matter_unless_they_are_told),
        cmocka_unit_test(long_names_keep_their_end),
        cmocka_unit_test(limits_set_here_are_found_from_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
