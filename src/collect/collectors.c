#include "collect/collectors.h"

extern const struct collector collector_proc;
extern const struct collector collector_ledger;
extern const struct collector collector_smaps;
extern const struct collector collector_io;
extern const struct collector collector_cgroup;
extern const struct collector collector_rusage;
extern const struct collector collector_exit;
extern const struct collector collector_psi;
extern const struct collector collector_sys;
extern const struct collector collector_gpu;
extern const struct collector collector_syscall;
extern const struct collector collector_ps;
extern const struct collector collector_self;

/* One line per collector. */
const struct collector *const collectors[] = {
    &collector_proc,    &collector_ledger, &collector_smaps, &collector_io,  &collector_cgroup,
    &collector_rusage,  &collector_exit,   &collector_psi,   &collector_sys, &collector_gpu,
    &collector_syscall, &collector_ps,     &collector_self,
};
const size_t collector_count = sizeof(collectors) / sizeof(collectors[0]);

const struct source *const *collector_sources(void)
{
    static const struct source *sources[sizeof(collectors) / sizeof(collectors[0])];
    for (size_t i = 0; i < collector_count; i++)
        sources[i] = &collectors[i]->source;
    return sources;
}
