/* The JSON writer: whatever bytes a text has, what is written is one line of valid UTF-8 in which quotes and
 * backslashes are balanced, and never a control character. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t length)
{
    bool quoted = false;

    for (size_t i = 0; i < length;) {
        size_t sequence = text_utf8_length(text + i, length - i);

        if (sequence == 0 || (sequence == 1 && (unsigned char)text[i] < 0x20))
            abort();
        if (text[i] == '"')
            quoted = !quoted;
        if (text[i] == '\\') {
            if (!quoted || i + 1 == length || !strchr("\"\\nrtu", text[i + 1]))
                abort();
            sequence = 2;
        }
        i += sequence;
    }
    if (quoted)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf out = STRBUF_INIT;
    struct json json;
    double number = 0;
    char key[64] = "";

    if (size >= sizeof(number))
        memcpy(&number, data, sizeof(number));
    memcpy(key, data, size < sizeof(key) - 1 ? size : sizeof(key) - 1);

    json_init(&json, &out, 0);
    json_object_begin(&json);
    json_key(&json, key);
    json_array_begin(&json);
    json_bytes(&json, (const char *)data, size);
    if (number - number == 0) /* finite */
        json_number(&json, number);
    json_boolean(&json, size % 2);
    json_array_end(&json);
    json_key_string(&json, "none", NULL);
    json_key_integer(&json, "size", (int64_t)size);
    json_object_end(&json);
    if (!out.failed)
        check_text(out.data, out.length);
    strbuf_fini(&out);
    return 0;
}
