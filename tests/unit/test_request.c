/* Lines of the socket: what is JSON and what is not, what is a request, and what is said of one that is not.
 */
#include "daemon/socket/request.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/socket/protocol.h"

static struct request_line requests;
static const struct request *const request = &requests.items[0];
static char *heap; /* without a NUL, in a block of its size: a sanitiser sees every step past it */

static int teardown(void **state)
{
    (void)state;
    free(heap);
    heap = NULL;
    return 0;
}

static int check(const char *line, size_t length)
{
    struct metron_error error = {0};

    free(heap);
    heap = malloc(length ? length : 1);
    assert_non_null(heap);
    memcpy(heap, line, length);

    int code = request_line_read(&requests, heap, length, &error);

    assert_int_equal(error.code, code);
    assert_int_equal(request_check(heap, length, NULL), code);
    assert_int_equal(code == 0, error.message[0] == '\0');
    return code;
}

static void parse(const char *line)
{
    assert_int_equal(check(line, strlen(line)), 0);
    assert_false(requests.is_array);
    assert_int_equal(requests.count, 1);
}

static void assert_text(const struct json_text *text, const char *expected)
{
    assert_int_equal(text->length, strlen(expected));
    assert_memory_equal(text->bytes, expected, text->length);
}

static void a_request_is_taken_apart(void **state)
{
    (void)state;
    parse(" {\"params\" : {\"a\": [1, 2]} , \"id\": \"\\u0041\" "
          ",\"more\":{},\"method\":\"a\\u002eb\",\"jsonrpc\":\"2.0\"} ");
    assert_null(request->complaint);
    assert_text(&request->id, "\"\\u0041\"");
    assert_text(&request->method, "\"a\\u002eb\"");
    assert_text(&request->params, "{\"a\": [1, 2]}");
    assert_false(request->is_notification);
}

static void without_an_id_it_is_a_notification(void **state)
{
    (void)state;
    parse("{\"jsonrpc\":\"2.0\",\"method\":\"m\"}");
    assert_true(request->is_notification);
    parse("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":null}");
    assert_false(request->is_notification);
    assert_text(&request->id, "null");
    /* What is no request cannot be a notification: its sender shall hear of it. */
    parse("{\"jsonrpc\":\"2.0\"}");
    assert_non_null(request->complaint);
    assert_false(request->is_notification);
}

static void null_params_are_none(void **state)
{
    (void)state;
    parse("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"params\":null}");
    assert_null(request->complaint);
    assert_int_equal(request->params.length, 0);
}

static void what_is_no_request_is_complained_about(void **state)
{
    static const char *const lines[] = {
        "1",
        "\"x\"",
        "null",
        "{}",
        "{\"jsonrpc\":2.0,\"method\":\"m\",\"id\":1}",
        "{\"jsonrpc\":\"2.1\",\"method\":\"m\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"method\":1,\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":true}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":[]}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"params\":1}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"params\":false}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        parse(lines[i]);
        assert_non_null(request->complaint);
    }
}

