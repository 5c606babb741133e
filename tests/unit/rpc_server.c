/*
 * The server of rpc_fixture.h as a program, for tests that talk to it from outside.
 *
 *     rpc_server PATH [GROUP]
 *
 * It says "ready" on stdout once it listens, and ends on SIGTERM or by its method
 * `shutdown`; exit 0, or 1 with the reason on stderr.
 */
#include <signal.h>

#include "rpc_fixture.h"

static void on_signal(uv_signal_t *handle, int number)
{
    struct rpc_service *service = handle->data;

    (void)number;
    server_close(service->server, 0, rpc_closed, service);
}

int main(int count, char **arguments)
{
    static struct rpc_service service;
    struct metron_error error = {0};
    uv_signal_t terminate;

    if (count < 2)
        return 2;
    if (rpc_begin(&service, arguments[1], count > 2 ? arguments[2] : NULL, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    (void)uv_signal_init(&service.loop, &terminate);
    terminate.data = &service;
    (void)uv_signal_start(&terminate, on_signal, SIGTERM);
    uv_unref((uv_handle_t *)&terminate);
    (void)printf("ready\n");
    (void)fflush(stdout);
    (void)uv_run(&service.loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&terminate, NULL);
    return rpc_run(&service) == 0 ? 0 : 1;
}
