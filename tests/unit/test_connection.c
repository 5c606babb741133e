/* The deadline of a client that does not read what it asked for: half a minute without progress. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/socket/server_state.h"
#include "rpc_fixture.h"

#define LIMIT_NS (30 * NS_PER_SECOND)

static char folder[64], path[96];
static struct rpc_service service;
static int deaf, idle;
static struct connection *owing, *other; /* theirs */

static int connected(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static struct server_counts counts(void)
{
    struct server_counts now;

    server_count(service.server, &now);
    return now;
}

static int setup(void **state)
{
    static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"big\",\"params\":{\"bytes\":2000000}}\n";
    struct metron_error error;

    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-test-connection-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    if (rpc_begin(&service, path, NULL, &error) < 0)
        return -1;
    deaf = connected();
    idle = connected();
    if (write(deaf, request, sizeof(request) - 1) < 0)
        return -1;
    for (owing = NULL; !owing;) {
        (void)uv_run(&service.loop, UV_RUN_ONCE);
        for (struct connection *each = service.server->connections; each && counts().clients == 2;
             each = each->next)
            if (connection_unsent(each) > 0)
                owing = each;
            else
                other = each;
    }
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    (void)close(deaf);
    (void)close(idle);
    server_close(service.server, 0, rpc_closed, &service);
    if (rpc_run(&service) != 0)
        return -1;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static void one_that_does_not_read_has_half_a_minute(void **state)
{
    (void)state;
    assert_true(connection_check_deadline(owing, owing->progress_ns + LIMIT_NS - 1));
    assert_false(
        connection_check_deadline(other, other->progress_ns + 1000 * LIMIT_NS)); /* it owes nothing */
    assert_int_equal(counts().closed, 0);
    assert_false(connection_check_deadline(owing, owing->progress_ns + LIMIT_NS));
    assert_int_equal(counts().closed, 1);
    while (counts().clients > 1)
        (void)uv_run(&service.loop, UV_RUN_ONCE);
}

static void it_is_closed_by_the_clock_of_the_server(void **state)
{
    (void)state;
    owing->progress_ns -= LIMIT_NS;
    while (counts().clients > 1)
        (void)uv_run(&service.loop, UV_RUN_ONCE);
    assert_int_equal(counts().closed, 1);
    assert_ptr_equal(service.server->connections, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_does_not_read_has_half_a_minute, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_closed_by_the_clock_of_the_server, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
