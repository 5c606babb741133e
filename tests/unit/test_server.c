/*
 * The socket's client against a server in a thread of its own, and against impostors: what it gets, how long
 * it waits, whom it does not trust. The server against bad clients is in tests/e2e/test_socket.py.
 */
#include "daemon/socket/client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "daemon/socket/listener.h"
#include "rpc_fixture.h"

static char folder[64], path[96];
static struct rpc_service service;
static pthread_t thread;
static bool serving;
static int left_open; /* handles, at the end: none */
static struct client *client;
static struct strbuf result, method;
static struct metron_error error;

static int make_folder(void **state)
{
    (void)state;
    client = NULL;
    serving = false;
    error = (struct metron_error){0};
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-test-server-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    return 0;
}

static void *serve(void *unused)
{
    (void)unused;
    left_open = rpc_run(&service);
    return NULL;
}

static int setup(void **state)
{
    if (make_folder(state) < 0 || rpc_begin(&service, path, NULL, &error) < 0)
        return -1;
    serving = true;
    return pthread_create(&thread, NULL, serve, NULL);
}

static void stop(void)
{
    serving = false;
    (void)uv_async_send(&service.stop);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(left_open, 0);
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    client_free(client);
    if (serving)
        stop();
    strbuf_fini(&result);
    strbuf_fini(&method);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static void connect_client(int timeout_ms)
{
    assert_int_equal(client_connect(path, timeout_ms, &client, &error), 0);
}

/* Parameters of `later`: an answer that comes once release() was called. */
static const char *held(const char *text)
{
    static char params[256];

    (void)snprintf(params, sizeof(params), "{%s\"until\":\"%s/release\"}", text, folder);
    return params;
}

static void release(void)
{
    char file[96];

    (void)snprintf(file, sizeof(file), "%s/release", folder);
    (void)close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static double elapsed_ms(uint64_t start_ns)
{
    return (double)(clock_monotonic_ns() - start_ns) / 1e6;
}

/* -- Calls -- */

static void a_call_brings_its_result(void **state)
{
    (void)state;
    connect_client(0);
    assert_int_equal(client_call(client, "health", NULL, &result, &error), 0);
    assert_string_equal(result.data, "{\"alive\":true}");
    assert_int_equal(client_call(client, "echo", "{\"value\":[1,\"\\u00e9\",null]}", &result, &error), 0);
    assert_string_equal(result.data, "[1,\"\\u00e9\",null]");
    assert_int_equal(client_call(client, "nothing", NULL, &result, &error), 0);
    assert_string_equal(result.data, "null");
    assert_int_equal(client_call(client, "health", NULL, NULL, &error), 0);
    assert_int_equal(client_daemon_pid(client), getpid());
}

static void a_refusal_is_one_clear_line(void **state)
{
    (void)state;
    connect_client(0);
    assert_int_equal(client_call(client, "job", "{\"job_id\":\"night\"}", &result, &error), -ESRCH);
    assert_string_equal(error.message, "the daemon refused: there is no job 'night'; metron job list "
                                       "shows those that are known");
    assert_int_equal(client_rpc_code(client), RPC_NO_SUCH_JOB);
    assert_int_equal(client_call(client, "job", NULL, &result, &error), -EINVAL);
    assert_int_equal(client_call(client, "no.such", NULL, &result, &error), -EOPNOTSUPP);
    assert_int_equal(client_call(client, "broken", NULL, &result, &error), -EPROTO);
    assert_int_equal(client_rpc_code(client), RPC_INTERNAL_ERROR);
    assert_int_equal(client_call(client, "health", "nonsense", &result, &error), -EPROTO);
    assert_int_equal(client_rpc_code(client), RPC_PARSE_ERROR);
    assert_int_equal(client_call(client, "health", NULL, &result, &error), 0);
    assert_int_equal(client_rpc_code(client), 0);
}

static void a_large_answer_is_read_whole(void **state)
{
    (void)state;
    connect_client(60000);
    assert_int_equal(client_call(client, "big", "{\"bytes\":10000000}", &result, &error), 0);
    assert_int_equal(result.length, 10000002);
    assert_int_equal(client_call(client, "health", NULL, &result, &error), 0);
}

static void deferred_answers_come_from_worker_threads(void **state)
{
    (void)state;
    connect_client(60000);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(client_call(client, "later", "{\"text\":\"a\\nb\",\"ms\":1}", &result, &error), 0);
        assert_string_equal(result.data, "\"a\\nb\"");
    }
    assert_int_equal(client_call(client, "later", NULL, &result, &error), -ESRCH);
}

static void a_late_answer_is_not_taken_for_the_next(void **state)
{
    (void)state;
    connect_client(100);

    uint64_t start_ns = clock_monotonic_ns();

    assert_int_equal(client_call(client, "later", held("\"text\":\"late\","), &result, &error), -ETIMEDOUT);
    assert_true(elapsed_ms(start_ns) >= 99);
    release();
    while (__atomic_load_n(&service.resumed, __ATOMIC_ACQUIRE) == 0)
        (void)usleep(1000);
    client_set_timeout(client, 60000);
    assert_int_equal(client_call(client, "echo", "{\"value\":1}", &result, &error), 0);
    assert_string_equal(result.data, "1");
}

static void a_late_answer_can_be_waited_for(void **state)
{
    char released[96];

    (void)state;
    connect_client(50);
    assert_int_equal(client_call(client, "later", held("\"text\":\"late\","), &result, &error), -ETIMEDOUT);
    assert_int_equal(client_late_answer(client, &result, &error), -ETIMEDOUT);
    release();
    client_set_timeout(client, 60000);
    assert_int_equal(client_late_answer(client, &result, &error), 0);
    assert_string_equal(result.data, "\"late\"");
    (void)snprintf(released, sizeof(released), "%s/release", folder);
    assert_int_equal(unlink(released), 0);
    client_set_timeout(client, 50);
    assert_int_equal(client_call(client, "later", held(""), &result, &error), -ETIMEDOUT);
    release();
    client_set_timeout(client, 60000);
    assert_int_equal(client_late_answer(client, &result, &error), -ESRCH);
    assert_string_equal(error.message, "the daemon refused: the work came to nothing; send a text");
}

/* Its thread ends though nobody calls release(). */
static void work_for_a_client_that_has_gone_is_abandoned(void **state)
{
    (void)state;
    connect_client(50);
    assert_int_equal(client_call(client, "later", held("\"text\":\"late\","), &result, &error), -ETIMEDOUT);
    client_free(client);
    client = NULL;
    while (__atomic_load_n(&service.resumed, __ATOMIC_ACQUIRE) == 0)
        (void)usleep(1000);
    connect_client(60000);
    assert_int_equal(client_call(client, "health", NULL, &result, &error), 0);
}

/* -- Streams -- */

static void notifications_are_waited_for_and_kept(void **state)
{
    (void)state;
    connect_client(0);
    assert_int_equal(client_subscribe(client, "{\"events\":[\"a.*\"]}", &error), 0);
    assert_int_equal(client_next_notification(client, 30, &method, &result, &error), 0);
    assert_int_equal(client_call(client, "publish", "{\"event\":\"a.b\",\"count\":3}", &result, &error), 0);
    assert_int_equal(client_call(client, "publish", "{\"event\":\"c\"}", &result, &error), 0);
    assert_int_equal(client_call(client, "health", NULL, &result, &error), 0); /* some came before this */
    for (int i = 0; i < 3; i++) {
        char expected[64];

        (void)snprintf(expected, sizeof(expected), "{\"event\":\"a.b\",\"number\":%d}", i);
        assert_int_equal(client_next_notification(client, 60000, &method, &result, &error), 1);
        assert_string_equal(method.data, "monitor.event");
        assert_string_equal(result.data, expected);
    }
    assert_int_equal(client_next_notification(client, 0, &method, &result, &error), 0);
    stop();
    assert_int_equal(client_next_notification(client, -1, NULL, NULL, &error), -ECONNRESET);
}

/* -- No daemon, or none to trust -- */

static void without_a_daemon_it_is_known_at_once(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    assert_int_equal(client_connect(path, 600000, &client, &error), -ENOENT); /* nobody is waited for */
    assert_true(client_is_absent(-ENOENT));
    assert_non_null(strstr(error.message, "metron daemon"));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    (void)close(fd); /* what a daemon leaves that was killed */
    assert_int_equal(client_connect(path, 0, &client, &error), -ECONNREFUSED);
    assert_true(client_is_absent(-ECONNREFUSED));
    assert_null(client);
}

/* One who listens and does nothing, or sends this to whoever comes. */
static int listen_only(int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

static void a_stuck_daemon_is_waited_for_until_the_timeout(void **state)
{
    struct client *other = NULL;
    int fd = listen_only(0);
    uint64_t start_ns;

    (void)state;
    connect_client(150);
    start_ns = clock_monotonic_ns();
    assert_int_equal(client_call(client, "health", NULL, &result, &error), -ETIMEDOUT);
    assert_true(elapsed_ms(start_ns) >= 149);
    /* The line before it is full: even connecting waits. */
    start_ns = clock_monotonic_ns();
    assert_int_equal(client_connect(path, 150, &other, &error), -ETIMEDOUT);
    assert_true(elapsed_ms(start_ns) >= 140);
    (void)close(fd);
}

static void assert_impostor(const char *says, size_t length, int code)
{
    int fd = listen_only(0);

    connect_client(60000);

    int peer = accept(fd, NULL, NULL);

    assert_int_equal(write(peer, says, length), (ssize_t)length);
    assert_int_equal(shutdown(peer, SHUT_WR), 0);
    assert_int_equal(client_call(client, "health", NULL, &result, &error), code);
    assert_true(error.message[0] != '\0');
    (void)close(peer);
    (void)close(fd);
    (void)unlink(path);
    client_free(client);
    client = NULL;
}

static void what_is_no_answer_is_an_error(void **state)
{
    (void)state;
    assert_impostor("HTTP/1.0 200 OK\n", 16, -EBADMSG);
    assert_impostor("\0\n", 2, -EBADMSG);
    assert_impostor("", 0, -ECONNRESET);
    assert_impostor("{\"jsonrpc\":\"2.0\",\"id\":1,\"resu", 28, -ECONNRESET);
    assert_impostor("{\"id\":99,\"result\":1}\n[]\n7\n", 26, -ECONNRESET);
    assert_impostor("{\"id\":1,\"error\":7}\n", 19, -EPROTO);
    assert_impostor("{\"id\":null,\"error\":{\"code\":-32010,\"message\":\"m\",\"data\":\"d\"}}\n", 61,
                    -EACCES);
}

static void a_daemon_that_dies_is_noticed(void **state)
{
    (void)state;
    connect_client(0);
    assert_int_equal(client_call(client, "health", NULL, &result, &error), 0);
    stop();
    assert_int_equal(client_call(client, "health", NULL, &result, &error), -ECONNRESET);
    assert_int_equal(client_call(client, "health", NULL, &result, &error), -ECONNRESET);
}

/* A daemon that is killed leaves clients that it has not accepted yet, has not read from, or has hung up on:
 * the kernel has another error for each, and they mean the same. */
static void whenever_a_daemon_dies_the_message_is_the_same(void **state)
{
    enum { NOT_ACCEPTED, NOT_READ, HUNG_UP, WAYS };

    (void)state;
    for (int way = NOT_ACCEPTED; way < WAYS; way++) {
        int fd = listen_only(1);

        connect_client(60000);
        int peer = way == NOT_ACCEPTED ? -1 : accept(fd, NULL, NULL);
        if (way == NOT_READ)
            assert_int_equal(client_post(client, "health", NULL, &error), 0);
        if (peer >= 0)
            (void)close(peer);
        (void)close(fd);
        assert_int_equal(client_call(client, "health", NULL, &result, &error), -ECONNRESET);
        assert_non_null(strstr(error.message, ") closed the connection; check"));
        (void)unlink(path);
        client_free(client);
        client = NULL;
    }
}

/* In a child that is another user. */
static int connect_as(uid_t uid)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct client *other;

        if (setresuid(uid, uid, uid) < 0)
            _exit(99);
        _exit(-client_connect(path, 0, &other, NULL));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

static void a_socket_of_a_third_one_is_not_trusted(void **state)
{
    int ready[2];
    char byte;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(pipe(ready), 0);

    pid_t child = fork();

    if (child == 0) {
        if (setresuid(4711, 4711, 4711) < 0)
            _exit(1);
        (void)umask(0);
        (void)listen_only(16);
        (void)!write(ready[1], "x", 1);
        (void)alarm(120); /* ends it whatever becomes of the test */
        (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(connect_as(4712), -EACCES);
    assert_int_equal(connect_as(4711), 0);
    assert_int_equal(client_connect(path, 0, &client, &error), -EACCES); /* root neither */
    assert_non_null(strstr(error.message, "4711"));
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* -- The file -- */

/* Another daemon tries: what listener_open returns in a process of its own. */
static int open_elsewhere(void)
{
    struct listener listener;
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(-listener_open(&listener, path, NULL, &error));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

static void a_lock_file_that_was_taken_away_is_no_trap(void **state)
{
    struct listener first, second;
    char lock[128];

    (void)state;
    (void)snprintf(lock, sizeof(lock), "%s.lock", path);
    assert_int_equal(listener_open(&first, path, NULL, &error), 0);
    assert_int_equal(open_elsewhere(), -EADDRINUSE);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(open_elsewhere(), -EADDRINUSE); /* it listens all the same */
    listener_shut(&first);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(listener_open(&second, path, NULL, &error), 0);
    listener_close(&first); /* neither the socket nor the lock is its own now */
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access(lock, F_OK), 0);
    listener_close(&second);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(lock, F_OK), -1);
    listener_close(&second);
}

/* A daemon with a child that has not called exec yet, and so has its descriptors. Writes the child's pid. */
static void listen_with_child(int pid_fd)
{
    struct listener listener;
    pid_t child;

    if (listener_open(&listener, path, NULL, &error) < 0 || (child = fork()) < 0)
        _exit(1);
    (void)alarm(120); /* each of them, whatever becomes of the test */
    if (child > 0)
        (void)!write(pid_fd, &child, sizeof(child));
    for (;;)
        (void)pause();
}

static void a_child_of_a_killed_daemon_is_not_taken_for_it(void **state)
{
    struct listener listener;
    int pid_pipe[2];
    pid_t child = 0;

    (void)state;
    assert_int_equal(pipe(pid_pipe), 0);
    pid_t daemon = fork();
    assert_true(daemon >= 0);
    if (daemon == 0)
        listen_with_child(pid_pipe[1]);
    (void)close(pid_pipe[1]);
    assert_int_equal(read(pid_pipe[0], &child, sizeof(child)), sizeof(child));
    assert_int_equal(open_elsewhere(), -EADDRINUSE); /* as long as it lives */
    (void)kill(daemon, SIGKILL);
    /* Left a zombie: its parent need not have waited for it. */
    assert_int_equal(waitid(P_PID, (id_t)daemon, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    int code = listener_open(&listener, path, NULL, &error);
    (void)kill(child, SIGKILL);
    (void)waitpid(daemon, NULL, 0);
    (void)close(pid_pipe[0]);
    if (code < 0)
        fail_msg("%s", error.message);
    listener_close(&listener);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_client_that_waits_to_be_let_in_is_not_lost_with_a_removed_socket(void **state)
{
    (void)state;
    assert_int_equal(rpc_begin(&service, path, NULL, &error), 0);
    connect_client(5000);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(server_mend_socket(service.server, &error), 1);
    serving = true;
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
    assert_int_equal(client_call(client, "echo", "{\"a\":1}", &result, &error), 0);
}

static void a_lock_that_is_a_link_is_refused(void **state)
{
    struct listener listener;
    char lock[128], victim[128];

    (void)state;
    (void)snprintf(lock, sizeof(lock), "%s.lock", path);
    (void)snprintf(victim, sizeof(victim), "%s/victim", folder);
    assert_int_equal(symlink(victim, lock), 0);
    assert_int_equal(listener_open(&listener, path, NULL, &error), -ELOOP);
    assert_int_equal(access(victim, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_brings_its_result, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_is_one_clear_line, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_answer_is_read_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(deferred_answers_come_from_worker_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(work_for_a_client_that_has_gone_is_abandoned, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_answer_is_not_taken_for_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_answer_can_be_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(notifications_are_waited_for_and_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_daemon_that_dies_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_daemon_it_is_known_at_once, make_folder, teardown),
        cmocka_unit_test_setup_teardown(a_stuck_daemon_is_waited_for_until_the_timeout, make_folder,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_no_answer_is_an_error, make_folder, teardown),
        cmocka_unit_test_setup_teardown(whenever_a_daemon_dies_the_message_is_the_same, make_folder,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_socket_of_a_third_one_is_not_trusted, make_folder, teardown),
        cmocka_unit_test_setup_teardown(a_lock_file_that_was_taken_away_is_no_trap, make_folder, teardown),
        cmocka_unit_test_setup_teardown(a_child_of_a_killed_daemon_is_not_taken_for_it, make_folder,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_client_that_waits_to_be_let_in_is_not_lost_with_a_removed_socket,
                                        make_folder, teardown),
        cmocka_unit_test_setup_teardown(a_lock_that_is_a_link_is_refused, make_folder, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