static void an_id_stays_known_where_it_can(void **state)
{
    (void)state;
    parse("{\"jsonrpc\":\"2.0\",\"id\":7}");
    assert_non_null(request->complaint);
    assert_text(&request->id, "7");
    parse("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":{\"a\":1}}");
    assert_int_equal(request->id.length, 0);
}

static void what_was_there_before_is_forgotten(void **state)
{
    (void)state;
    parse("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"params\":{}}");
    parse("{\"jsonrpc\":\"2.0\",\"method\":\"m\"}");
    assert_int_equal(request->id.length, 0);
    assert_int_equal(request->params.length, 0);
    parse("3");
    assert_int_equal(request->method.length, 0);
}

static void a_batch_is_taken_apart(void **state)
{
    static const char line[] = " [ {\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"m\"} , 3,[ ] ,\"x\" ] ";
    static char many[4 * RPC_BATCH_MAX];

    (void)state;
    assert_int_equal(check(line, sizeof(line) - 1), 0);
    assert_true(requests.is_array);
    assert_int_equal(requests.count, 4);
    assert_null(requests.items[0].complaint);
    assert_text(&requests.items[0].id, "1");
    for (size_t i = 1; i < requests.count; i++)
        assert_non_null(requests.items[i].complaint);
    assert_int_equal(check("[]", 2), 0);
    assert_int_equal(requests.count, 0);
    for (size_t i = 0; i < sizeof(many); i++)
        many[i] = i % 2 ? '1' : ',';
    many[0] = '[';
    many[sizeof(many) - 1] = ']';
    many[sizeof(many) - 2] = '1'; /* of two digits */
    assert_int_equal(check(many, sizeof(many)), 0);
    assert_int_equal(requests.count, 2 * RPC_BATCH_MAX - 1);
    many[sizeof(many) - 2] = '}'; /* those that are too many are checked as well */
    assert_int_equal(check(many, sizeof(many)), -EBADMSG);
}

static void skipped_parts_are_looked_at_too(void **state)
{
    static const char *const lines[] = {
        "{\"a\":{\"b\":[1 2]}}",
        "{\"a\":{\"b\" 1}}",
        "[1,,2]",
        "[,]",
        "{\"a\":1,}",
        "[tru]",
        "[1]]",
        "[1",
        "[nulll]",
        "{\"a\":{1:2}}",
        "[1e]",
        "",
        "  ",
        "{} {}",
        "[\"\t\"]",
        "[-]",
        "[1.]",
        "[\"\\ud8\"]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        assert_int_equal(check(lines[i], strlen(lines[i])), -EBADMSG);
    assert_int_equal(check("\"a\0b\"", 5), -EBADMSG);
}

static void only_utf8_is_taken(void **state)
{
    static const char *const good[] = {"\"\xc3\xa9\"", "\"0123456\xe2\x82\xac\"",
                                       "\"01234567\xf0\x9f\x99\x82 89\""};
    static const char *const bad[] = {"\"\xff\"",         "\"\xc3\"",     "\"0123456\xc3\x28\"",
                                      "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\"012345678\xf5\x80\x80\x80\""};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_int_equal(check(good[i], strlen(good[i])), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(check(bad[i], strlen(bad[i])), -EBADMSG);
}

static void depth_is_limited(void **state)
{
    static char line[200001];

    (void)state;
    memset(line, '[', 64);
    memset(line + 64, ']', 64);
    assert_int_equal(check(line, 128), 0);
    memset(line, '[', 65);
    memset(line + 65, ']', 65);
    assert_int_equal(check(line, 130), -EBADMSG);
    memset(line, '[', 100000);
    memset(line + 100000, ']', 100000);
    assert_int_equal(check(line, 200000), -EBADMSG);
}

static void messages_are_written_as_json_rpc_has_them(void **state)
{
    struct strbuf out = STRBUF_INIT, result = STRBUF_INIT;
    const struct json_text id = {"\"x\"", 3}, params = {"{\"a\":1}", 7};
    struct json json;

    (void)state;
    json_init(&json, &result, 0);
    json_array_begin(&json);
    rpc_raw_value(&json, &params);
    rpc_raw_value(&json, &params);
    json_integer(&json, 3);
    json_array_end(&json);
    rpc_result(&out, &id, &result);
    strbuf_fini(&result);
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":[{\"a\":1},{\"a\":1},3]}");
    strbuf_reset(&out);
    rpc_error(&out, NULL, RPC_NOT_PERMITTED, "no \"way\"", "go home");
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32010,\"message\":"
                                  "\"no \\\"way\\\"\",\"data\":{\"hint\":\"go home\"}}}");
    strbuf_reset(&out);
    rpc_request(&out, 0, "monitor.event", &params);
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"method\":\"monitor.event\",\"params\":{\"a\":1}}");
    strbuf_reset(&out);
    rpc_request(&out, 5, "m", NULL);
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\"}");
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_request_is_taken_apart, teardown),
        cmocka_unit_test_teardown(without_an_id_it_is_a_notification, teardown),
        cmocka_unit_test_teardown(null_params_are_none, teardown),
        cmocka_unit_test_teardown(what_is_no_request_is_complained_about, teardown),
        cmocka_unit_test_teardown(an_id_stays_known_where_it_can, teardown),
        cmocka_unit_test_teardown(what_was_there_before_is_forgotten, teardown),
        cmocka_unit_test_teardown(a_batch_is_taken_apart, teardown),
        cmocka_unit_test_teardown(skipped_parts_are_looked_at_too, teardown),
        cmocka_unit_test_teardown(only_utf8_is_taken, teardown),
        cmocka_unit_test_teardown(depth_is_limited, teardown),
        cmocka_unit_test_teardown(messages_are_written_as_json_rpc_has_them, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
