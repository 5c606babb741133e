/*
 * The evaluation. It recurses over the tree, which has at most FILTER_NODES_MAX nodes.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/filter/inner.h"
#include "store/recording/reader.h"

#define NUMBER_SIZE 40

static int no_memory(struct metron_error *error)
{
    return error_set(error, -ENOMEM, "no memory to evaluate the expression");
}

static bool is_there(const struct recorded_field *field)
{
    if (!field)
        return false;
    switch (field->kind) {
    case FIELD_NUMBER:
    case FIELD_BOOLEAN:
        return field->number != 0;
    case FIELD_TEXT:
        return field->text[0] != '\0';
    case FIELD_JSON:
        /* "{}", "[ ]" */
        return field->text[0] && field->text[1 + strspn(field->text + 1, " \t\r\n")] != ']' &&
               field->text[1 + strspn(field->text + 1, " \t\r\n")] != '}';
    }
    return false;
}

static int order_of(double a, double b)
{
    return (a > b) - (a < b);
}

/* Within a day that was named, an instant equals it. */
static int order_in_time(double instant, struct filter_time time)
{
    return instant < time.begin ? -1 : instant >= time.end;
}

/* The number as a person would type it, for regular expressions. */
static const char *field_text(const struct recorded_field *field, char number[NUMBER_SIZE])
{
    if (field->kind == FIELD_BOOLEAN)
        return field->number != 0 ? "true" : "false";
    if (field->kind != FIELD_NUMBER)
        return field->text;
    bool whole = fabs(field->number) < 1e15 && field->number == floor(field->number);
    (void)snprintf(number, NUMBER_SIZE, whole ? "%.0f" : "%.15g", field->number);
    return number;
}

static int matches(const struct filter_node *node, const struct recorded_field *field,
                   struct metron_error *error)
{
    char number[NUMBER_SIZE];
    int code = regexec(node->regex, field_text(field, number), 0, NULL, 0);

    if (code == REG_ESPACE)
        return no_memory(error);
    return (code == 0) == (node->relation == RELATION_EQUAL);
}

static int compare_number(const struct filter_node *node, const struct recorded_field *field)
{
    const struct filter_value *value = &node->value;

    if (value->is_time && !value->is_quantity)
        return relation_holds(node->relation, order_in_time(field->number, value->time));
    /* 5% of a plain share is 0.05 */
    double wanted = value->quantity.unit == UNIT_PERCENT && field->unit == UNIT_NONE
                        ? value->quantity.value / 100
                        : value->quantity.value;
    return relation_holds(node->relation, order_of(field->number, wanted));
}

static int compare_text(const struct filter_node *node, const struct recorded_field *field,
                        struct metron_error *error)
{
    const struct filter_value *value = &node->value;
    double instant;
    char *end;

    if (value->is_time && recording_parse_time(field->text, &instant))
        return relation_holds(node->relation, order_in_time(instant, value->time));
    if (!relation_is_ordered(node->relation) || value->quoted || !value->is_quantity)
        return relation_holds(node->relation, strcmp(field->text, value->text));
    double number = strtod(field->text, &end);
    if (end == field->text || *end || !isfinite(number))
        return error_set(error, -EINVAL, "%s is the text '%.40s', which is no number to compare with %s",
                         node->field, field->text, value->text);
    return relation_holds(node->relation, order_of(number, value->quantity.value));
}

static int compare_boolean(const struct filter_node *node, const struct recorded_field *field)
{
    const char *text = node->value.text;
    bool wanted = strcmp(text, "true") == 0 || strcmp(text, "yes") == 0 || strcmp(text, "1") == 0;

    return ((field->number != 0) == wanted) == (node->relation == RELATION_EQUAL);
}

/* An instant, however the file writes it: con-duct has a number where metron has a text. */
static bool field_instant(const struct recording *recording, const struct recorded_field *field, double *out)
{
    if (strcmp(field->name, "start_time") == 0 && recording->start_wall > 0)
        *out = recording->start_wall;
    else if (field->kind == FIELD_NUMBER)
        *out = field->number;
    else
        return field->kind == FIELD_TEXT && recording_parse_time(field->text, out);
    return true;
}

static int compare(const struct filter_node *node, const struct recording *recording,
                   struct metron_error *error)
{
    const struct recorded_field *field = recording_field(recording, node->field);
    struct filter_known known;
    double instant;

    if (!field)
        return 0;
    if (node->regex)
        return matches(node, field, error);
    if (node->value.is_time && filter_known_field(node->field, &known) && known.is_time &&
        field_instant(recording, field, &instant))
        return relation_holds(node->relation, order_in_time(instant, node->value.time));
    int code = filter_check(node, field->kind, field->unit, false, error);
    if (code < 0)
        return code;
    if (field->kind == FIELD_NUMBER)
        return compare_number(node, field);
    return field->kind == FIELD_BOOLEAN ? compare_boolean(node, field) : compare_text(node, field, error);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the parser let it be */
static int holds(const struct filter *filter, size_t index, const struct recording *recording, size_t *place,
                 struct metron_error *error)
{
    const struct filter_node *node = &filter->nodes[index];
    int left;

    switch (node->kind) {
    case FILTER_OR:
        left = holds(filter, node->left, recording, place, error);
        return left != 0 ? left : holds(filter, node->right, recording, place, error);
    case FILTER_AND:
        left = holds(filter, node->left, recording, place, error);
        return left <= 0 ? left : holds(filter, node->right, recording, place, error);
    case FILTER_NOT:
        left = holds(filter, node->left, recording, place, error);
        return left < 0 ? left : !left;
    case FILTER_FIELD:
        return is_there(recording_field(recording, node->field));
    case FILTER_COMPARISON:
        break;
    }
    left = compare(node, recording, error);
    if (left < 0)
        *place = node->value.place;
    return left;
}
/* NOLINTEND(misc-no-recursion) */

int filter_holds(const struct filter *filter, const struct recording *recording, size_t *place,
                 struct metron_error *error)
{
    return holds(filter, filter->root, recording, place, error);
}
