#include "cmd/availability.h"

#include "collect/collectors.h"

int availability_init(struct availability *availability, const char *proc_root, struct metron_error *error)
{
    struct collect_context context = {.proc_root = proc_root};

    *availability = (struct availability){0};
    _Static_assert(AVAILABILITY_MAX >= 16, "room for every collector");
    for (size_t i = 0; i < collector_count && i < AVAILABILITY_MAX; i++) {
        const struct collector *collector = collectors[i];
        availability->sources[i].name = collector->source.name;
        availability->sources[i].reason = collector->unavailable ? collector->unavailable(&context) : NULL;
        availability->opt_in[i] = collector->opt_in;
    }
    return registry_init(&availability->registry, collector_sources(), collector_count, error);
}

void availability_fini(struct availability *availability)
{
    registry_fini(&availability->registry);
}

static const char *unavailable(void *context, size_t source_index)
{
    const struct availability *availability = context;
    return availability->sources[source_index].reason;
}

int availability_select(struct availability *availability, const char *list, struct metron_error *error)
{
    return registry_select(&availability->registry, list, availability->opt_in, unavailable, availability,
                           error);
}
