/*
 * Capabilities, in children that give some up. What is there is read from /proc/self/status, the kernel's own
 * account. A child exits with 0, or with the number of the step that failed; 77: not possible here.
 */
#include "probe/privilege.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/capability.h>

#include <cmocka.h>

#include "another_user.h"

#define BIT(capability) (UINT64_C(1) << (capability))

/* What loading programs and listening need, and nothing later does. */
static const uint64_t unneeded = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_NET_ADMIN) | BIT(CAP_SYS_ADMIN);

/* A line of /proc/self/status ("CapEff:"). */
static uint64_t own_set(const char *name)
{
    char line[256];
    uint64_t value = 0;
    FILE *file = fopen("/proc/self/status", "re");

    if (!file)
        _exit(90);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoull(line + strlen(name), NULL, 16);
    (void)fclose(file);
    return value;
}

/* A root that lacks capabilities (a container) cannot show their loss. */
static bool is_whole_root(void)
{
    return geteuid() == 0 && (own_set("CapEff:") & unneeded) == unneeded;
}

static void only_keep(uint64_t permitted, uint64_t inheritable)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct data[2] = {
        {(uint32_t)permitted, (uint32_t)permitted, (uint32_t)inheritable},
        {(uint32_t)(permitted >> 32), (uint32_t)(permitted >> 32), (uint32_t)(inheritable >> 32)},
    };

    if (syscall(SYS_capset, &header, data) != 0)
        _exit(91);
}

static bool become_ordinary_user(void)
{
    return geteuid() != 0 || become_another_user();
}

/* A user that has only what setcap or systemd gave. */
static bool become_user_with(uint64_t permitted)
{
    if (prctl(PR_SET_KEEPCAPS, 1) != 0 || !become_ordinary_user())
        return false;
    only_keep(permitted, 0);
    return true;
}

/* Whether the kernel lets this process make a table; which one has nothing to do with. */
static bool kernel_permits_bpf(void)
{
    union bpf_attr attributes;

    (void)memset(&attributes, 0, sizeof(attributes));
    attributes.map_type = BPF_MAP_TYPE_HASH;
    attributes.key_size = attributes.value_size = 4;
    attributes.max_entries = 1;
    long fd = syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
    if (fd >= 0)
        (void)close((int)fd);
    return fd >= 0;
}

static void in_child_of(const char *name, int (*body)(void))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skip %s: needs root with CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and CAP_SYS_ADMIN\n",
                      name);
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define in_child(body) in_child_of(__func__, body)

static int drop_as_root(void)
{
    if (!is_whole_root())
        return 77;
    const uint64_t effective = own_set("CapEff:"), permitted = own_set("CapPrm:");

    if (!privilege_for_bpf() || !kernel_permits_bpf())
        return 1;
    if (!privilege_drop(NULL, NULL))
        return 2;
    if (own_set("CapEff:") != (effective & ~unneeded))
        return 3;
    if (own_set("CapPrm:") != (permitted & ~unneeded))
        return 4;
    if (own_set("CapInh:") & unneeded)
        return 5;
    if (privilege_for_bpf())
        return 6;
    /* For good. */
    const struct __user_cap_data_struct all[2] = {{~0U, ~0U, 0}, {~0U, ~0U, 0}};
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    if (syscall(SYS_capset, &header, all) == 0 && (own_set("CapEff:") & unneeded))
        return 7;
    /* A second time there is nothing to do. */
    return privilege_drop(NULL, NULL) ? 0 : 8;
}

static void dropped_is_what_loading_needs_and_the_rest_is_kept(void **state)
{
    (void)state;
    in_child(drop_as_root);
}

static bool note_and_refuse(void *context)
{
    *(uint64_t *)context = own_set("CapEff:");
    return false;
}

static bool note_and_agree(void *context)
{
    *(uint64_t *)context = own_set("CapEff:");
    return true;
}

static int restore_as_root(void)
{
    uint64_t during = 0;

    if (!is_whole_root())
        return 77;
    const uint64_t effective = own_set("CapEff:"), permitted = own_set("CapPrm:");

    if (privilege_drop(note_and_refuse, &during))
        return 1;
    if (during != (effective & ~unneeded))
        return 2;
    if (own_set("CapEff:") != effective || own_set("CapPrm:") != permitted)
        return 3;
    return privilege_for_bpf() && kernel_permits_bpf() ? 0 : 4;
}

