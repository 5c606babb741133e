/* The JSON reader: whatever the bytes are, its position stays within them, reading them value by value ends,
 * what can be read can be skipped and ends at the same place, and a number is what strtod makes of it. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_place(const struct json_reader *reader)
{
    check(reader->at >= reader->begin && reader->at <= reader->end);
    check(!reader->failed || (reader->failed_at >= reader->begin && reader->failed_at <= reader->end));
    check(reader->failed == (reader->complaint != NULL));
    check(reader->depth >= 0 && reader->depth <= JSON_DEPTH_MAX);
}

static void read_number(struct json_reader *reader)
{
    struct json_reader again = *reader;
    struct json_text raw;
    double number;

    if (!json_read_number(reader, &number))
        return;
    again.scratch = (struct strbuf)STRBUF_INIT;
    check(json_read_raw(&again, &raw) && again.at == reader->at);

    char *copy = strndup(raw.bytes, raw.length);

    if (copy) {
        double expected = strtod(copy, NULL);

        check(isfinite(number) && memcmp(&expected, &number, sizeof(number)) == 0);
    }
    free(copy);
}

/* Reads one value whole; the level is held by the reader's own limit. */
static void read_value(struct json_reader *reader)
{
    struct json_text text;
    bool boolean;

    check_place(reader);
    switch (json_peek(reader)) {
    case JSON_OBJECT:
        if (json_enter_object(reader)) {
            while (json_next_key(reader, &text))
                read_value(reader);
        }
        break;
    case JSON_ARRAY:
        if (json_enter_array(reader)) {
            while (json_next_item(reader))
                read_value(reader);
        }
        break;
    case JSON_STRING:
        if (json_read_text(reader, &text) && text.length > 0)
            check(text.length <= (size_t)(reader->end - reader->begin) &&
                  memchr(text.bytes, 0, text.length) == NULL);
        break;
    case JSON_NUMBER:
        read_number(reader);
        break;
    case JSON_BOOLEAN:
        (void)json_read_boolean(reader, &boolean);
        break;
    default:
        (void)json_skip(reader);
    }
    check_place(reader);
}

/* Calls in an order that the bytes choose, as a careless caller might. */
static void read_anyhow(struct json_reader *reader, const uint8_t *data, size_t size)
{
    struct json_text text;
    double number;
    bool boolean;

    for (size_t i = 0; i < size && i < 200; i++) {
        switch (data[size - 1 - i] % 9) {
        case 0:
            (void)json_enter_object(reader);
            break;
        case 1:
            (void)json_next_key(reader, &text);
            break;
        case 2:
            (void)json_enter_array(reader);
            break;
        case 3:
            (void)json_next_item(reader);
            break;
        case 4:
            (void)json_read_number(reader, &number);
            break;
        case 5:
            (void)json_read_text(reader, &text);
            break;
        case 6:
            (void)json_read_boolean(reader, &boolean);
            break;
        case 7:
            (void)json_skip(reader);
            break;
        default:
            (void)json_read_raw(reader, &text);
        }
        check_place(reader);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct metron_error error = {0};
    struct json_reader reader, skipper;

    json_reader_init(&reader, bytes, size);
    json_reader_init(&skipper, bytes, size);
    read_value(&reader);

    bool skipped = json_skip(&skipper);

    check_place(&skipper);
    check(skipped == !skipper.failed);
    if (!reader.failed)
        check(skipped && skipper.at == reader.at);

    int code = json_reader_end(&reader, &error);

    check((code == 0) == !reader.failed);
    check(code == 0 || strncmp(error.message, "line ", 5) == 0);
    check(json_peek(&reader) == JSON_NOTHING);
    json_reader_reset(&reader, bytes, size);
    read_anyhow(&reader, data, size);
    json_reader_fini(&reader);
    json_reader_fini(&skipper);
    return 0;
}
