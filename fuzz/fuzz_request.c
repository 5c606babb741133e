/* The request parser: whatever the bytes are, a line that is let pass is JSON that can be taken apart, all
 * its parts lie within it, its id may be sent back as it is, and its params can be read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/socket/protocol.h"
#include "daemon/socket/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_within(const struct json_text *part, const char *line, size_t length)
{
    if (part->length > 0)
        check(part->bytes >= line && part->bytes + part->length <= line + length);
}

/* An answer that quotes the request is a line of JSON again. */
static void check_answer(const struct request *request)
{
    struct strbuf out = STRBUF_INIT, result = STRBUF_INIT;
    struct json json;

    json_init(&json, &result, 0);
    json_array_begin(&json);
    rpc_raw_value(&json, &request->method);
    if (request->params.length > 0)
        rpc_raw_value(&json, &request->params);
    json_array_end(&json);
    rpc_result(&out, &request->id, &result);
    strbuf_fini(&result);
    check(memchr(out.data, '\n', out.length) == NULL);
    /* Two levels more than it had: the depth may be past the limit by now. */
    struct metron_error error = {0};
    int code = request_check(out.data, out.length, &error);
    check(code == 0 || strstr(error.message, "64 levels"));
    strbuf_fini(&out);
}

static void check_request(const struct request *request, const char *line, size_t length)
{
    check_within(&request->id, line, length);
    check_within(&request->method, line, length);
    check_within(&request->params, line, length);
    check(request->id.length <= RPC_ID_MAX);
    check(!request->complaint || !request->is_notification);
    if (!request->complaint) {
        check(request->method.length >= 2 && request->method.length <= RPC_METHOD_MAX + 2);
        check(request->params.length == 0 || request->params.bytes[0] == '{' ||
              request->params.bytes[0] == '[');
        check_answer(request);
    }
}

static void check_line(const char *line, size_t length)
{
    static struct request_line requests;
    int code = request_line_read(&requests, line, length, NULL);

    check(code == request_check(line, length, NULL));
    for (size_t i = 0; code == 0 && i < requests.count && i < RPC_BATCH_MAX; i++)
        check_request(&requests.items[i], line, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;

    /* As the server has it: line by line. */
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        if (!stop)
            stop = end;
        check_line(at, (size_t)(stop - at));
        at = stop < end ? stop + 1 : end;
    }
    return 0;
}
