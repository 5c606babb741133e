/* Capturing: byte for byte, whatever the disk, the screen and the other holders of the pipe do. */
#include "launch/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/launch.h"
#include "launch/signals.h"
#include "launch/terminal.h"

#define MIB (1UL << 20)

/* Byte `position` of an endless text without a short period. */
static unsigned char pattern(uint64_t position)
{
    return (unsigned char)((position * 2654435761U) >> 13 ^ position >> 16);
}

static bool is_pattern(const unsigned char *bytes, size_t length, uint64_t position)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != pattern(position + i))
            return false;
    }
    return true;
}

static int write_pattern(int fd, size_t total)
{
    static unsigned char bytes[50000]; /* no divisor of any buffer size */
    uint64_t position = 0;

    while (position < total) {
        size_t length = total - position < sizeof(bytes) ? total - position : sizeof(bytes);

        for (size_t i = 0; i < length; i++)
            bytes[i] = pattern(position + i);
        for (size_t done = 0; done < length;) {
            ssize_t count = write(fd, bytes + done, length - done);

            if (count < 0)
                return errno;
            done += (size_t)count;
        }
        position += length;
    }
    return 0;
}

static int scratch_file(void)
{
    int fd = memfd_create("record", MFD_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static size_t file_size(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    return (size_t)status.st_size;
}

static void assert_file_is_pattern(int fd, size_t total)
{
    assert_int_equal(file_size(fd), total);

    unsigned char *bytes = mmap(NULL, total, PROT_READ, MAP_SHARED, fd, 0);

    assert_ptr_not_equal(bytes, MAP_FAILED);
    assert_true(is_pattern(bytes, total, 0));
    munmap(bytes, total);
}

static void assert_file_is(int fd, const char *expected)
{
    char text[4096] = "";

    assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
    assert_string_equal(text, expected);
}

static void make_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

static struct capture *start(int source_fd, int show_fd, int record_fd)
{
    struct capture_options options = {
        .source_fd = source_fd, .show_fd = show_fd, .record_fd = record_fd, .name = "stdout"};
    struct capture *capture = NULL;

    assert_int_equal(capture_start(&options, &capture, NULL), 0);
    return capture;
}

/* A child that writes the pattern into the pipe and exits with what went wrong. */
static pid_t fork_writer(const int source[2], size_t total)
{
    pid_t writer = fork();

    if (writer == 0) {
        close(source[0]); /* or it would never see a broken pipe */
        (void)signal(SIGPIPE, SIG_DFL);
        _exit(write_pattern(source[1], total));
    }
    assert_true(writer > 0);
    close(source[1]);
    return writer;
}

static int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

static struct launched launch(const char *script, bool pty)
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    struct launch_options options = {.argv = argv, .new_session = true, .pty = pty, .pipe_stdout = true};
    struct launched launched;

    assert_int_equal(launch_start(&options, &launched, NULL), 0);
    return launched;
}

/* Waits until what was in the pipe is delivered, or the stream has ended. */
static void await_flushed(struct capture *capture)
{
    struct pollfd news = {.fd = capture_news_fd(capture), .events = POLLIN};

    assert_true(poll(&news, 1, -1) > 0);
    assert_true(capture_flushed(capture) || capture_has_ended(capture));
}

/* The command has ended: what it wrote is delivered, however slow the screen. */
static void finish(struct capture *capture)
{
    capture_command_ended(capture);
    capture_flush(capture);
    await_flushed(capture);
    capture_free(capture);
}

/* Reads the screen's pipe in a thread; with `pause_us`, a slow terminal. */
struct screen {
    int fd;
    useconds_t pause_us;
    size_t length;
    bool intact;
};

static void *watch_screen(void *argument)
{
    struct screen *screen = argument;
    static unsigned char bytes[40000];
    ssize_t count;

    screen->intact = true;
    while ((count = read(screen->fd, bytes, sizeof(bytes))) > 0) {
        screen->intact = screen->intact && is_pattern(bytes, (size_t)count, screen->length);
        screen->length += (size_t)count;
        if (screen->pause_us)
            usleep(screen->pause_us);
    }
    return NULL;
}

static void pass_through(size_t total, useconds_t pause_us, bool nonblocking)
{
    int source[2], show[2];
    int file = scratch_file();
    pthread_t thread;

    make_pipe(source);
    make_pipe(show);
    if (nonblocking)
        fcntl(show[1], F_SETFL, O_NONBLOCK);

    struct screen screen = {.fd = show[0], .pause_us = pause_us};

    assert_int_equal(pthread_create(&thread, NULL, watch_screen, &screen), 0);

    pid_t writer = fork_writer(source, total);

    struct capture *capture = start(source[0], show[1], file);

    assert_int_equal(wait_for(writer), 0);
    finish(capture);
    close(show[1]);
    pthread_join(thread, NULL);
    close(show[0]);
    assert_int_equal(screen.length, total);
    assert_true(screen.intact);
    assert_file_is_pattern(file, total);
    close(file);
}

static void big_output_is_recorded_and_shown_byte_for_byte(void **state)
{
    (void)state;
    pass_through(64 * MIB, 0, false);
}

static void slow_screen_loses_nothing(void **state)
{
    (void)state;
    pass_through(4 * MIB + 7, 2000, false);
}

/* Another program may have set O_NONBLOCK on the terminal that all share. */
static void nonblocking_screen_loses_nothing(void **state)
{
    (void)state;
    pass_through(4 * MIB + 7, 500, true);
}

static void unwanted_stream_is_drained(void **state)
{
    int source[2];
    (void)state;

    make_pipe(source);

    pid_t writer = fork_writer(source, 2 * MIB);
    struct capture *capture = start(source[0], -1, -1);

    assert_int_equal(wait_for(writer), 0);
    finish(capture);
}

static void end_of_the_stream_is_announced(void **state)
{
    int source[2];
    (void)state;

    make_pipe(source);

    struct capture *capture = start(source[0], -1, -1);
    struct pollfd ended = {.fd = capture_news_fd(capture), .events = POLLIN};

    assert_int_equal(poll(&ended, 1, 20), 0);
    close(source[1]);
    assert_int_equal(poll(&ended, 1, 10000), 1);
    capture_free(capture);
    assert_int_equal(fcntl(source[0], F_GETFD), -1);
}

static void holder_of_the_pipe_does_not_delay_the_end(void **state)
{
    struct launched launched = launch("echo before; sleep 600 & echo $!", false);
    int file = scratch_file();
    char text[64] = "";
    struct capture *capture = start(launched.stdout_fd, -1, file);
    (void)state;

    assert_int_equal(wait_for(launched.pid), 0);

    finish(capture); /* long before the holder lets go */
    assert_true(pread(file, text, sizeof(text) - 1, 0) > 8);
    assert_int_equal(strncmp(text, "before\n", 7), 0);
    assert_int_equal(kill((pid_t)atoi(text + 7), SIGKILL), 0);
    close(file);
}

/* Nobody reads the screen, so that both pipes are full; the writer fills each byte of room again. */
static void holder_that_keeps_writing_does_not_delay_the_end(void **state)
{
    int source[2], show[2], file = scratch_file();
    (void)state;

    make_pipe(source);
    make_pipe(show);

    struct pollfd shown = {.fd = show[0], .events = POLLIN};

    pid_t writer = fork_writer(source, SIZE_MAX);
    struct capture *capture = start(source[0], show[1], file);

    assert_int_equal(poll(&shown, 1, -1), 1);
    capture_stop(capture);
    /* What the screen holds, one read that was under way, what the pipe held, and as much again. */
    assert_in_range(file_size(file), 1, 4 * 65536);
    capture_free(capture);
    assert_int_equal(WTERMSIG(wait_for(writer)), SIGPIPE);
    close(show[0]);
    close(show[1]);
    close(file);
}

/* All that the command wrote before it ended is in the pipe then, and all of it is taken. */
static void full_pipe_is_taken_at_the_end(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        int source[2], file = scratch_file();
        int keep;

        make_pipe(source);
        keep = fcntl(source[1], F_DUPFD_CLOEXEC, 3); /* a holder */
        assert_int_equal(write_pattern(source[1], 65536), 0);

        struct capture *capture = start(source[0], -1, file);

        finish(capture);
        assert_file_is_pattern(file, 65536);
        close(source[1]);
        close(keep);
        close(file);
    }
}

