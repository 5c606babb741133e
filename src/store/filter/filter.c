/*
 * The parser: recursive descent, one function per strength of binding, depth and number of nodes limited.
 * Nodes lie in one array and name each other by index; texts lie in the filter's arena.
 */
#include "store/filter/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/filter/inner.h"

struct parser {
    const char *text, *at, *end;
    struct filter *filter;
    size_t *place;
    struct metron_error *error;
    int depth;
};

static int parse_or(struct parser *parser, size_t *out);

#define FAIL(parser, at, ...)                                                                                \
    (*(parser)->place = (size_t)((at) - (parser)->text), error_set((parser)->error, -EINVAL, __VA_ARGS__))

static void skip_blanks(struct parser *parser)
{
    parser->at = text_skip_blanks(parser->at, parser->end);
}

static bool is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.:#@-", c));
}

/* Ends a word that stands without quotes. */
static bool is_delimiter(char c)
{
    return c == '\0' || text_is_blank(c) || strchr("()'\"=<>!&|", c);
}

/* Takes a keyword, or the sign that means the same. */
static bool accept(struct parser *parser, const char *word, const char *sign)
{
    size_t length = strlen(word), sign_length = strlen(sign);

    skip_blanks(parser);
    if ((size_t)(parser->end - parser->at) >= length && memcmp(parser->at, word, length) == 0 &&
        !is_name(parser->at[length])) {
        parser->at += length;
        return true;
    }
    /* "!" is no not where it begins != or !~ */
    if (strncmp(parser->at, sign, sign_length) != 0 ||
        (sign_length == 1 && parser->at[1] && strchr("=~", parser->at[1])))
        return false;
    parser->at += sign_length;
    return true;
}

static int new_node(struct parser *parser, struct filter_node node, size_t *out)
{
    struct filter *filter = parser->filter;

    if (filter->count == FILTER_NODES_MAX)
        return FAIL(parser, parser->at, "the expression has too many parts (at most %d)", FILTER_NODES_MAX);
    *out = filter->count;
    filter->nodes[filter->count++] = node;
    return 0;
}

static int no_memory(struct parser *parser)
{
    return error_set(parser->error, -ENOMEM, "no memory for the expression");
}

/* The name of a field, remembered once. */
static int parse_field(struct parser *parser, const char **out)
{
    struct filter *filter = parser->filter;
    const char *start = parser->at;

    while (parser->at < parser->end && is_name(*parser->at))
        parser->at++;
    for (size_t i = 0; i < filter->field_count; i++) {
        if (strlen(filter->fields[i]) == (size_t)(parser->at - start) &&
            memcmp(filter->fields[i], start, (size_t)(parser->at - start)) == 0) {
            *out = filter->fields[i];
            return 0;
        }
    }
    *out = arena_copy(&parser->filter->arena, start, (size_t)(parser->at - start));
    if (!*out)
        return no_memory(parser);
    filter->fields[filter->field_count++] = *out; /* as many as nodes at most */
    return 0;
}

/* Takes the sign of a comparison or of a match. */
static bool accept_relation(struct parser *parser, enum relation *out, bool *match)
{
    skip_blanks(parser);
    *match = strncmp(parser->at, "=~", 2) == 0 || strncmp(parser->at, "!~", 2) == 0;
    if (*match) {
        *out = *parser->at == '=' ? RELATION_EQUAL : RELATION_DIFFERENT;
        parser->at += 2;
        return true;
    }

    const char *behind = relation_scan(parser->at, parser->end, out);

    if (behind)
        parser->at = behind;
    return behind != NULL;
}

/* A text in quotes; a doubled quote is one of its characters. */
static int parse_quoted(struct parser *parser, struct filter_value *value)
{
    char quote = *parser->at;
    const char *start = parser->at++;
    char *text = arena_alloc(&parser->filter->arena, (size_t)(parser->end - start));
    size_t length = 0;

    if (!text)
        return no_memory(parser);
    for (;; parser->at++) {
        if (parser->at == parser->end)
            return FAIL(parser, start, "the quote %c is not closed", quote);
        if (*parser->at == quote && *++parser->at != quote)
            break;
        text[length++] = *parser->at;
    }
    value->text = text;
    value->quoted = true;
    value->is_quantity = quantity_parse(text, &value->quantity);
    value->is_time = filter_time_parse(text, &value->time);
    return 0;
}

static bool looks_like_date(const char *at)
{
    return isdigit((unsigned char)at[0]) && isdigit((unsigned char)at[1]) && isdigit((unsigned char)at[2]) &&
           isdigit((unsigned char)at[3]) && at[4] == '-' && isdigit((unsigned char)at[5]);
}

