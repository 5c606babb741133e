#include "learn/resident.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"

/* What it is called by the collectors, and by con-duct. The name outlives the recording. */
static const char *find(const struct recording *recording, double *value)
{
    static const char *const keys[] = {"proc_peak_rss_total", "ps_peak_rss_total", "peak_rss"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (recording_number(recording, keys[i], value) && fabs(*value) < 1e20)
            return keys[i];
    return NULL;
}

void resident_init(struct resident *resident, const struct recording *now)
{
    *resident = (struct resident){0};
    resident->key_now = find(now, &resident->now);
}

int resident_add(struct resident *resident, const struct recording *earlier)
{
    double value;
    const char *key = find(earlier, &value);

    if (!key)
        return 0;
    if (ARRAY_RESERVE(resident->past, resident->capacity, resident->count + 1) < 0)
        return -ENOMEM;
    resident->past[resident->count++] = value;
    if (!resident->key_before)
        resident->key_before = key;
    return 0;
}

void resident_fini(struct resident *resident)
{
    free(resident->past);
    *resident = (struct resident){0};
}
