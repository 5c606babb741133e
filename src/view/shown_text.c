#include "view/shown_text.h"

#include "base/text.h"

void shown_text_read(struct json_reader *reader, struct strbuf *out)
{
    struct json_text text;

    if (!json_read_text(reader, &text)) {
        (void)json_skip(reader);
        return;
    }
    strbuf_reset(out);
    text_printable(out, text.bytes, text.length);
}
