/*
 * A streaming JSON writer over a strbuf: no tree, no allocation per value.
 *
 * The writer puts the commas; nesting is checked with assertions, not at run time. Text is taken as
 * bytes from the kernel: what is not valid UTF-8, and NUL, is written as the four characters \xNN
 * (in JSON "\\xNN"), so that every output is valid JSON whatever a process calls itself.
 */
#ifndef METRON_BASE_JSON_H
#define METRON_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct json {
    struct strbuf *out; /* borrowed */
    bool comma;         /* the next value or key needs a comma before it */
    int indent;         /* spaces per level; 0 writes one line */
    int depth;
    bool after_key;   /* the next value belongs to the key just written */
    uint64_t objects; /* bit per depth: it is an object; for the assertions */
};

void json_init(struct json *json, struct strbuf *out, int indent);
void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);
void json_key(struct json *json, const char *key);
void json_string(struct json *json, const char *text);                /* text not NULL */
void json_bytes(struct json *json, const char *bytes, size_t length); /* a string of bytes */
void json_number(struct json *json, double value); /* integral exactly up to 2^53, else %.10g */
/* With at most `digits` (0 to 9) after the point, zeros at the end left off: for what is known to be no
 * finer, and for unix seconds, of which json_number keeps whole ones only. Several times as fast. */
void json_decimal(struct json *json, double value, unsigned digits);
void json_integer(struct json *json, int64_t value);
void json_boolean(struct json *json, bool value);
/* One value that is JSON already, and known to be right. */
void json_raw(struct json *json, const char *bytes, size_t length);

/* Shorthands: a key, and the begin of its object or array. */
void json_key_object(struct json *json, const char *key);
void json_key_array(struct json *json, const char *key);
/* Key and value. A NULL text writes nothing at all: absent is absent. */
void json_key_string(struct json *json, const char *key, const char *text);
void json_key_number(struct json *json, const char *key, double value);
void json_key_decimal(struct json *json, const char *key, double value, unsigned digits);
void json_key_integer(struct json *json, const char *key, int64_t value);
void json_key_nonzero(struct json *json, const char *key, int64_t value); /* nothing at all for 0 */
void json_key_boolean(struct json *json, const char *key, bool value);

#endif
