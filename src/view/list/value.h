/*
 * Single values as JSON and YAML write them, exact.
 */
#ifndef METRON_VIEW_LIST_VALUE_H
#define METRON_VIEW_LIST_VALUE_H

#include <stddef.h>

#include "base/strbuf.h"

enum list_style { LIST_JSON, LIST_YAML };

void list_add_number(struct strbuf *out, double value, enum list_style style);
/* In double quotes, whatever the bytes are. */
void list_add_text(struct strbuf *out, const char *bytes, size_t length, enum list_style style);
/* A value of JSON, written anew on one line; one that is damaged becomes a text. */
void list_add_json(struct strbuf *out, const char *json, enum list_style style);

#endif
