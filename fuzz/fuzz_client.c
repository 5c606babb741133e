/* The client of a daemon that sends any bytes: each call ends, with a result that is JSON in one line or with
 * a reason, and notifications that came before an answer are not lost. */
#include "check.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/socket/client.h"
#include "daemon/socket/request.h"

#define TIMEOUT_MS 60000 /* never waited for: the daemon has closed its side */

static void check_json(const struct strbuf *text)
{
    check(!text->failed && memchr(strbuf_text(text), '\n', text->length) == NULL);
    check(text->length == 0 || request_check(text->data, text->length, NULL) == 0);
}

static void check_error(int code, const struct metron_error *error)
{
    check(code == error->code && (code < 0) == (error->message[0] != '\0'));
    check_shown(error->message, strlen(error->message));
}

static void call(struct client *client, struct strbuf *result)
{
    struct metron_error error = {0};
    int code = client_call(client, "job.list", "{}", result, &error);

    check_error(code, &error);
    check_json(result);
    check(code < 0 || client_rpc_code(client) == 0);
}

static void check_client(struct client *client, size_t size)
{
    struct strbuf text = STRBUF_INIT, method = STRBUF_INIT;
    struct metron_error error = {0};
    size_t count = 0;
    int code;

    call(client, &text);
    code = client_subscribe(client, "{}", &error);
    check_error(code, &error);
    error = (struct metron_error){0};
    call(client, &text);
    while ((code = client_next_notification(client, TIMEOUT_MS, &method, &text, &error)) == 1) {
        check(++count <= size && method.length > 0);
        check_json(&text);
    }
    check_error(code, &error);
    error = (struct metron_error){0};
    code = client_late_answer(client, &text, &error);
    check_error(code, &error);
    check_json(&text);
    strbuf_fini(&text);
    strbuf_fini(&method);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct client *client = NULL;
    int ends[2];

    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    /* What the kernel does not take at once is left out. */
    ssize_t sent = send(ends[1], data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    check(sent >= 0 && shutdown(ends[1], SHUT_WR) == 0);
    check(client_over(ends[0], "daemon.sock", TIMEOUT_MS, &client, NULL) == 0);
    check_client(client, size);
    client_free(client);
    (void)close(ends[1]);
    return 0;
}
