/* What a command finds as its stdin, stdout and stderr: pipes, a pty, the terminal of a background job. */
#include "launch/launch.h"

#include "launch_fixture.h"

#include <signal.h>
#include <sys/ioctl.h>

#include "launch/descriptor.h"
#include "launch/signals.h"
#include "launch/terminal.h"

/* In a process with some of 0, 1, 2 closed: both pipes work, and the command finds the same ones closed. */
static int start_with_closed(unsigned closed, bool reserve)
{
    char *argv[] = {"sh", "-c", "[ -e /proc/$$/fd/0 ] && echo stdin; echo output; echo mistake >&2", NULL};
    struct launch_options options = {.argv = argv, .pipe_stdout = true, .pipe_stderr = true};
    struct launched launched;
    char out[TEXT_BYTES], err[TEXT_BYTES];

    for (int fd = 0; fd <= 2; fd++) {
        if (closed & (1U << fd))
            close(fd);
    }
    if (reserve)
        descriptor_reserve_stdio();
    if (launch_start(&options, &launched, NULL) != 0)
        return 10;
    if (launched.stdout_fd <= 2 || launched.stderr_fd <= 2)
        return 11;
    read_end_to(launched.stdout_fd, out);
    read_end_to(launched.stderr_fd, err);
    if (strcmp(err, "mistake\n") != 0)
        return 12;
    if (strcmp(out, closed & 1 ? "output\n" : "stdin\noutput\n") != 0)
        return 13;
    if (reserve && (fcntl(0, F_GETFD) < 0 || fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0))
        return 14;
    return WEXITSTATUS(wait_for(launched.pid));
}

static void closed_stdio_is_not_mixed_up_with_pipes(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 16; closed++) {
        pid_t helper = fork();

        if (helper == 0)
            _exit(start_with_closed(closed & 7, closed & 8));
        assert_int_equal(WEXITSTATUS(wait_for(helper)), 0);
    }
}

/* A child of the test that is a session leader on a terminal of its own, as a shell's is: there `act` is
 * called with the terminal as stdin, stdout and stderr. Returns its exit code. */
static int on_a_terminal(int (*act)(void))
{
    int master, slave;

    assert_int_equal(terminal_open(&master, &slave, NULL), 0);
    assert_int_equal(ioctl(master, TIOCSWINSZ, &(struct winsize){.ws_row = 33, .ws_col = 99}), 0);

    pid_t helper = fork();

    if (helper == 0) {
        if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) != 0)
            _exit(100);
        for (int fd = 0; fd <= 2; fd++)
            dup2(slave, fd);
        close(master);
        _exit(act());
    }
    close(slave);

    int status = wait_for(helper);

    close(master);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int pty_in_the_foreground(void)
{
    char *argv[] = {"sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size && tty >/dev/tty", NULL};
    struct launch_options options = {.argv = argv, .pty = true};
    struct launched launched;
    char text[TEXT_BYTES];

    if (launch_start(&options, &launched, NULL) != 0)
        return 10;
    if (launched.stdin_withheld || launched.stderr_fd >= 0)
        return 11;
    read_end_to(launched.stdout_fd, text); /* ends with EIO */
    if (strncmp(text, "33 99\r\n/dev/pts/", 16) != 0)
        return 12;
    return WEXITSTATUS(wait_for(launched.pid));
}

static void pty_is_a_terminal_of_the_users_size(void **state)
{
    (void)state;
    assert_int_equal(on_a_terminal(pty_in_the_foreground), 0);
}

static void pty_leaves_other_stdin_alone(void **state)
{
    char *argv[] = {"sh", "-c", "cat; test -t 0 || echo inherited; stty size <&1", NULL};
    struct launch_options options = {.argv = argv, .pty = true};
    struct launched launched;
    char text[TEXT_BYTES];
    int ends[2];
    int kept = dup(STDIN_FILENO);
    (void)state;

    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(write(ends[1], "piped\n", 6), 6);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    assert_int_equal(launch_start(&options, &launched, NULL), 0);
    close(ends[1]);
    if (kept >= 0)
        dup2(kept, STDIN_FILENO);
    close(kept);
    read_end_to(launched.stdout_fd, text);
    assert_non_null(strstr(text, "piped\r\ninherited\r\n"));
    assert_int_equal(wait_for(launched.pid), 0);
    close(launched.stdout_fd);
}

/* Gives the terminal to another group first: then this process is a background job. */
static int move_to_background(void)
{
    pid_t other = fork();

    if (other == 0) {
        setpgid(0, 0);
        pause();
        _exit(0);
    }
    setpgid(other, other);
    (void)signal(SIGTTOU, SIG_IGN);
    return tcsetpgrp(STDIN_FILENO, other) == 0 && terminal_in_background(STDIN_FILENO) ? other : -1;
}

static int start_in_background(void)
{
    char *argv[] = {"cat", NULL};
    struct launch_options options = {.argv = argv, .new_session = true, .pipe_stdout = true};
    struct launched launched;
    char text[TEXT_BYTES];
    pid_t other = move_to_background();

    if (other < 0)
        return 10;
    for (int pty = 0; pty <= 1; pty++) {
        options.pty = pty;
        if (launch_start(&options, &launched, NULL) != 0)
            return 11;
        if (!launched.stdin_withheld)
            return 12;
        read_end_to(launched.stdout_fd, text);
        if (text[0] != '\0' || wait_for(launched.pid) != 0)
            return 13;
        close(launched.stdout_fd);
    }
    /* In our own session the kernel takes care: no need to withhold anything. */
    argv[0] = "true";
    options = (struct launch_options){.argv = argv};
    if (launch_start(&options, &launched, NULL) != 0 || launched.stdin_withheld ||
        wait_for(launched.pid) != 0)
        return 14;
    kill(other, SIGKILL);
    return 0;
}

static void background_job_does_not_take_the_shells_input(void **state)
{
    (void)state;
    assert_int_equal(on_a_terminal(start_in_background), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_stdio_is_not_mixed_up_with_pipes),
        cmocka_unit_test(pty_is_a_terminal_of_the_users_size),
        cmocka_unit_test(pty_leaves_other_stdin_alone),
        cmocka_unit_test(background_job_does_not_take_the_shells_input),
    };

    launch_signals_save();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
