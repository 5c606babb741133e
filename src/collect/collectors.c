#include "collect/collectors.h"

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