/* stderr goes to a file meanwhile; returns how many lines it got, the first one in `line`. */
static int kept_stderr = -1, stderr_file = -1;

static void divert_stderr(void)
{
    stderr_file = scratch_file();
    kept_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(stderr_file, STDERR_FILENO);
}

static int restore_stderr(char text[4096])
{
    int lines = 0;
    ssize_t length = pread(stderr_file, text, 4095, 0);

    dup2(kept_stderr, STDERR_FILENO);
    close(kept_stderr);
    close(stderr_file);
    assert_true(length >= 0);
    text[length] = '\0';
    for (const char *byte = text; *byte; byte++)
        lines += *byte == '\n';
    return lines;
}

static void full_disk_is_told_once_and_the_rest_is_shown(void **state)
{
    int source[2], show = scratch_file(), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    char text[4096];
    (void)state;

    make_pipe(source);
    divert_stderr();

    pid_t writer = fork_writer(source, MIB);
    struct capture *capture = start(source[0], show, full);

    int status = wait_for(writer);

    finish(capture);
    assert_int_equal(restore_stderr(text), 1);
    assert_int_equal(status, 0);
    assert_non_null(strstr(text, "stdout is not recorded any more: No space left on device"));
    assert_file_is_pattern(show, MIB);
    close(show);
    close(full);
}

static void screen_that_fails_is_reported_once_and_breaks_the_pipe(void **state)
{
    int source[2], file = scratch_file(), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    char text[4096];
    (void)state;

    make_pipe(source);
    divert_stderr();

    pid_t writer = fork_writer(source, SIZE_MAX);
    struct capture *capture = start(source[0], full, file);

    int status = wait_for(writer);

    finish(capture);
    assert_int_equal(restore_stderr(text), 1);
    assert_int_equal(WTERMSIG(status), SIGPIPE);
    assert_non_null(strstr(text, "stdout cannot be shown any more"));
    assert_true(file_size(file) > 0);
    close(file);
    close(full);
}

