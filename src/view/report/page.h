/*
 * A page of a report as plain data: sections of facts, tables and remarks, in their order. What is on the
 * page is decided once, where it is built; the text for people and the JSON for programs are two drawings of
 * the same page. Programs get every fact by itself; people get one page, so there several facts are often
 * one line of their own (report_say), and what such a line says is `for_programs`.
 *
 * Everything lives in the page's arena. Names and texts that are handed in are borrowed and must outlive the
 * page; report_text_of makes ones that do. No text, section or item is NULL: out of memory, a text is "", and
 * what could not be added is a spare one that nobody draws. One check of `failed` at the end is enough. A
 * section without anything in it is not drawn.
 */
#ifndef METRON_VIEW_REPORT_PAGE_H
#define METRON_VIEW_REPORT_PAGE_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/json_reader.h"
#include "base/strbuf.h"
#include "base/units.h"

#define REPORT_NOT_TOLD "(command not told)"

enum report_value_kind { REPORT_ABSENT, REPORT_NUMBER, REPORT_TEXT, REPORT_BOOLEAN };

struct report_value {
    enum report_value_kind kind;
    double number;    /* 0 or 1 of a boolean */
    const char *text; /* bytes from outside: made printable where it is drawn */
};

enum report_tone { REPORT_PLAIN, REPORT_GOOD, REPORT_BAD };
enum report_item_kind { REPORT_FACT, REPORT_TABLE, REPORT_REMARK };

/* What becomes of a text that is too wide: it is cut; it is cut as a command is (view/command_line.h); it is
 * broken between words (the last column only); the whole column is left out of the screen; or the first of
 * its clauses that fits stands for it. */
enum report_fit { REPORT_CUT, REPORT_COMMAND, REPORT_PROSE, REPORT_LUXURY, REPORT_CLAUSE };

struct report_column {
    const char *name;   /* in JSON */
    const char *title;  /* on the screen; a table whose columns have "" has no heading; NULL: for programs */
    enum unit unit;     /* of numbers; UNIT_NONE: printed as they are */
    const char *source; /* the key, or whose word it is; NULL: plain */
    enum report_fit fit;
};

struct report_item {
    struct report_item *next;
    enum report_item_kind kind;
    bool for_programs;    /* in JSON, not on the screen */
    bool for_people;      /* on the screen, not in JSON */
    bool one_line;        /* of a fact: cut where the line ends */
    bool hides_zero_rows; /* of a table: rows whose first column is 0 are not on the screen */
    const char *name;     /* in JSON */
    const char *label;    /* of a fact; of a table its title, or NULL; of a remark its text */
    /* a fact: */
    struct report_value value;
    enum unit unit;
    const char *say;           /* how the screen has it; NULL: by its unit */
    const char *command;       /* behind it, in what is left of the line; NULL: none */
    const char *source, *note; /* NULL: none */
    enum report_tone tone;
    /* a table: */
    const struct report_column *columns;
    size_t column_count, row_count, row_capacity;
    size_t rows_shown;          /* on the screen only the first so many; 0: all */
    struct report_value *cells; /* row by row */
};

struct report_section {
    struct report_section *next;
    struct report_page *page;
    const char *name, *title; /* title NULL: on the screen it goes on in the section before it */
    struct report_item *first, *last;
};

struct report_page {
    struct arena arena;
    struct report_section *first, *last, spare_section;
    struct report_item spare_item;
    bool failed;
};

void report_page_fini(struct report_page *page);
const char *report_text_of(struct report_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *report_vtext_of(struct report_page *page, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
/* "1.5 GiB" */
const char *report_human(struct report_page *page, enum unit unit, double value);

struct report_section *report_section_add(struct report_page *page, const char *name, const char *title);
/* Zeroed; NULL: out of memory. */
void *report_alloc(struct report_page *page, size_t size);
/* The fact, to add what is not in the call. Without a label it is for programs only; source and note may be
 * NULL. What is no number is not added. */
struct report_item *report_add_number(struct report_section *section, const char *name, const char *label,
                                      enum unit unit, double value, const char *source, const char *note);
/* NULL text: nothing is added. */
struct report_item *report_add_text(struct report_section *section, const char *name, const char *label,
                                    const char *text);
struct report_item *report_add_boolean(struct report_section *section, const char *name, const char *label,
                                       bool value);
/* A line for people only. NULL text: nothing is added; `source` may be NULL. */
struct report_item *report_say(struct report_section *section, const char *label, const char *text,
                               const char *source);
struct report_item *report_sayf(struct report_section *section, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and behind it a command, in one line however long that is. NULL: it was not told. */
struct report_item *report_say_command(struct report_section *section, const char *label, const char *text,
                                       const char *command);
/* A sentence; in JSON they are the list "remarks". */
struct report_item *report_add_remark(struct report_section *section, const char *text);
/* With room for `rows` rows. A table without rows is not drawn, nor is a column without a value. */
struct report_item *report_add_table(struct report_section *section, const char *name, const char *title,
                                     const struct report_column *columns, size_t column_count, size_t rows);
/* The next row, all absent; NULL: the table is full. */
struct report_value *report_add_row(struct report_item *table);
/* A text of an object in JSON; absent if it has none, or an empty one. */
struct report_value report_found(struct report_page *page, const struct json_text *object, const char *key);
/* Returns the item. */
struct report_item *report_for_programs(struct report_item *item);

/* What no number is (a ratio by nothing, a sum past all bounds) is absent. */
static inline struct report_value report_number(double number)
{
    return (struct report_value){.kind = isfinite(number) ? REPORT_NUMBER : REPORT_ABSENT, .number = number};
}

static inline struct report_value report_text(const char *text)
{
    return (struct report_value){.kind = text ? REPORT_TEXT : REPORT_ABSENT, .text = text};
}

static inline struct report_value report_boolean(bool value)
{
    return (struct report_value){.kind = REPORT_BOOLEAN, .number = value};
}

/* The evidence has "" for what was not told. */
static inline struct report_value report_told(const char *text)
{
    return report_text(text[0] ? text : NULL);
}

/* For the two drawings. */
bool report_section_is_empty(const struct report_section *section); /* for programs */
bool report_item_is_empty(const struct report_item *item);
bool report_column_is_empty(const struct report_item *table, size_t column);

/* `width` columns; 0: lines are not broken. */
void report_page_text(struct strbuf *out, const struct report_page *page, size_t width, bool colors);
/* One object: a key for each section; in it a key for each fact (a text or a boolean as such, as is a number
 * without unit, source or note; else {value, unit, source, note}), for each table ({columns: {name: {unit,
 * source}}, rows: [{…}]}), and "remarks". */
void report_page_json(struct strbuf *out, const struct report_page *page);

#endif
