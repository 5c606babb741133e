/* Limits of metron diff --fail-if: what is refused has a place and a reason, what is taken can be judged. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "learn/limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct limit *limit)
{
    static const double values[] = {0, -1.5, 1e308, 1e-300, 12345.678};

    if (!limit->field[0] || !limit->text[0] || !isfinite(limit->amount.value))
        abort();
    for (enum unit unit = UNIT_NONE; unit <= UNIT_JOULES; unit++)
        for (unsigned i = 0; i < 4 * sizeof(values) / sizeof(values[0]); i++) {
            const struct limit_numbers numbers = {.unit = unit,
                                                  .has_before = i & 1,
                                                  .has_now = i & 2,
                                                  .before = values[i / 4],
                                                  .now = values[(i / 4 + 1) % 5]};
            struct metron_error reason = {0};
            if ((limit_judge(limit, &numbers, &reason) == LIMIT_NOT_JUDGED) != (reason.message[0] != '\0'))
                abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct limits *limits = malloc(sizeof(*limits));
    struct metron_error error = {0};
    size_t place = SIZE_MAX;

    if (text && limits) {
        memcpy(text, data, size);
        text[size] = '\0';
        if (limits_parse(text, limits, &place, &error) < 0) {
            if (place > strlen(text) || !error.message[0])
                abort();
        } else {
            for (size_t i = 0; i < limits->count; i++)
                judge(&limits->items[i]);
        }
    }
    free(limits);
    free(text);
    return 0;
}
