/* Commands made to fit: no wider than there is room, and in whole characters. The first byte is the room. */
#include "view/command_line.h"

#include "base/text.h"
#include "check.h"
#include "view/text_width.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;

    if (size < 2)
        return 0;
    text_one_line(&line, (const char *)data + 1, size - 1);
    size_t taken = command_fit(&shown, strbuf_text(&line), line.length, data[0] & 0x7f, data[0] & 0x80);
    check(taken <= (data[0] & 0x7f));
    check(text_width(strbuf_text(&shown), shown.length) == taken);
    check_shown(strbuf_text(&shown), shown.length);
    strbuf_fini(&line);
    strbuf_fini(&shown);
    return 0;
}
