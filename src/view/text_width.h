/*
 * How wide a text is on a screen, and texts cut to fit. Texts are UTF-8 without control characters (see
 * text_printable); nothing depends on the locale.
 */
#ifndef METRON_VIEW_TEXT_WIDTH_H
#define METRON_VIEW_TEXT_WIDTH_H

#include <stddef.h>

#include "base/strbuf.h"

/* Columns: two for the wide characters of East Asia and for pictographs, none for combining ones. */
size_t text_width(const char *text, size_t length);
/* How many bytes of it fit into so many columns. */
size_t text_head(const char *text, size_t length, size_t columns);
/* Adds the text, or its beginning and its end with … between them, in at most `width` columns. Returns how
 * many it took. */
size_t text_fit(struct strbuf *out, const char *text, size_t length, size_t width);
/* The same with so many columns of its end (less than `width`); 0: only the beginning stays. */
size_t text_fit_tail(struct strbuf *out, const char *text, size_t length, size_t width, size_t tail);

#endif
