/* Format strings: what the check lets pass is rendered, what it refuses is refused again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "view/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const keys[] = {"number", "text", "absent", "boolean"};

static const char *known(void *context, size_t index)
{
    (void)context;
    return index < sizeof(keys) / sizeof(keys[0]) ? keys[index] : NULL;
}

/* Any key is found, so that every well-formed field is rendered, as one kind or another. */
static bool lookup(void *context, const char *key, struct format_value *out)
{
    (void)context;
    static const double numbers[] = {0, -0.0, 1e308, -1.5, 1099511627776.0, 1e-300, 1e15, 12345.678};

    *out = (struct format_value){
        .kind = (enum format_kind)(key[0] % 4),
        .number = numbers[(unsigned char)key[strlen(key) - 1] % 8],
        .text = "t\xc3\xa9xt \xff\n",
    };
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *format = malloc(size + 1);
    struct strbuf out = STRBUF_INIT;
    struct metron_error error = {0};

    if (!format)
        return 0;
    memcpy(format, data, size);
    format[size] = '\0';

    int checked = format_check(format, known, NULL, &error);
    int rendered = format_render(&out, format, lookup, NULL, size % 2 == 0);

    if (checked == 0 && rendered < 0)
        abort();
    if (checked < 0 && error.message[0] == '\0')
        abort();
    strbuf_fini(&out);
    free(format);
    return 0;
}
