/* The capture process: it takes output as long as somebody writes it, whatever becomes of metron. */
#include "launch/capture_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "launch/terminal.h"

#define PATIENCE_MS 60000

static int scratch_file(void)
{
    char path[] = "/tmp/metron-capture-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    return fd;
}

static off_t file_size(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    return status.st_size;
}

static void await_size(int fd, off_t size)
{
    for (int tries = 0; file_size(fd) < size; tries++) {
        assert_true(tries < PATIENCE_MS);
        (void)usleep(1000);
    }
    assert_int_equal(file_size(fd), size);
}

static struct capture_process *start(int source_fd, int show_fd, int record_fd)
{
    const struct capture_stream streams[CAPTURE_STREAMS] = {{source_fd, show_fd, record_fd}, {-1, -1, -1}};
    struct capture_process *process = NULL;

    assert_int_equal(capture_process_start(streams, &process, NULL), 0);
    return process;
}

static void await_delivered(struct capture_process *process)
{
    struct pollfd polled = {.fd = capture_process_fd(process), .events = POLLIN};

    do {
        assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1);
    } while (capture_process_read(process) == CAPTURE_WARNED);
}

static void await_end(struct capture_process *process)
{
    struct rusage usage;
    int status = -1;
    pid_t pid = capture_process_pid(process);

    capture_process_deliver(process); /* where there is no command, this says that it has ended */
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(capture_process_reaped(process, pid + 1, &usage));
    assert_true(capture_process_reaped(process, pid, &usage));
    assert_int_equal(capture_process_pid(process), 0);
}

static void what_was_written_is_delivered_while_a_writer_stays(void **state)
{
    static char text[50000];
    int source[2], file = scratch_file();
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    struct capture_process *process = start(source[0], -1, file);
    for (int round = 1; round <= 3; round++) {
        assert_int_equal(write(source[1], text, sizeof(text)), sizeof(text));
        capture_process_deliver(process);
        await_delivered(process);
        assert_int_equal(file_size(file), round * (off_t)sizeof(text));
    }
    close(source[1]);
    await_delivered(process); /* its end */
    await_end(process);
    capture_process_free(process);
    close(source[0]);
    close(file);
}

/* Plays a metron that starts one and is killed. */
static void start_and_be_killed(int source_fd, int file)
{
    pid_t metron = fork();
    int status;

    if (metron == 0) {
        (void)start(source_fd, -1, file);
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(metron, &status, 0), metron);
    assert_true(WIFSIGNALED(status));
}

static void output_goes_on_when_metron_was_killed(void **state)
{
    int source[2], file = scratch_file();
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    start_and_be_killed(source[0], file);
    close(source[0]); /* the last reader but the process */
    assert_int_equal(write(source[1], "one\n", 4), 4);
    await_size(file, 4);
    assert_int_equal(write(source[1], "two\n", 4), 4);
    await_size(file, 8);
    close(source[1]);
    close(file);
}

/* A lock, a socket or a pipe of metron's is not kept open. */
static void descriptors_of_metron_are_not_kept(void **state)
{
    int source[2], other[2], file = scratch_file();
    char byte;
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    assert_int_equal(pipe2(other, 0), 0);
    struct capture_process *process = start(source[0], -1, file);
    close(other[1]);
    assert_int_equal(read(other[0], &byte, 1), 0);
    close(other[0]);
    close(source[1]); /* not even the write end of its own pipe: this is the end */
    await_end(process);
    capture_process_free(process);
    close(source[0]);
    close(file);
}

static void screen_that_has_gone_breaks_the_pipe(void **state)
{
    int source[2], show[2], kept = dup(STDOUT_FILENO);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    assert_int_equal(pipe2(show, O_CLOEXEC), 0);
    dup2(show[1], STDOUT_FILENO);
    close(show[1]);
    struct capture_process *process = start(source[0], STDOUT_FILENO, -1);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(source[0]);
    close(show[0]);
    sigaction(SIGPIPE, &ignore, &before);
    ssize_t count = 1;
    for (int tries = 0; count > 0 && tries < PATIENCE_MS; tries++) {
        count = write(source[1], "x", 1);
        (void)usleep(1000);
    }
    assert_int_equal(count, -1);
    assert_int_equal(errno, EPIPE);
    sigaction(SIGPIPE, &before, NULL);
    close(source[1]);
    await_end(process);
    capture_process_free(process);
}

