/* A text of an answer in JSON, fit for a terminal. */
#ifndef METRON_VIEW_SHOWN_TEXT_H
#define METRON_VIEW_SHOWN_TEXT_H

#include "base/json_reader.h"
#include "base/strbuf.h"

/* Takes the next value: a text replaces what `out` held, control characters made visible; anything else is
 * passed over. */
void shown_text_read(struct json_reader *reader, struct strbuf *out);

#endif
