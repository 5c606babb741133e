/*
 * Lines that are too long for the screen, broken between words.
 */
#ifndef METRON_VIEW_WRAP_H
#define METRON_VIEW_WRAP_H

#include <stddef.h>

#include "base/strbuf.h"

/* Adds `text` line by line; one that is wider than `width` columns goes on in the next, `indent` columns in.
 * A word that is wider than the screen is left whole. 0: the lines stay as they are. */
void wrap_lines(struct strbuf *out, const char *text, size_t indent, size_t width);

#endif