static bool looks_like_number(const char *at)
{
    at += *at == '-' || *at == '+';
    at += *at == '.';
    return isdigit((unsigned char)*at);
}

/* A word, an amount or a date. After a match it is always a word. */
static int parse_bare(struct parser *parser, bool match, struct filter_value *value)
{
    const char *start = parser->at, *word = start, *behind = NULL;

    while (!is_delimiter(*word))
        word++;
    if (!match && looks_like_date(start)) {
        value->text = arena_copy(&parser->filter->arena, start, (size_t)(word - start));
        if (value->text && !filter_time_parse(value->text, &value->time))
            return FAIL(parser, start, "'%s' is no date; write 2026-11-15 or 2026-11-15T07:42", value->text);
        value->is_time = true;
        behind = word;
    } else if (!match && looks_like_number(start)) {
        behind = quantity_scan(start, parser->end, &value->quantity);
        if (!behind || !is_delimiter(*behind))
            return FAIL(
                parser, start,
                "'%.*s' is no number, size (2GiB) or time (1h30m); a text that begins with a digit needs "
                "quotes",
                (int)(word - start), start);
        value->is_quantity = true;
        value->text = arena_copy(&parser->filter->arena, start, (size_t)(behind - start));
    } else {
        value->text = arena_copy(&parser->filter->arena, start, (size_t)(word - start));
        behind = word;
    }
    parser->at = behind;
    return value->text ? 0 : no_memory(parser);
}

static int parse_value(struct parser *parser, bool match, struct filter_value *value)
{
    skip_blanks(parser);
    const char *start = parser->at;
    value->place = (size_t)(start - parser->text);
    if (*start == '\'' || *start == '"')
        return parse_quoted(parser, value);
    if (is_delimiter(*start) || accept(parser, "and", "&&") || accept(parser, "or", "||") ||
        accept(parser, "not", "!"))
        return FAIL(parser, start, "a value is missing here%s",
                    *start ? "; a text with such characters needs quotes" : "");
    return parse_bare(parser, match, value);
}

static int compile_regex(struct parser *parser, struct filter_node *node)
{
    char reason[128];
    const char *trouble = filter_regex_trouble(node->value.text);
    const char *at = parser->text + node->value.place;

    if (trouble)
        return FAIL(parser, at, "the regular expression cannot be used: %s", trouble);
    regex_t *regex = arena_alloc(&parser->filter->arena, sizeof(*regex));
    if (!regex)
        return no_memory(parser);
    int code = regcomp(regex, node->value.text, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        (void)regerror(code, regex, reason, sizeof(reason));
        return FAIL(parser, at, "the regular expression cannot be used: %s", reason);
    }
    node->regex = regex;
    return 0;
}

/* What the field's name alone tells; a match takes any field. */
static int check_known(struct parser *parser, const struct filter_node *node)
{
    struct filter_known known;

    if (node->regex || !filter_known_field(node->field, &known))
        return 0;
    *parser->place = node->value.place;
    int code = filter_check(node, known.kind, known.unit, known.is_time, parser->error);
    if (code < 0 || !known.words || filter_is_word_of(known.words, node->value.text))
        return code;
    return error_set(parser->error, -EINVAL, "%s is never '%s'; it is one of %s", node->field,
                     node->value.text, known.words);
}

/* FIELD, or FIELD RELATION VALUE. */
static int parse_comparison(struct parser *parser, size_t *out)
{
    struct filter_node node = {.kind = FILTER_FIELD};
    bool match;

    if (parser->at == parser->end)
        return FAIL(parser, parser->at, "the expression ends where a field is expected");
    if (!is_name_start(*parser->at))
        return FAIL(parser, parser->at, "a comparison begins with a field: peak_memory > 2GiB");
    int code = parse_field(parser, &node.field);
    if (code == 0 && accept_relation(parser, &node.relation, &match)) {
        node.kind = FILTER_COMPARISON;
        code = parse_value(parser, match, &node.value);
        if (code == 0 && match)
            code = compile_regex(parser, &node);
        if (code == 0)
            code = check_known(parser, &node);
    }
    /* A regex belongs to the filter as soon as there is a node. */
    int added = code == 0 || node.regex ? new_node(parser, node, out) : 0;
    if (added < 0 && node.regex)
        regfree(node.regex);
    return code < 0 ? code : added;
}

/* NOLINTBEGIN(misc-no-recursion): at most FILTER_DEPTH_MAX parentheses deep */
static int parse_primary(struct parser *parser, size_t *out)
{
    skip_blanks(parser);
    const char *start = parser->at;
    if (*start != '(')
        return parse_comparison(parser, out);
    if (++parser->depth > FILTER_DEPTH_MAX)
        return FAIL(parser, start, "the expression is nested too deep (at most %d)", FILTER_DEPTH_MAX);
    parser->at++;
    int code = parse_or(parser, out);
    if (code < 0)
        return code;
    skip_blanks(parser);
    if (*parser->at != ')')
        return *parser->at ? FAIL(parser, parser->at, "expected and, or, or )")
                           : FAIL(parser, start, "this ( is not closed");
    parser->at++;
    parser->depth--;
    return 0;
}

