/* The keyboard: a pseudo-terminal plays the user's; keys are typed at its master. */
#include "launch/keyboard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "launch/launch.h"
#include "launch/signals.h"
#include "launch/terminal.h"

#define TEXT_BYTES  4096
#define PATIENCE_NS (60 * NS_PER_SECOND)

/* The user's terminal; its slave is this program's stdin. */
static int user_master = -1;
static struct keyboard_terminal terminal;

struct setup {
    struct launched launched;
    struct keyboard *keyboard;
    char text[TEXT_BYTES]; /* what the command's terminal showed so far */
    size_t length;
};

static int open_user_terminal(void **state)
{
    int slave;
    (void)state;

    if (terminal_open(&user_master, &slave, NULL) != 0)
        return -1;
    dup2(slave, STDIN_FILENO);
    return close(slave);
}

static void start(struct setup *setup, const char *script)
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    struct launch_options options = {.argv = argv, .pty = true};

    *setup = (struct setup){0};
    assert_int_equal(launch_start(&options, &setup->launched, NULL), 0);
    assert_int_equal(
        keyboard_start(STDIN_FILENO, setup->launched.stdout_fd, &terminal, &setup->keyboard, NULL), 0);
}

static void type(const char *keys)
{
    assert_int_equal(write(user_master, keys, strlen(keys)), strlen(keys));
}

/* Until the command's terminal has shown `wanted`. */
static void expect(struct setup *setup, const char *wanted)
{
    uint64_t start_ns = clock_monotonic_ns();

    while (!strstr(setup->text, wanted)) {
        ssize_t count =
            read(setup->launched.stdout_fd, setup->text + setup->length, TEXT_BYTES - 1 - setup->length);

        if (count > 0)
            setup->length += (size_t)count;
        else
            usleep(1000);
        if (clock_monotonic_ns() - start_ns > PATIENCE_NS)
            fail_msg("'%s' was not shown, but '%s'", wanted, setup->text);
    }
}

