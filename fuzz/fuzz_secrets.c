/* Command lines: any bytes give one printable line; the value of a secret option and the text that a pattern
 * matches are never in it. */
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

static void check_secret(const uint8_t *data, size_t size, const struct secrets *secrets, const char *secret,
                         size_t length)
{
    struct strbuf cmdline = STRBUF_INIT;
    struct strbuf line = STRBUF_INIT;

    strbuf_add(&cmdline, data, size);
    strbuf_add(&cmdline, secret, length);
    secrets_mask_arguments(&line, secrets, cmdline.data, cmdline.length);
    check_printable(&line);
    /* A fuzzer may guess the word and put it elsewhere. */
    if (strstr(strbuf_text(&line), "hunter2hunter2") && !memmem(data, size, "hunter2", 7))
        abort();
    strbuf_fini(&line);
    strbuf_fini(&cmdline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char by_name[] = "\0--api-key\0hunter2hunter2", dashed[] = "\0--token\0--hunter2hunter2";
    static const char by_program[] = "\0sshpass\0-p\0hunter2hunter2", added[] = "\0--license\0hunter2hunter2";
    static struct secrets secrets;
    struct secrets_state state = {0};
    struct strbuf line = STRBUF_INIT;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (secrets.pattern_count == 0 &&
        (secrets_add_name(&secrets, "license", 7) < 0 || secrets_add_pattern(&secrets, "zq", 2) < 0))
        abort();

    check_secret(data, size, &secrets_built_in, by_name, sizeof(by_name));
    check_secret(data, size, &secrets_built_in, dashed, sizeof(dashed));
    check_secret(data, size, &secrets_built_in, by_program, sizeof(by_program));
    check_secret(data, size, &secrets, added, sizeof(added));
    secrets_mask_arguments(&line, NULL, (const char *)data, size);
    check_printable(&line);
    strbuf_reset(&line);
    secrets_mask_argument(&line, &secrets, &state, (const char *)data, size);
    if (line.length > 0 && memmem(line.data, line.length, "zq", 2))
        abort();
    strbuf_reset(&line);
    secrets_mask_value(&line, &secrets_built_in, "NAME", text);
    strbuf_reset(&line);
    secrets_mask_value(&line, &secrets_built_in, text, "value");

    strbuf_fini(&line);
    free(text);
    return 0;
}
