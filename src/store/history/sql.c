#include "store/history/sql.h"

#include <string.h>

static void add_token(struct strbuf *out, char token, const struct measurement *measurement)
{
    unsigned divisor = column_divisor(measurement);

    switch (token) {
    case 's':
        strbuf_adds(out, measurement->stored);
        break;
    case 'n':
        strbuf_adds(out, measurement->column);
        break;
    case 't':
        strbuf_adds(out, column_is_real(measurement) ? "REAL" : "INTEGER");
        break;
    case 'd':
        if (divisor != 1)
            strbuf_addf(out, " / %u.0", divisor);
        break;
    default:
        strbuf_addc(out, '$');
        strbuf_addc(out, token);
    }
}

static void add_column(struct strbuf *out, const char *text, size_t length,
                       const struct measurement *measurement)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '$' && i + 1 < length)
            add_token(out, text[++i], measurement);
        else
            strbuf_addc(out, text[i]);
    }
}

static const struct columns *list_of(const struct snapshot_columns *columns, char letter)
{
    return letter == 'P' || letter == 'p'   ? &columns->process
           : letter == 'M' || letter == 'm' ? &columns->machine
           : letter == 'D'                  ? &columns->device
                                            : NULL;
}

void sql_expand(struct strbuf *out, const char *template, const struct snapshot_columns *columns)
{
    for (const char *at = template; *at; at++) {
        const struct columns *list = columns && *at == '{' ? list_of(columns, at[1]) : NULL;
        const char *text = at + 2, *end = list ? strchr(text, '}') : NULL;

        if (!end) {
            strbuf_addc(out, *at);
            continue;
        }
        for (unsigned i = 0; i < list->count; i++)
            if (at[1] < 'a' || column_has_mean(list->of[i]))
                add_column(out, text, (size_t)(end - text), list->of[i]);
        at = end;
    }
}

unsigned columns_with_mean(const struct columns *columns)
{
    unsigned count = 0;

    for (unsigned i = 0; i < columns->count; i++)
        count += column_has_mean(columns->of[i]);
    return count;
}
