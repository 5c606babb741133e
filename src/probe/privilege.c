#include "probe/privilege.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

struct capabilities {
    uint64_t effective, permitted, inheritable;
};

static uint64_t bit(int capability)
{
    return UINT64_C(1) << capability;
}

static bool capabilities_get(struct capabilities *out)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    out->effective = data[0].effective | (uint64_t)data[1].effective << 32;
    out->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    out->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
    return true;
}

static bool capabilities_set(const struct capabilities *in)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct data[2] = {
        {(uint32_t)in->effective, (uint32_t)in->permitted, (uint32_t)in->inheritable},
        {(uint32_t)(in->effective >> 32), (uint32_t)(in->permitted >> 32), (uint32_t)(in->inheritable >> 32)},
    };

    return syscall(SYS_capset, &header, data) == 0;
}

bool privilege_for_bpf(void)
{
    struct capabilities have;
    const uint64_t both = bit(CAP_BPF) | bit(CAP_PERFMON);

    return capabilities_get(&have) &&
           ((have.effective & bit(CAP_SYS_ADMIN)) || (have.effective & both) == both);
}

void privilege_pass_on(void)
{
    static const int wanted[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_RESOURCE, CAP_SYSLOG, CAP_SYS_ADMIN};
    struct capabilities have;

    if (!capabilities_get(&have))
        return;
    for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (have.permitted & bit(wanted[i]))
            have.inheritable |= bit(wanted[i]);
    if (!capabilities_set(&have))
        return;
    for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (have.permitted & bit(wanted[i]))
            (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, wanted[i], 0, 0);
}

void privilege_keep_dropped(void)
{
    struct capabilities have;

    if (!capabilities_get(&have))
        return;
    /* The kernel says with EINVAL where they end. */
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (!(have.permitted & bit(capability)))
            (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

bool privilege_drop(bool (*still_works)(void *context), void *context)
{
    const uint64_t unneeded = bit(CAP_BPF) | bit(CAP_PERFMON) | bit(CAP_NET_ADMIN) | bit(CAP_SYS_ADMIN);
    struct capabilities before;

    if (!capabilities_get(&before))
        return false;
    if (!(before.permitted & unneeded))
        return true;
    struct capabilities without = before;
    without.effective &= ~unneeded;
    if (!capabilities_set(&without))
        return false;
    if (still_works && !still_works(context)) {
        (void)capabilities_set(&before);
        return false;
    }
    without.permitted &= ~unneeded;
    without.inheritable &= ~unneeded;
    return capabilities_set(&without);
}
