/* Command lines: any bytes give one printable line, and the value of a secret option never shows in it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "schema/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_printable(const struct strbuf *line)
{
    for (size_t i = 0; i < line->length;) {
        size_t sequence = text_utf8_length(line->data + i, line->length - i);

        if (sequence == 0 || (unsigned char)line->data[i] < 0x20)
            abort();
        i += sequence;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char secret[] = "\0--api-key\0hunter2hunter2";
    struct strbuf cmdline = STRBUF_INIT;
    struct strbuf line = STRBUF_INIT;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';

    strbuf_add(&cmdline, data, size);
    strbuf_add(&cmdline, secret, sizeof(secret));
    secrets_mask_arguments(&line, cmdline.data, cmdline.length, true);
    check_printable(&line);
    /* A fuzzer may guess the word and put it elsewhere. */
    if (strstr(strbuf_text(&line), "hunter2hunter2") && !memmem(data, size, "hunter2", 7))
        abort();
    strbuf_reset(&line);
    secrets_mask_arguments(&line, (const char *)data, size, false);
    check_printable(&line);
    strbuf_reset(&line);
    secrets_mask_value(&line, "NAME", text, true);
    strbuf_reset(&line);
    secrets_mask_value(&line, text, "value", true);

    strbuf_fini(&line);
    strbuf_fini(&cmdline);
    free(text);
    return 0;
}
