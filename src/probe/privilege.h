/*
 * Capabilities: what this process may do beyond an ordinary user, and giving up what it no longer needs.
 */
#ifndef METRON_PROBE_PRIVILEGE_H
#define METRON_PROBE_PRIVILEGE_H

#include <stdbool.h>

/* Whether our programs may be loaded into the kernel: CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN. */
bool privilege_for_bpf(void);
/* In a child, before exec: hands what loading needs to the next program, which would not have it otherwise
 * where metron has it from its file (setcap). */
void privilege_pass_on(void);
/* In a child, before exec: what was given up stays so in the next program, which root would have get it all
 * again. A program that gains anything by exec also loses the signal it was to get at its parent's death. */
void privilege_keep_dropped(void);
/* Gives up what BPF, perf and netlink need, for good: CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and CAP_SYS_ADMIN,
 * which includes them. `still_works` is tried without them in between: where it fails (older kernels want
 * them for every look into a table), they are kept. NULL: nothing to try. Returns whether they are gone. */
bool privilege_drop(bool (*still_works)(void *context), void *context);

#endif
