#include "daemon/socket/request.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* -- The whole line -- */

/* Whether there are eight bytes here, all of them ASCII. */
static bool is_plain_word(const char *at, size_t left)
{
    uint64_t word;

    if (left < sizeof(word))
        return false;
    memcpy(&word, at, sizeof(word));
    return (word & UINT64_C(0x8080808080808080)) == 0;
}

/* Where the first byte stands that is no UTF-8; `length`: nowhere. */
static size_t find_not_utf8(const char *bytes, size_t length)
{
    size_t i = 0;

    while (i < length) {
        size_t step =
            is_plain_word(bytes + i, length - i) ? sizeof(uint64_t) : text_utf8_length(bytes + i, length - i);

        if (step == 0)
            break;
        i += step;
    }
    return i;
}

static int check_utf8(const char *line, size_t length, struct metron_error *error)
{
    size_t good = find_not_utf8(line, length);

    return good < length ? error_set(error, -EBADMSG, "byte %zu is no UTF-8", good + 1) : 0;
}

int request_check(const char *line, size_t length, struct metron_error *error)
{
    struct json_reader reader;
    int code = check_utf8(line, length, error);

    if (code < 0)
        return code;
    json_reader_init(&reader, line, length);
    json_check_value(&reader, true);
    code = json_reader_end(&reader, error);
    json_reader_fini(&reader);
    return code;
}

/* -- One request -- */

/* The four members; length 0 where one is missing. */
struct members {
    struct json_text jsonrpc, id, method, params;
};

static void take_value(struct json_reader *reader, struct json_text *out)
{
    (void)json_peek(reader); /* passes over blanks */
    const char *begin = reader->at;
    json_check_value(reader, true);
    *out = (struct json_text){begin, (size_t)(reader->at - begin)};
}

/* Every value of JSON can be told by its first byte. */
static bool begins_with(const struct json_text *value, const char *bytes)
{
    return value->length > 0 && value->bytes[0] != '\0' && strchr(bytes, value->bytes[0]);
}

static const char *find_fault(const struct members *members)
{
    if (members->id.length > RPC_ID_MAX)
        return "the id is longer than 1024 bytes";
    if (members->id.length > 0 && !begins_with(&members->id, "\"-0123456789n"))
        return "the id is neither a text, nor a number, nor null";
    if (!json_text_is(&members->jsonrpc, "\"2.0\""))
        return "\"jsonrpc\" is not \"2.0\"";
    if (!begins_with(&members->method, "\""))
        return "\"method\" is no text";
    if (members->method.length > RPC_METHOD_MAX + 2)
        return "the method's name is longer than 128 bytes";
    if (members->params.length > 0 && !begins_with(&members->params, "{[n"))
        return "\"params\" is no object";
    return NULL;
}

static void read_request(struct json_reader *reader, struct request *request)
{
    struct members members = {0};
    struct json_text key, other;

    *request = (struct request){.complaint = "a request is an object"};
    if (!json_enter_object(reader)) {
        take_value(reader, &other);
        return;
    }
    while (json_next_key(reader, &key))
        take_value(reader, json_text_is(&key, "jsonrpc")  ? &members.jsonrpc
                           : json_text_is(&key, "id")     ? &members.id
                           : json_text_is(&key, "method") ? &members.method
                           : json_text_is(&key, "params") ? &members.params
                                                          : &other);
    request->complaint = find_fault(&members);
    if (members.id.length <= RPC_ID_MAX && begins_with(&members.id, "\"-0123456789n"))
        request->id = members.id;
    request->method = members.method;
    if (!begins_with(&members.params, "n"))
        request->params = members.params;
    /* What is no request is answered, with or without an id. */
    request->is_notification = !request->complaint && request->id.length == 0;
}

/* -- The requests of a line -- */

int request_line_read(struct request_line *out, const char *line, size_t length, struct metron_error *error)
{
    struct json_reader reader;
    int code = check_utf8(line, length, error);

    if (code < 0)
        return code;
    json_reader_init(&reader, line, length);
    out->is_array = json_enter_array(&reader);
    for (out->count = 0; out->is_array ? json_next_item(&reader) : out->count == 0; out->count++)
        read_request(&reader, &out->items[out->count < RPC_BATCH_MAX ? out->count : RPC_BATCH_MAX]);
    code = json_reader_end(&reader, error);
    json_reader_fini(&reader);
    return code;
}