static void closed_screen_is_the_commands_broken_pipe(void **state)
{
    int source[2], show[2], file = scratch_file();
    (void)state;

    make_pipe(source);
    make_pipe(show);
    close(show[0]);

    pid_t writer = fork_writer(source, SIZE_MAX);
    struct capture *capture = start(source[0], show[1], file);

    assert_int_equal(WTERMSIG(wait_for(writer)), SIGPIPE);
    finish(capture);
    assert_true(file_size(file) > 0);
    close(show[1]);
    close(file);
}

static void stream_is_recorded_when_the_terminal_has_hung_up(void **state)
{
    int source[2], master, slave, file = scratch_file();
    (void)state;

    make_pipe(source);
    assert_int_equal(terminal_open(&master, &slave, NULL), 0);

    struct capture *capture = start(source[0], slave, file);

    close(master);

    pid_t writer = fork_writer(source, MIB);

    assert_int_equal(wait_for(writer), 0);
    finish(capture);
    assert_file_is_pattern(file, MIB);
    close(file);
    close(slave);
}

/* Many times: the signal that ends the write must never be lost. */
static void blocked_screen_is_abandoned_with_the_record_complete(void **state)
{
    const size_t total = 100000; /* more than the screen's pipe holds, less than both pipes do */
    (void)state;

    for (int round = 0; round < 50; round++) {
        int source[2], show[2], file = scratch_file();

        make_pipe(source);
        make_pipe(show);

        pid_t writer = fork_writer(source, total);
        struct capture *capture = start(source[0], show[1], file);

        assert_int_equal(wait_for(writer), 0);
        capture_stop(capture);
        assert_file_is_pattern(file, total);
        capture_free(capture);
        close(show[0]);
        close(show[1]);
        close(file);
    }
}

static void freeing_does_not_wait_for_a_blocked_screen(void **state)
{
    int source[2], show[2];
    (void)state;

    make_pipe(source);
    make_pipe(show);

    pid_t writer = fork_writer(source, SIZE_MAX);
    struct capture *capture = start(source[0], show[1], -1);
    struct pollfd shown = {.fd = show[0], .events = POLLIN};

    assert_int_equal(poll(&shown, 1, -1), 1);
    capture_free(capture);
    assert_int_equal(WTERMSIG(wait_for(writer)), SIGPIPE);
    close(show[0]);
    close(show[1]);
}

static void terminal_output_is_complete_when_the_command_ends_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        struct launched launched = launch("seq 3000; exit 3", true);
        int file = scratch_file();
        int status;
        char expected[16];

        if (round % 2)
            usleep(30000); /* it is full and waiting before anybody reads */

        struct capture *capture = start(launched.stdout_fd, -1, file);

        status = wait_for(launched.pid);
        finish(capture);
        assert_int_equal(WEXITSTATUS(status), 3);
        assert_int_equal(file_size(file), 9 * 3 + 90 * 4 + 900 * 5 + 2001 * 6);
        assert_int_equal(pread(file, expected, 6, (off_t)file_size(file) - 6), 6);
        assert_memory_equal(expected, "3000\r\n", 6);
        close(file);
    }
}

/* Nobody has the terminal open for a while; that is not the end, and no reason to hang up. */
static void command_that_closes_its_terminal_lives_on(void **state)
{
    struct launched launched =
        launch("exec </dev/null >/dev/null 2>&1; sleep 0.3; echo back >/dev/tty; exit 7", true);
    int file = scratch_file();
    struct capture *capture = start(launched.stdout_fd, -1, file);
    int status = wait_for(launched.pid);
    (void)state;

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    finish(capture);
    assert_file_is(file, "back\r\n");
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(big_output_is_recorded_and_shown_byte_for_byte),
        cmocka_unit_test(slow_screen_loses_nothing),
        cmocka_unit_test(nonblocking_screen_loses_nothing),
        cmocka_unit_test(unwanted_stream_is_drained),
        cmocka_unit_test(end_of_the_stream_is_announced),
        cmocka_unit_test(holder_of_the_pipe_does_not_delay_the_end),
        cmocka_unit_test(holder_that_keeps_writing_does_not_delay_the_end),
        cmocka_unit_test(full_pipe_is_taken_at_the_end),
        cmocka_unit_test(full_disk_is_told_once_and_the_rest_is_shown),
        cmocka_unit_test(screen_that_fails_is_reported_once_and_breaks_the_pipe),
        cmocka_unit_test(closed_screen_is_the_commands_broken_pipe),
        cmocka_unit_test(stream_is_recorded_when_the_terminal_has_hung_up),
        cmocka_unit_test(blocked_screen_is_abandoned_with_the_record_complete),
        cmocka_unit_test(freeing_does_not_wait_for_a_blocked_screen),
        cmocka_unit_test(terminal_output_is_complete_when_the_command_ends_at_once),
        cmocka_unit_test(command_that_closes_its_terminal_lives_on),
    };

    launch_signals_save();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
