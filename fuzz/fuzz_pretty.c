/* What pretty-printing makes of any file: the pieces end, each is JSON, what is printed of it is one piece of
 * valid UTF-8 without control characters, is JSON too, and printed again is the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/recording/json_pieces.h"
#include "view/pretty/pretty.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_text(const struct strbuf *text)
{
    for (size_t i = 0; i < text->length;) {
        size_t sequence = text_utf8_length(text->data + i, text->length - i);
        unsigned char byte = (unsigned char)text->data[i];

        check(sequence > 0 && byte != 0x7F && (byte >= 0x20 || byte == '\n'));
        check(sequence != 2 || byte != 0xC2 || (unsigned char)text->data[i + 1] >= 0xA0);
        i += sequence;
    }
}

static bool every_other(void *context, const struct pretty_path *path, double number, struct pretty_text *out)
{
    size_t *count = context;

    (void)number;
    for (size_t i = 0; i < path->count; i++)
        check(path->names[i] != NULL && strlen(path->names[i]) < SIZE_MAX);
    out->text[0] = '\0';
    out->note = *count % 3 ? NULL : "note";
    return ++*count % 2;
}

static void check_piece(const struct json_text *piece)
{
    struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    struct metron_error error = {0};
    struct pretty_options plain = {0};
    size_t count = 0;
    const struct pretty_options human = {.colors = true, .number = every_other, .number_context = &count};

    check(pretty_print(&once, piece->bytes, piece->length, &plain, &error) == 0);
    check_text(&once);
    check(pretty_print(&twice, once.data, once.length, &plain, &error) == 0);
    check(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    strbuf_reset(&once);
    check(pretty_print(&once, piece->bytes, piece->length, &human, &error) == 0);
    strbuf_fini(&once);
    strbuf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_pieces pieces;
    struct json_text piece;
    struct metron_error error = {0};
    size_t count = 0;
    int code;

    json_pieces_init(&pieces, size % 2 ? "x.jsonl" : "x.json", (const char *)data, size);
    while ((code = json_pieces_next(&pieces, &piece, &error)) != 0) {
        check(++count <= size + 1);
        if (code > 0)
            check_piece(&piece);
        else
            check(error.message[0] != '\0');
    }
    check(count > 0);
    json_pieces_fini(&pieces);
    return 0;
}
