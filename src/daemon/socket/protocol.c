/*
 * Writing the messages of the socket.
 */
#include "daemon/socket/protocol.h"

#include <errno.h>

int rpc_errno(int code)
{
    switch (code) {
    case RPC_NO_SUCH_METHOD:
        return -EOPNOTSUPP;
    case RPC_INVALID_PARAMS:
        return -EINVAL;
    case RPC_NO_SUCH_JOB:
        return -ESRCH;
    case RPC_EXHAUSTED:
        return -EBUSY;
    case RPC_SHUTTING_DOWN:
        return -ESHUTDOWN;
    case RPC_NOT_PERMITTED:
        return -EACCES;
    default:
        return -EPROTO;
    }
}

static void begin(struct strbuf *out, const struct json_text *id)
{
    strbuf_adds(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id && id->length > 0)
        strbuf_add(out, id->bytes, id->length);
    else
        strbuf_adds(out, "null");
}

void rpc_result(struct strbuf *out, const struct json_text *id, const struct strbuf *result)
{
    begin(out, id);
    strbuf_adds(out, ",\"result\":");
    if (result->length > 0)
        strbuf_add(out, result->data, result->length);
    else
        strbuf_adds(out, "null");
    strbuf_addc(out, '}');
}

void rpc_error(struct strbuf *out, const struct json_text *id, int code, const char *message,
               const char *hint)
{
    struct json json;

    begin(out, id);
    strbuf_adds(out, ",\"error\":");
    json_init(&json, out, 0);
    json_object_begin(&json);
    json_key_integer(&json, "code", code);
    json_key_string(&json, "message", message);
    json_key_object(&json, "data");
    json_key_string(&json, "hint", hint);
    json_object_end(&json);
    json_object_end(&json);
    strbuf_addc(out, '}');
}

void rpc_request(struct strbuf *out, long long id, const char *method, const struct json_text *params)
{
    struct json json;

    json_init(&json, out, 0);
    json_object_begin(&json);
    json_key_string(&json, "jsonrpc", "2.0");
    json_key_nonzero(&json, "id", id);
    json_key_string(&json, "method", method);
    if (params && params->length > 0) {
        json_key(&json, "params");
        rpc_raw_value(&json, params);
    }
    json_object_end(&json);
}

void rpc_raw_value(struct json *json, const struct json_text *text)
{
    json_raw(json, text->bytes, text->length);
}