static int parse_not(struct parser *parser, size_t *out)
{
    size_t nots = 0;

    for (; accept(parser, "not", "!"); nots++)
        if (nots == FILTER_DEPTH_MAX)
            return FAIL(parser, parser->at, "the expression is nested too deep (at most %d)",
                        FILTER_DEPTH_MAX);
    int code = parse_primary(parser, out);
    for (; code == 0 && nots > 0; nots--)
        code = new_node(parser, (struct filter_node){.kind = FILTER_NOT, .left = *out}, out);
    return code;
}

static int parse_and(struct parser *parser, size_t *out)
{
    size_t right;
    int code = parse_not(parser, out);

    while (code == 0 && accept(parser, "and", "&&")) {
        code = parse_not(parser, &right);
        if (code == 0)
            code =
                new_node(parser, (struct filter_node){.kind = FILTER_AND, .left = *out, .right = right}, out);
    }
    return code;
}

static int parse_or(struct parser *parser, size_t *out)
{
    size_t right;
    int code = parse_and(parser, out);

    while (code == 0 && accept(parser, "or", "||")) {
        code = parse_and(parser, &right);
        if (code == 0)
            code =
                new_node(parser, (struct filter_node){.kind = FILTER_OR, .left = *out, .right = right}, out);
    }
    return code;
}
/* NOLINTEND(misc-no-recursion) */

static int parse_whole(struct parser *parser)
{
    skip_blanks(parser);
    if (parser->at == parser->end)
        return FAIL(parser, parser->at, "the expression is empty");
    int code = parse_or(parser, &parser->filter->root);
    if (code < 0)
        return code;
    skip_blanks(parser);
    if (parser->at == parser->end)
        return 0;
    if (*parser->at == ')')
        return FAIL(parser, parser->at, "this ) has no (");
    return FAIL(parser, parser->at, "expected and, or, a comparison (== != < <= > >= =~ !~) or the end%s",
                strchr("'\"", *parser->at) ? "" : "; a text with blanks or signs in it needs quotes");
}

int filter_parse(const char *text, struct filter **out, size_t *place, struct metron_error *error)
{
    size_t length = strlen(text);
    struct parser parser = {.text = text, .at = text, .end = text + length, .place = place, .error = error};

    *out = NULL;
    *place = 0;
    if (length > FILTER_LENGTH_MAX)
        return error_set(error, -EINVAL, "the expression is too long (at most %d bytes)", FILTER_LENGTH_MAX);
    parser.filter = calloc(1, sizeof(*parser.filter));
    if (!parser.filter)
        return no_memory(&parser);
    int code = parse_whole(&parser);
    if (code < 0)
        filter_free(parser.filter);
    else
        *out = parser.filter;
    return code;
}

void filter_free(struct filter *filter)
{
    if (!filter)
        return;
    for (size_t i = 0; i < filter->count; i++)
        if (filter->nodes[i].regex)
            regfree(filter->nodes[i].regex);
    arena_fini(&filter->arena);
    free(filter);
}

const char *const *filter_fields(const struct filter *filter)
{
    return filter->fields;
}

static size_t columns(const struct strbuf *text)
{
    size_t count = 0;

    for (size_t i = 0; i < text->length; i++)
        count += ((unsigned char)text->data[i] & 0xC0) != 0x80;
    return count;
}

void filter_point(struct strbuf *out, const char *text, size_t place, size_t width)
{
    size_t length = strlen(text), begin = 0, end = length;
    struct strbuf before = STRBUF_INIT;

    place = place < length ? place : length;
    if (width > 12 && length > width) {
        begin = place > width / 2 ? place - width / 2 : 0;
        end = begin + width < length ? begin + width : length;
        while (begin > 0 && ((unsigned char)text[begin] & 0xC0) == 0x80)
            begin--;
        while (end < length && ((unsigned char)text[end] & 0xC0) == 0x80)
            end++;
    }
    strbuf_adds(&before, begin > 0 ? "…" : "");
    text_printable(&before, text + begin, place - begin);
    strbuf_adds(out, strbuf_text(&before));
    text_printable(out, text + place, end - place);
    strbuf_adds(out, end < length ? "…\n" : "\n");
    for (size_t i = columns(&before); i > 0; i--)
        strbuf_addc(out, ' ');
    strbuf_adds(out, "^\n");
    strbuf_fini(&before);
}
