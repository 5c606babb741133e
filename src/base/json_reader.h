/*
 * Reading JSON from memory, value by value: no tree, no allocation but for strings with escapes.
 *
 *     struct json_reader reader;
 *     struct json_text key;
 *     json_reader_init(&reader, bytes, length);
 *     if (json_enter_object(&reader))
 *         while (json_next_key(&reader, &key)) {
 *             if (json_text_is(&key, "elapsed"))
 *                 json_read_number(&reader, &elapsed);
 *             else
 *                 json_skip(&reader);
 *         }
 *     if (json_reader_end(&reader, &error) < 0) …
 *
 * After json_next_key (or json_next_item) exactly one value is to be taken: read, entered or skipped. A value
 * of another kind than asked for is left where it is: the function returns false, `failed` stays unset, and
 * json_skip passes over it. What is no JSON sets `failed`; from then on everything returns false, so one
 * check at the end is enough. Values that are skipped are checked for nesting and strings only.
 *
 * Limits: JSON_DEPTH_MAX levels. Numbers are doubles, exactly as strtod has them; one that no double holds
 * (1e999) is refused, so that what was read is finite. Of two equal keys both are visited. Text is UTF-8 as
 * it stands in the file (a reader need not trust it); \uXXXX becomes UTF-8, a lone surrogate or \u0000
 * becomes U+FFFD.
 */
#ifndef METRON_BASE_JSON_READER_H
#define METRON_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

#define JSON_DEPTH_MAX 64

enum json_kind {
    JSON_NOTHING, /* the end, or no JSON */
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_BOOLEAN,
    JSON_NULL,
};

/* Borrowed: from the bytes, or from the reader's scratch until the next string or key is read. Not ended by
 * NUL. */
struct json_text {
    const char *bytes;
    size_t length;
};

struct json_reader {
    const char *begin, *at, *end; /* the bytes, borrowed */
    bool failed;
    const char *complaint; /* static text; of the first failure */
    const char *failed_at;
    int depth;
    bool first[JSON_DEPTH_MAX]; /* per level: nothing was taken of it yet */
    struct strbuf scratch;      /* strings with escapes */
};

/* The bytes need not end with NUL. */
void json_reader_init(struct json_reader *reader, const char *bytes, size_t length);
/* The same reader on other bytes: keeps its scratch memory. */
void json_reader_reset(struct json_reader *reader, const char *bytes, size_t length);
void json_reader_fini(struct json_reader *reader);

/* What stands next, without taking it. */
enum json_kind json_peek(struct json_reader *reader);
bool json_enter_object(struct json_reader *reader);
/* The next key, then its value is to be taken. False at the end of the object, which is then left. */
bool json_next_key(struct json_reader *reader, struct json_text *key);
bool json_enter_array(struct json_reader *reader);
/* Whether another item stands next. False at the end of the array, which is then left. */
bool json_next_item(struct json_reader *reader);
bool json_read_number(struct json_reader *reader, double *out);
bool json_read_text(struct json_reader *reader, struct json_text *out);
bool json_read_boolean(struct json_reader *reader, bool *out);
/* Passes over one value, whatever it is. False: it is no JSON. */
bool json_skip(struct json_reader *reader);
/* Passes over one value and tells where it stood, as it stands in the file. */
bool json_read_raw(struct json_reader *reader, struct json_text *out);

/* To be called once the value is read: 0 if nothing but blanks is left; -EBADMSG and what is wrong at which
 * line and column; -ENOMEM. */
int json_reader_end(struct json_reader *reader, struct metron_error *error);

/* Takes one value so that nothing in it is unchecked. `numbers_fit`: what no double can hold is wrong, too.
 */
void json_check_value(struct json_reader *reader, bool numbers_fit);
/* Where the failure is, once there is one: line and character from one, as editors show them. */
void json_reader_place(const struct json_reader *reader, size_t *line, size_t *column);

bool json_text_is(const struct json_text *text, const char *word);

/* One member of an object that is not worth a walk: as it stands there, or what it says. The last of several
 * with the same key. False: there is none, or it is of another kind. */
bool json_find(const struct json_text *object, const char *key, struct json_text *out);
bool json_find_number(const struct json_text *object, const char *key, double *out);
bool json_find_boolean(const struct json_text *object, const char *key, bool *out);
/* Appends it. */
bool json_find_text(const struct json_text *object, const char *key, struct strbuf *out);

#endif