static void screen_that_is_read_late_loses_nothing(void **state)
{
    static char text[65536];
    int source[2], show[2], kept = dup(STDOUT_FILENO), file = scratch_file();
    size_t shown = 0;
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    assert_int_equal(pipe2(show, O_CLOEXEC), 0);
    dup2(show[1], STDOUT_FILENO);
    close(show[1]);
    struct capture_process *process = start(source[0], STDOUT_FILENO, file);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    for (int i = 0; i < 3; i++) /* more than a screen that nobody reads takes */
        assert_int_equal(write(source[1], text, sizeof(text)), sizeof(text));
    close(source[1]);
    pid_t pid = capture_process_pid(process);
    capture_process_free(process); /* metron does not wait for it */
    for (ssize_t count; (count = read(show[0], text, sizeof(text))) > 0;)
        shown += (size_t)count;
    assert_int_equal(shown, 3 * sizeof(text));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(file_size(file), 3 * sizeof(text));
    close(source[0]);
    close(show[0]);
    close(file);
}

static void cancelled_process_leaves_nothing(void **state)
{
    int source[2];
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    capture_process_cancel(start(source[0], -1, -1)); /* though there is a writer */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    close(source[0]);
    close(source[1]);
}

/* Waits at the gate, and holds no output. */
static pid_t start_command(int source_fd, const int gate[2])
{
    pid_t command = fork();

    if (command == 0) {
        char byte;
        close(source_fd);
        _exit((int)read(gate[0], &byte, 1) - 1);
    }
    return command;
}

static void end_is_noted_when_it_happens(bool output_ends_first)
{
    int source[2], gate[2];

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    struct capture_process *process = start(source[0], -1, -1);
    pid_t command = start_command(source[1], gate);
    capture_process_watch(process, command);
    if (output_ends_first) {
        close(source[1]);
        await_delivered(process); /* its end */
    }
    assert_int_equal(capture_process_end_ns(process), 0);
    uint64_t before_ns = clock_monotonic_ns();
    assert_int_equal(write(gate[1], "x", 1), 1);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)command, &ended, WEXITED | WNOWAIT), 0);
    for (int tries = 0; capture_process_end_ns(process) == 0 && tries < PATIENCE_MS; tries++)
        (void)usleep(1000);
    uint64_t after_ns = clock_monotonic_ns();
    assert_in_range(capture_process_end_ns(process), before_ns, after_ns);
    assert_int_equal(waitpid(command, NULL, 0), command);
    if (!output_ends_first)
        close(source[1]);
    await_end(process);
    assert_true(capture_process_cpu_seconds(process) > 0);
    capture_process_free(process);
    close(source[0]);
    close(gate[0]);
    close(gate[1]);
}

static void end_of_the_command_is_noted_while_its_output_stays_open(void **state)
{
    (void)state;
    end_is_noted_when_it_happens(false);
}

static void end_of_the_command_is_noted_after_its_output_was_closed(void **state)
{
    (void)state;
    end_is_noted_when_it_happens(true);
}

/* The kernel then reports an error before what is still to be read. */
static void warning_is_read_though_the_process_has_not_read_all(void **state)
{
    int source[2], file = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct rusage usage;
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    struct capture_process *process = start(source[0], -1, file);
    struct pollfd polled = {.fd = capture_process_fd(process), .events = POLLIN};
    pid_t pid = capture_process_pid(process);
    assert_int_equal(write(source[1], "x", 1), 1);
    assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1); /* the disk is full */
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    capture_process_deliver(process);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
    assert_true(capture_process_reaped(process, pid, &usage));
    assert_int_equal(capture_process_read(process), CAPTURE_WARNED);
    assert_int_equal(capture_process_read(process), CAPTURE_ENDED);
    capture_process_free(process);
    close(source[0]);
    close(source[1]);
    close(file);
}