static int await_end(struct setup *setup)
{
    int status = -1;

    while (waitpid(setup->launched.pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void finish(struct setup *setup)
{
    keyboard_finish(setup->keyboard);
    close(setup->launched.stdout_fd);
}

static unsigned await_request(struct setup *setup, int timeout_ms)
{
    struct pollfd request = {.fd = keyboard_request_fd(setup->keyboard), .events = POLLIN};

    return poll(&request, 1, timeout_ms) == 1 ? keyboard_take_requests(setup->keyboard) : 0;
}

static bool is_raw(void)
{
    struct termios modes;

    assert_int_equal(tcgetattr(STDIN_FILENO, &modes), 0);
    return !(modes.c_lflag & (ICANON | ISIG | ECHO)) && !(modes.c_oflag & OPOST);
}

static void keys_reach_the_command(void **state)
{
    struct setup setup;
    (void)state;

    start(&setup, "cat");
    type("hello\r");
    expect(&setup, "hello\r\nhello\r\n"); /* echo of the terminal, then cat */
    type("\004");
    assert_int_equal(await_end(&setup), 0);
    finish(&setup);
}

static void terminal_is_raw_only_meanwhile(void **state)
{
    struct setup setup;
    struct termios before, after;
    (void)state;

    assert_int_equal(tcgetattr(STDIN_FILENO, &before), 0);
    start(&setup, "read line");
    assert_true(is_raw());
    keyboard_suspend(setup.keyboard);
    assert_false(is_raw());
    keyboard_resume(setup.keyboard);
    keyboard_resume(setup.keyboard);
    assert_true(is_raw());
    type("\r");
    assert_int_equal(await_end(&setup), 0);
    finish(&setup);
    assert_int_equal(tcgetattr(STDIN_FILENO, &after), 0);
    assert_int_equal(before.c_iflag, after.c_iflag);
    assert_int_equal(before.c_oflag, after.c_oflag);
    assert_int_equal(before.c_lflag, after.c_lflag);
    assert_memory_equal(before.c_cc, after.c_cc, sizeof(before.c_cc));
}

static void nothing_is_read_while_suspended(void **state)
{
    struct setup setup;
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[8];
    (void)state;

    start(&setup, "stty size; read line; stty size; echo got $line");
    expect(&setup, "24 80");
    keyboard_suspend(setup.keyboard);
    usleep(20000);
    type("shell\n");
    assert_int_equal(poll(&keys, 1, 60000), 1);
    usleep(50000);                                               /* nothing shows that nobody will read it */
    assert_int_equal(read(STDIN_FILENO, line, sizeof(line)), 6); /* as the shell would read it */

    assert_int_equal(ioctl(user_master, TIOCSWINSZ, &(struct winsize){.ws_row = 10, .ws_col = 20}), 0);
    keyboard_resume(setup.keyboard);
    type("mine\r");
    expect(&setup, "10 20\r\ngot mine");
    assert_int_equal(await_end(&setup), 0);
    finish(&setup);
    assert_int_equal(ioctl(user_master, TIOCSWINSZ, &(struct winsize){.ws_row = 24, .ws_col = 80}), 0);
}

static const char *const until_interrupted =
    "trap 'echo caught; n=$((n+1)); [ $n -lt 2 ] || exit 9' INT; echo ready; while :; do sleep 0.01; done";

static void ctrl_c_interrupts_and_twice_is_a_request(void **state)
{
    struct setup setup;
    (void)state;

    start(&setup, until_interrupted);
    expect(&setup, "ready");
    type("\003");
    expect(&setup, "caught");
    assert_int_equal(await_request(&setup, 0), 0);
    type("\003\003"); /* at once: a busy machine may take a second between two */
    assert_int_equal(await_request(&setup, 60000), KEYBOARD_INTERRUPTED_TWICE);
    assert_int_equal(WEXITSTATUS(await_end(&setup)), 9);
    finish(&setup);
}

static void two_slow_ctrl_c_are_no_request(void **state)
{
    struct setup setup;
    (void)state;

    start(&setup, until_interrupted);
    expect(&setup, "ready");
    type("\003");
    expect(&setup, "caught");
    usleep(1100000);
    type("\003");
    assert_int_equal(WEXITSTATUS(await_end(&setup)), 9);
    assert_int_equal(await_request(&setup, 0), 0);
    finish(&setup);
}

static void command_that_takes_keys_as_bytes_gets_them_all(void **state)
{
    struct setup setup;
    (void)state;

    start(&setup, "stty raw -echo; echo ready; head -c 4 | od -An -tx1");
    expect(&setup, "ready");
    type("\003\003\032x");
    expect(&setup, "03 03 1a 78");
    assert_int_equal(await_end(&setup), 0);
    assert_int_equal(await_request(&setup, 0), 0);
    finish(&setup);
}

static void ctrl_z_is_a_request_to_suspend_metron(void **state)
{
    struct setup setup;
    (void)state;

    start(&setup, "echo ready; cat");
    expect(&setup, "ready");
    type("a\032b\r");
    assert_int_equal(await_request(&setup, 60000), KEYBOARD_SUSPEND);
    expect(&setup, "ab\r\nab\r\n");
    type("\004");
    assert_int_equal(await_end(&setup), 0);
    finish(&setup);
}

/* A shell inside, with job control: its job is stopped, not metron. */
static void ctrl_z_is_left_to_a_shell_inside(void **state)
{
    struct setup setup;
    (void)state;

    start(&setup, "set -m; sh -c 'echo ready; exec cat'; echo stopped $?; kill -9 %1; wait");
    expect(&setup, "ready");
    type("\032");
    expect(&setup, "stopped 148"); /* 128 + SIGTSTP */
    assert_int_equal(await_request(&setup, 0), 0);
    (void)await_end(&setup);
    finish(&setup);
}

/* Types `total` bytes from a process of its own, since a full terminal blocks. */
static pid_t fork_typist(size_t total)
{
    pid_t typist = fork();

    if (typist == 0) {
        static const char keys[1000] = {[0 ... 999] = 'x'};

        fcntl(user_master, F_SETFL, 0);
        while (total > 0) {
            ssize_t count = write(user_master, keys, total < sizeof(keys) ? total : sizeof(keys));

            if (count <= 0)
                _exit(1);
            total -= (size_t)count;
        }
        _exit(0);
    }
    return typist;
}

static void keys_wait_for_a_command_that_reads_late(void **state)
{
    struct setup setup;
    int status;
    (void)state;

    start(&setup, "stty raw -echo; echo ready; sleep 0.2; head -c 300000 | wc -c");
    expect(&setup, "ready");

    pid_t typist = fork_typist(300000);

    expect(&setup, "300000");
    assert_int_equal(waitpid(typist, &status, 0), typist);
    assert_int_equal(status, 0);
    assert_int_equal(await_end(&setup), 0);
    finish(&setup);
}

static void command_that_never_reads_does_not_hang_the_end(void **state)
{
    struct setup setup;
    (void)state;

    start(&setup, "stty raw -echo; echo ready; exec sleep 600");
    expect(&setup, "ready");

    pid_t typist = fork_typist(1000000);

    usleep(100000);                  /* nothing shows that all pipes on the way are full */
    keyboard_finish(setup.keyboard); /* long before the command ends */
    kill(typist, SIGKILL);
    kill(setup.launched.pid, SIGKILL);
    waitpid(typist, NULL, 0);
    (void)await_end(&setup);
    close(setup.launched.stdout_fd);
    tcflush(STDIN_FILENO, TCIFLUSH);
}

static void exit_restores_the_terminal(void **state)
{
    int ends[2], gate[2];
    char byte;
    (void)state;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(gate), 0);
    (void)fflush(NULL);

    pid_t child = fork();

    if (child == 0) {
        struct keyboard *keyboard;
        int master, slave;

        if (terminal_open(&master, &slave, NULL) != 0 ||
            keyboard_start(STDIN_FILENO, master, &terminal, &keyboard, NULL) != 0 ||
            write(ends[1], "", 1) != 1)
            _exit(1);
        exit(read(gate[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_true(is_raw());
    assert_int_equal(write(gate[1], "", 1), 1);
    waitpid(child, NULL, 0);
    assert_false(is_raw());
    close(ends[0]);
    close(ends[1]);
    close(gate[0]);
    close(gate[1]);
}

/* As after Ctrl-Z and `bg`: the terminal belongs to the shell until `fg`. */
static int resume_in_background(void)
{
    struct keyboard *keyboard;
    struct termios modes;
    int master, slave;
    pid_t other = fork();

    if (other == 0) {
        setpgid(0, 0);
        pause();
        _exit(0);
    }
    setpgid(other, other);
    if (terminal_open(&master, &slave, NULL) != 0 ||
        keyboard_start(STDIN_FILENO, master, &terminal, &keyboard, NULL) != 0)
        return 10;
    keyboard_suspend(keyboard);
    (void)signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, other);
    keyboard_resume(keyboard);
    if (tcgetattr(STDIN_FILENO, &modes) != 0 || !(modes.c_lflag & ICANON))
        return 11;
    tcsetpgrp(STDIN_FILENO, getpgrp());
    /* A shell's `fg` of a running job sends no signal: it has to be noticed. */
    for (int tries = 0; tries < 60000 && (modes.c_lflag & ICANON); tries++) {
        usleep(1000);
        if (tcgetattr(STDIN_FILENO, &modes) != 0)
            return 12;
    }
    if (modes.c_lflag & ICANON)
        return 12;
    keyboard_finish(keyboard);
    if (tcgetattr(STDIN_FILENO, &modes) != 0 || !(modes.c_lflag & ICANON))
        return 13;
    kill(other, SIGKILL);
    return 0;
}

static void background_leaves_the_terminal_to_the_shell(void **state)
{
    int master, slave, status;
    (void)state;

    assert_int_equal(terminal_open(&master, &slave, NULL), 0);

    pid_t helper = fork();

    if (helper == 0) {
        if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) != 0 || dup2(slave, STDIN_FILENO) < 0)
            _exit(9);
        _exit(resume_in_background());
    }
    close(slave);
    assert_int_equal(waitpid(helper, &status, 0), helper);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_reach_the_command),
        cmocka_unit_test(terminal_is_raw_only_meanwhile),
        cmocka_unit_test(nothing_is_read_while_suspended),
        cmocka_unit_test(ctrl_c_interrupts_and_twice_is_a_request),
        cmocka_unit_test(two_slow_ctrl_c_are_no_request),
        cmocka_unit_test(command_that_takes_keys_as_bytes_gets_them_all),
        cmocka_unit_test(ctrl_z_is_a_request_to_suspend_metron),
        cmocka_unit_test(ctrl_z_is_left_to_a_shell_inside),
        cmocka_unit_test(keys_wait_for_a_command_that_reads_late),
        cmocka_unit_test(command_that_never_reads_does_not_hang_the_end),
        cmocka_unit_test(exit_restores_the_terminal),
        cmocka_unit_test(background_leaves_the_terminal_to_the_shell),
    };

    launch_signals_save();
    return cmocka_run_group_tests(tests, open_user_terminal, NULL);
}
