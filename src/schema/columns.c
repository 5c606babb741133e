#include "schema/columns.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define KIB         1024.0
#define LARGEST     0x1p53 /* beyond that a double is no exact count */
#define REAL_DIGITS 3      /* in the JSON: pages are of 4 KiB or more, so that MiB give back the bytes */

int snapshot_columns_init(struct snapshot_columns *out, const struct source *const *sources, size_t count)
{
    *out = (struct snapshot_columns){0};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sources[i]->measurement_count; k++) {
            const struct measurement *measurement = &sources[i]->measurements[k];
            struct columns *list = measurement->scope == SCOPE_PER_PID      ? &out->process
                                   : measurement->scope == SCOPE_PER_DEVICE ? &out->device
                                                                            : &out->machine;

            if (!measurement->column)
                continue;
            if (list->count == COLUMNS_MAX)
                return -EINVAL;
            list->of[list->count] = measurement;
            list->source[list->count++] = i;
        }
    return 0;
}

/* What an inner value is multiplied by to be stored. */
static double factor(const struct measurement *measurement)
{
    if (measurement->unit == UNIT_PERCENT)
        return 1000;
    return measurement->unit == UNIT_BYTES && measurement->type == TYPE_GAUGE ? 1 / KIB : 1;
}

unsigned column_divisor(const struct measurement *measurement)
{
    if (measurement->unit == UNIT_PERCENT)
        return 10;
    return measurement->unit == UNIT_BYTES && measurement->type == TYPE_GAUGE ? 1024 : 1;
}

bool column_is_real(const struct measurement *measurement)
{
    return measurement->unit != UNIT_PERCENT && measurement->unit != UNIT_BYTES &&
           measurement->unit != UNIT_COUNT;
}

bool column_has_mean(const struct measurement *measurement)
{
    return measurement->type == TYPE_GAUGE || measurement->derive == DERIVE_RATE;
}

union stored_value column_store(const struct measurement *measurement, double number)
{
    double scaled = number * factor(measurement);

    if (column_is_real(measurement))
        return (union stored_value){.real = scaled};
    /* Rounded without llround(): this is done for each value of each process. */
    scaled += scaled < 0 ? -0.5 : 0.5;
    return (union stored_value){.whole = fabs(scaled) < LARGEST ? (int64_t)scaled : (int64_t)LARGEST};
}

double column_load(const struct measurement *measurement, union stored_value stored)
{
    return (column_is_real(measurement) ? stored.real : (double)stored.whole) / factor(measurement);
}

/* As the JSON has it. */
static double shown(const struct measurement *measurement, double number)
{
    return number * factor(measurement) / column_divisor(measurement);
}

bool value_row_find(const struct columns *columns, const struct value_row *row, const char *name, double *out)
{
    for (unsigned i = 0; i < columns->count; i++)
        if (value_row_has(row, i) && strcmp(columns->of[i]->column, name) == 0) {
            *out = shown(columns->of[i], row->numbers[i]);
            return true;
        }
    return false;
}

int value_row_read(const struct columns *columns, struct value_row *row, const char *name, size_t length,
                   double shown)
{
    for (unsigned i = 0; i < columns->count; i++) {
        const struct measurement *measurement = columns->of[i];

        if (strncmp(measurement->column, name, length) != 0 || measurement->column[length])
            continue;
        double number = shown * column_divisor(measurement) / factor(measurement);
        if (!(fabs(number) < LARGEST))
            return -EBADMSG;
        value_row_set(row, i, number);
    }
    return 0;
}

void value_row_json(struct json *json, const struct columns *columns, const struct value_row *row)
{
    for (unsigned i = 0; i < columns->count; i++) {
        const struct measurement *measurement = columns->of[i];
        double number = row->numbers[i];

        if (!value_row_has(row, i) || !isfinite(number))
            continue; /* no number is no measurement */
        if (column_divisor(measurement) == 1 && !column_is_real(measurement))
            json_key_integer(json, measurement->column, column_store(measurement, number).whole);
        else
            json_key_decimal(json, measurement->column, shown(measurement, number), REAL_DIGITS);
    }
}