/* A keyboard that makes the terminal raw, in a metron that is killed. */
static void make_raw_and_be_killed(int source_fd)
{
    struct capture_process *process = start(source_fd, -1, -1);
    struct keyboard_terminal *terminal = capture_process_terminal(process);
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &terminal->found) != 0)
        _exit(10);
    raw = terminal->found;
    cfmakeraw(&raw);
    atomic_store(&terminal->raw, true);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
        _exit(11);
    (void)raise(SIGKILL);
}

static void killed_metron_does_not_leave_the_terminal_raw(void **state)
{
    int source[2], master, slave, status, kept = dup(STDIN_FILENO);
    struct termios modes = {0};
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    assert_int_equal(terminal_open(&master, &slave, NULL), 0);
    pid_t metron = fork();
    if (metron == 0) {
        dup2(slave, STDIN_FILENO);
        make_raw_and_be_killed(source[0]);
    }
    assert_int_equal(waitpid(metron, &status, 0), metron);
    assert_true(WIFSIGNALED(status));
    for (int tries = 0; !(modes.c_lflag & ICANON); tries++) {
        assert_true(tries < PATIENCE_MS);
        (void)usleep(1000);
        assert_int_equal(tcgetattr(slave, &modes), 0);
    }
    close(source[0]);
    close(source[1]);
    close(master);
    close(slave);
    close(kept);
}

/* On a pty it stays until nobody has it open and the command has ended. */
static void terminal_that_was_closed_and_opened_again_is_still_read(void **state)
{
    int master, slave, file = scratch_file();
    char path[64];
    (void)state;

    assert_int_equal(terminal_open(&master, &slave, NULL), 0);
    assert_int_equal(ptsname_r(master, path, sizeof(path)), 0);
    struct capture_process *process = start(master, -1, file);
    assert_int_equal(write(slave, "one\n", 4), 4);
    await_size(file, 5);
    close(slave);
    (void)usleep(20000); /* it may notice, or not */
    slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    assert_int_equal(write(slave, "two\n", 4), 4);
    capture_process_deliver(process);
    await_delivered(process);
    assert_int_equal(file_size(file), 10);
    assert_int_equal(write(slave, "late\n", 5), 5); /* by a child that outlives the command */
    await_size(file, 16);
    close(slave);
    await_end(process);
    capture_process_free(process);
    close(master);
    close(file);
}

static void process_that_cannot_be_had_is_an_error(void **state)
{
    int source[2];
    struct rlimit before, none;
    struct capture_process *process = NULL;
    struct metron_error error = {0};
    (void)state;

    assert_int_equal(pipe2(source, O_CLOEXEC), 0);
    const struct capture_stream streams[CAPTURE_STREAMS] = {{source[0], -1, -1}, {-1, -1, -1}};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t spare = 0; spare < 4; spare++) {
        none = (struct rlimit){(rlim_t)source[1] + 1 + spare, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int code = capture_process_start(streams, &process, &error);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (code == 0) {
            capture_process_free(process);
            continue;
        }
        assert_int_equal(code, -EMFILE);
        assert_null(process);
        assert_true(error.message[0] != '\0');
    }
    close(source[0]);
    close(source[1]);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_delivered_while_a_writer_stays),
        cmocka_unit_test(output_goes_on_when_metron_was_killed),
        cmocka_unit_test(descriptors_of_metron_are_not_kept),
        cmocka_unit_test(screen_that_has_gone_breaks_the_pipe),
        cmocka_unit_test(screen_that_is_read_late_loses_nothing),
        cmocka_unit_test(cancelled_process_leaves_nothing),
        cmocka_unit_test(end_of_the_command_is_noted_while_its_output_stays_open),
        cmocka_unit_test(end_of_the_command_is_noted_after_its_output_was_closed),
        cmocka_unit_test(warning_is_read_though_the_process_has_not_read_all),
        cmocka_unit_test(killed_metron_does_not_leave_the_terminal_raw),
        cmocka_unit_test(terminal_that_was_closed_and_opened_again_is_still_read),
        cmocka_unit_test(process_that_cannot_be_had_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
