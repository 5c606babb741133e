#include "schema/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int pass_grow(struct pass *pass, size_t capacity)
{
    union value *values = calloc((capacity + 1) * pass->field_count, sizeof(*values));
    struct row *rows = calloc(capacity ? capacity : 1, sizeof(*rows));
    if (!values || !rows) {
        free(values);
        free(rows);
        return -ENOMEM;
    }
    if (pass->values) {
        memcpy(values, pass->values, (pass->count + 1) * pass->field_count * sizeof(*values));
        memcpy(rows, pass->rows, pass->count * sizeof(*rows));
    }
    free(pass->values);
    free(pass->rows);
    pass->values = values;
    pass->rows = rows;
    pass->capacity = capacity;
    pass->single.values = values;
    for (size_t i = 0; i < pass->count; i++)
        rows[i].values = values + (i + 1) * pass->field_count;
    return 0;
}

int pass_init(struct pass *pass, uint8_t field_count)
{
    *pass = (struct pass){.field_count = field_count};
    return pass_grow(pass, 0);
}

void pass_fini(struct pass *pass)
{
    free(pass->values);
    free(pass->rows);
    *pass = (struct pass){0};
}

void pass_begin(struct pass *pass, enum pass_kind kind, uint64_t stamp_ns)
{
    size_t before = pass->count;

    pass->kind = kind;
    pass->stamp_ns = stamp_ns;
    pass->count = 0;
    if (capacity_is_spare(pass->capacity, before))
        (void)pass_grow(pass, before); /* if it fails, the room stays */
    pass->single.present = 0;
    pass->single.stamp_ns = stamp_ns;
}

struct row *pass_row(struct pass *pass, const struct subject *subject)
{
    if (pass->count == pass->capacity && pass_grow(pass, pass->capacity ? pass->capacity * 2 : 16) < 0)
        return NULL;
    struct row *row = &pass->rows[pass->count];
    *row = (struct row){
        .subject = *subject,
        .stamp_ns = pass->stamp_ns,
        .values = pass->values + (pass->count + 1) * pass->field_count,
    };
    pass->count++;
    return row;
}