static void what_no_longer_works_brings_them_back(void **state)
{
    (void)state;
    in_child(restore_as_root);
}

static int agree_as_root(void)
{
    uint64_t during = UINT64_MAX;

    if (!is_whole_root())
        return 77;
    if (!privilege_drop(note_and_agree, &during))
        return 1;
    if (during & unneeded)
        return 2;
    return (own_set("CapEff:") | own_set("CapPrm:")) & unneeded ? 3 : 0;
}

static void trial_happens_without_them(void **state)
{
    (void)state;
    in_child(agree_as_root);
}

static int drop_as_user_with_two(void)
{
    const uint64_t two = BIT(CAP_BPF) | BIT(CAP_PERFMON), other = BIT(CAP_SYS_NICE);

    if (!is_whole_root() || !become_user_with(two | other))
        return 77;
    if (!privilege_for_bpf() || !kernel_permits_bpf())
        return 1;
    if (!privilege_drop(NULL, NULL))
        return 2;
    if (own_set("CapEff:") != other || own_set("CapPrm:") != other)
        return 3;
    return privilege_for_bpf() ? 4 : 0;
}

static void user_with_the_two_capabilities_may_and_can_drop_them(void **state)
{
    (void)state;
    in_child(drop_as_user_with_two);
}

static int half_is_not_enough(void)
{
    if (!is_whole_root() || !become_user_with(BIT(CAP_BPF)))
        return 77;
    if (privilege_for_bpf())
        return 1;
    only_keep(0, 0);
    return privilege_for_bpf() ? 2 : 0;
}

static void one_of_the_two_does_not_suffice(void **state)
{
    (void)state;
    in_child(half_is_not_enough);
}

static bool never_asked(void *context)
{
    *(bool *)context = true;
    return false;
}

static int drop_as_ordinary_user(void)
{
    bool asked = false;

    if (!become_ordinary_user())
        return 77;
    if (privilege_for_bpf())
        return 1;
    /* Nothing to give up is as good as having given it up. */
    if (!privilege_drop(never_asked, &asked) || asked)
        return 2;
    return own_set("CapEff:") == 0 ? 0 : 3;
}

static void ordinary_user_has_nothing_to_drop(void **state)
{
    (void)state;
    in_child(drop_as_ordinary_user);
}

/* What metron has from its file, the loader would lose at exec: only ambient ones survive it. */
static int pass_on_through_exec(void)
{
    const uint64_t given = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_NET_ADMIN);

    if (!is_whole_root() || !become_user_with(given))
        return 77;
    privilege_pass_on();
    if (own_set("CapAmb:") != (BIT(CAP_BPF) | BIT(CAP_PERFMON)))
        return 1;
    execl("/bin/sh", "sh", "-c", "test $(awk '/^CapEff:/ {print $2}' /proc/self/status) = 000000c000000000",
          (char *)NULL);
    return 2;
}

static void loader_gets_the_two_and_no_other(void **state)
{
    (void)state;
    in_child(pass_on_through_exec);
}

static int drop_takes_ambient_ones_too(void)
{
    if (!is_whole_root() || !become_user_with(BIT(CAP_BPF) | BIT(CAP_PERFMON)))
        return 77;
    privilege_pass_on();
    if (!privilege_drop(NULL, NULL))
        return 1;
    return own_set("CapAmb:") == 0 && own_set("CapInh:") == 0 ? 0 : 2;
}

static void nothing_is_left_for_programs_started_later(void **state)
{
    (void)state;
    in_child(drop_takes_ambient_ones_too);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_is_what_loading_needs_and_the_rest_is_kept),
        cmocka_unit_test(what_no_longer_works_brings_them_back),
        cmocka_unit_test(trial_happens_without_them),
        cmocka_unit_test(user_with_the_two_capabilities_may_and_can_drop_them),
        cmocka_unit_test(one_of_the_two_does_not_suffice),
        cmocka_unit_test(ordinary_user_has_nothing_to_drop),
        cmocka_unit_test(loader_gets_the_two_and_no_other),
        cmocka_unit_test(nothing_is_left_for_programs_started_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
