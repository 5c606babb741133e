#include "store/history/sql.h"

#include <string.h>

/* How a column is written. */
struct column_words {
    const char *stored, *name, *type;
    unsigned divisor;
};

static void add_token(struct strbuf *out, char token, const struct column_words *words)
{
    switch (token) {
    case 's':
        strbuf_adds(out, words->stored);
        break;
    case 'n':
        strbuf_adds(out, words->name);
        break;
    case 't':
        strbuf_adds(out, words->type);
        break;
    case 'd':
        if (words->divisor != 1)
            strbuf_addf(out, " / %u.0", words->divisor);
        break;
    default:
        strbuf_addc(out, '$');
        strbuf_addc(out, token);
    }
}

static void add_column(struct strbuf *out, const char *text, size_t length, struct column_words words)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '$' && i + 1 < length)
            add_token(out, text[++i], &words);
        else
            strbuf_addc(out, text[i]);
    }
}

const char *column_type(const struct measurement *measurement)
{
    return column_is_real(measurement) ? "REAL" : "INTEGER";
}

const char *usage_type(const struct job_usage_column *column)
{
    return column->kind == USAGE_SECONDS ? "REAL" : "INTEGER";
}

static void add_columns(struct strbuf *out, const char *text, size_t length, const struct columns *list,
                        bool with_mean)
{
    for (unsigned i = 0; i < list->count; i++)
        if (!with_mean || column_has_mean(list->of[i]))
            add_column(out, text, length,
                       (struct column_words){list->of[i]->stored, list->of[i]->column,
                                             column_type(list->of[i]), column_divisor(list->of[i])});
}

static void add_usage(struct strbuf *out, const char *text, size_t length)
{
    for (unsigned i = 0; i < USAGE_COUNT; i++)
        add_column(out, text, length,
                   (struct column_words){job_usage_columns[i].stored, job_usage_columns[i].name,
                                         usage_type(&job_usage_columns[i]), 1});
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
        bool is_list = list || (*at == '{' && at[1] == 'U');
        const char *text = at + 2, *end = is_list ? strchr(text, '}') : NULL;

        if (!end) {
            strbuf_addc(out, *at);
            continue;
        }
        if (at[1] == 'U')
            add_usage(out, text, (size_t)(end - text));
        else
            add_columns(out, text, (size_t)(end - text), list, at[1] >= 'a');
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
