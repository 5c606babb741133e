/*
 * Reading requests. The line has been checked as a whole before its parts are looked at, so a request that is
 * half JSON never has half an effect.
 */
#include "daemon/socket/request.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "daemon/socket/protocol.h"

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

int request_check(const char *line, size_t length, struct metron_error *error)
{
    size_t good = find_not_utf8(line, length);
    struct json_reader reader;

    if (good < length)
        return error_set(error, -EBADMSG, "byte %zu is no UTF-8", good + 1);
    json_reader_init(&reader, line, length);
    json_check_value(&reader, true);

    int code = json_reader_end(&reader, error);

    json_reader_fini(&reader);
    return code;
}

/* -- One request -- */

void request_init(struct request *request)
{
    *request = (struct request){0};
    json_reader_init(&request->reader, NULL, 0);
}

void request_fini(struct request *request)
{
    json_reader_fini(&request->reader);
}

/* The four members, as they stand in the line; `bytes` is NULL where one is missing. */
struct members {
    struct json_text jsonrpc, id, method, params;
};

static void find_members(struct json_reader *reader, struct members *members)
{
    struct json_text key, ignored = {0};

    if (!json_enter_object(reader))
        return;
    while (json_next_key(reader, &key)) {
        struct json_text *member = json_text_is(&key, "jsonrpc")  ? &members->jsonrpc
                                   : json_text_is(&key, "id")     ? &members->id
                                   : json_text_is(&key, "method") ? &members->method
                                   : json_text_is(&key, "params") ? &members->params
                                                                  : &ignored;

        (void)json_read_raw(reader, member);
    }
}

/* Every value of JSON can be told by its first byte. */
static bool begins_with(const struct json_text *value, const char *bytes)
{
    return value->length > 0 && value->bytes[0] != '\0' && strchr(bytes, value->bytes[0]);
}

static bool read_word(struct json_reader *reader, const struct json_text *value, struct json_text *out)
{
    json_reader_reset(reader, value->bytes, value->length);
    return value->length > 0 && json_read_text(reader, out);
}

void request_parse(struct request *request, const struct json_text *text)
{
    struct json_reader *reader = &request->reader;
    struct members members = {0};
    struct json_text version;

    request->id = request->method = request->params = (struct json_text){0};
    request->complaint = NULL;
    json_reader_reset(reader, text->bytes, text->length);
    if (json_peek(reader) != JSON_OBJECT)
        request->complaint = "a request is an object";
    else
        find_members(reader, &members);
    if (!request->complaint && members.id.length > RPC_ID_MAX)
        request->complaint = "the id is longer than 1024 bytes";
    else if (members.id.length > 0 && !begins_with(&members.id, "\"-0123456789n"))
        request->complaint = "the id is neither a text, nor a number, nor null";
    else
        request->id = members.id;
    request->params = members.params;
    if (request->complaint)
        ;
    else if (!read_word(reader, &members.jsonrpc, &version) || !json_text_is(&version, "2.0"))
        request->complaint = "\"jsonrpc\" is not \"2.0\"";
    else if (!read_word(reader, &members.method, &request->method))
        request->complaint = "\"method\" is no text";
    else if (request->method.length > RPC_METHOD_MAX)
        request->complaint = "the method's name is longer than 128 bytes";
    else if (members.params.length > 0 && !begins_with(&members.params, "{[n"))
        request->complaint = "\"params\" is no object";
    if (begins_with(&members.params, "n"))
        request->params = (struct json_text){0};
    /* What is no request is answered, with or without an id. */
    request->is_notification = !request->complaint && request->id.length == 0;
}

/* -- Several -- */

void request_batch_begin(struct request_batch *batch, const char *line, size_t length)
{
    struct json_reader *reader = &batch->reader;

    *batch = (struct request_batch){0};
    json_reader_init(reader, line, length);
    batch->is_array = json_peek(reader) == JSON_ARRAY;
    if (!batch->is_array) {
        batch->count = 1;
        return;
    }
    (void)json_enter_array(reader);
    while (json_next_item(reader) && json_skip(reader))
        batch->count++;
    json_reader_reset(reader, line, length);
    (void)json_enter_array(reader);
}

bool request_batch_next(struct request_batch *batch, struct json_text *text)
{
    /* Raw values have no escapes decoded: the reader has nothing to free. */
    if (batch->is_array)
        return json_next_item(&batch->reader) && json_read_raw(&batch->reader, text);
    return json_peek(&batch->reader) != JSON_NOTHING && json_read_raw(&batch->reader, text);
}
