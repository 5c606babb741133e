/* Signals on their way to the command: the decision table, and what real processes get. */
#include "launch/relay.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/launch.h"

static void what_a_process_sent_is_for_the_command(void **state)
{
    sigset_t taken;
    (void)state;

    relay_signals(&taken);
    for (int number = 1; number < NSIG; number++) {
        bool others = number == SIGCHLD || number == SIGTERM || number == SIGHUP || number == SIGTSTP;

        if (sigismember(&taken, number) != 1 || others)
            continue;
        assert_int_equal(relay_decide(true, true, number), RELAY_PASS_ON);
        assert_int_equal(relay_decide(false, true, number), RELAY_PASS_ON);
    }
    assert_true(relay_was_sent(SI_USER, getpid() + 1) && relay_was_sent(SI_QUEUE, 1));
    assert_true(relay_was_sent(SI_TKILL, 1));
    assert_false(relay_was_sent(SI_KERNEL, 0) || relay_was_sent(SI_TIMER, 0));
    assert_false(relay_was_sent(SI_USER, getpid())); /* our own broken pipe */
}

static void terminal_s_signals_reach_a_command_of_its_own_session(void **state)
{
    static const int typed[] = {SIGINT, SIGQUIT, SIGWINCH};
    (void)state;

    for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++) {
        assert_int_equal(relay_decide(true, false, typed[i]), RELAY_PASS_ON);
        assert_int_equal(relay_decide(false, false, typed[i]), RELAY_NOTHING); /* it has it already */
    }
    assert_int_equal(relay_decide(true, false, SIGTSTP), RELAY_SUSPEND);
    assert_int_equal(relay_decide(false, false, SIGTSTP), RELAY_SUSPEND);
}

static void what_the_kernel_means_for_us_stays_ours(void **state)
{
    static const int ours[] = {SIGXCPU, SIGXFSZ, SIGPIPE, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGUSR1};
    (void)state;

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        assert_int_equal(relay_decide(true, false, ours[i]), RELAY_NOTHING);
    assert_int_equal(relay_decide(true, false, SIGALRM), RELAY_PASS_ON); /* set for the program to come */
}

static void ending_the_tree_is_not_relaying(void **state)
{
    (void)state;
    for (int sent = 0; sent <= 1; sent++) {
        assert_int_equal(relay_decide(true, sent, SIGTERM), RELAY_NOTHING);
        assert_int_equal(relay_decide(true, sent, SIGHUP), RELAY_NOTHING);
        assert_int_equal(relay_decide(false, sent, SIGCHLD), RELAY_NOTHING);
    }
}

static void signals_of_faults_and_stops_are_not_taken(void **state)
{
    static const int left[] = {SIGSEGV, SIGBUS, SIGABRT, SIGKILL, SIGSTOP, SIGTTIN, SIGTTOU};
    sigset_t taken;
    (void)state;

    relay_signals(&taken);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        assert_int_equal(sigismember(&taken, left[i]), 0);
    assert_int_equal(sigismember(&taken, SIGXCPU), 1);
    assert_int_equal(sigismember(&taken, SIGRTMAX), 1);
}

static pid_t start(const char *script, bool new_session, int *stdout_fd)
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    struct launch_options options = {
        .argv = argv, .new_session = new_session, .pipe_stdout = stdout_fd != NULL};
    struct launched launched;

    if (launch_start(&options, &launched, NULL) != 0)
        return -1;
    if (stdout_fd)
        *stdout_fd = launched.stdout_fd;
    return launched.pid;
}

/* The letter of /proc/PID/stat. */
static char process_state(pid_t pid)
{
    char path[64], text[256] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");

    if (!file)
        return '-';
    if (!fgets(text, sizeof(text), file))
        text[0] = '\0';
    (void)fclose(file);

    const char *after = strrchr(text, ')');

    return after ? after[2] : '-';
}

static bool reaches_state(pid_t pid, char wanted)
{
    for (int tries = 0; tries < 5000; tries++) {
        if (process_state(pid) == wanted)
            return true;
        usleep(1000);
    }
    return false;
}

static void whole_group_of_the_command_is_reached(void **state)
{
    char text[64] = "";
    int fd = -1, status;
    pid_t pid;
    (void)state;

    /* Both the shell and its child must die for the pipe to end. The child says that it is there: a shell
     * that is just about to fork blocks the signal and may start a child that never gets it. */
    pid = start("sh -c 'echo ready; exec sleep 60'; echo late", true, &fd);
    assert_int_equal(read(fd, text, sizeof(text)), 6);
    assert_int_equal(relay_signal(pid, true, true, SIGINT), 0);
    assert_int_equal(read(fd, text, sizeof(text)), 0);
    close(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGINT);
    assert_int_equal(relay_signal(pid, true, true, SIGINT), -ESRCH);
}

static void only_the_command_is_reached_in_our_session(void **state)
{
    int fd = -1, status;
    char text[64];
    pid_t pid = start("trap 'exit 7' USR1; echo ready; while :; do sleep 0.01; done", false, &fd);
    (void)state;

    assert_int_equal(read(fd, text, sizeof(text)), 6);
    assert_int_equal(relay_signal(pid, false, true, SIGUSR1), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    close(fd);
}

static void on_suspend(int number)
{
    (void)number;
}

/* Plays metron in a child process: starts a command, tells its pid, and is asked to suspend. */
static void play_metron(int tell_fd, bool orphaned)
{
    struct sigaction action = {.sa_handler = on_suspend}, after;
    sigset_t continued, pending;

    sigemptyset(&continued);
    sigaddset(&continued, SIGCONT);
    sigprocmask(SIG_BLOCK, &continued, NULL);
    if (orphaned)
        setsid();
    else
        setpgid(0, 0);
    sigaction(SIGTSTP, &action, NULL);

    pid_t command = start("exec sleep 60", true, NULL);

    if (command < 0 || write(tell_fd, &command, sizeof(command)) != sizeof(command))
        _exit(10);

    int code = relay_signal(command, true, false, SIGTSTP);

    sigaction(SIGTSTP, NULL, &after);
    if (code != 0 || after.sa_handler != on_suspend)
        _exit(11);
    if (!reaches_state(command, 'S'))
        _exit(12);
    sigpending(&pending);
    if (sigismember(&pending, SIGCONT)) /* it would be relayed: a second one for the command */
        _exit(13);
    kill(command, SIGKILL);
    _exit(0);
}

static pid_t fork_metron(bool orphaned, pid_t *command)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);

    pid_t metron = fork();

    if (metron == 0)
        play_metron(ends[1], orphaned);
    assert_int_equal(read(ends[0], command, sizeof(*command)), sizeof(*command));
    close(ends[0]);
    close(ends[1]);
    return metron;
}

static void suspended_metron_and_command_stop_and_go_on_together(void **state)
{
    pid_t command;
    pid_t metron = fork_metron(false, &command);
    int status;
    (void)state;

    assert_int_equal(waitpid(metron, &status, WUNTRACED), metron);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(WSTOPSIG(status), SIGTSTP);
    assert_true(reaches_state(command, 'T'));
    kill(metron, SIGCONT);
    assert_int_equal(waitpid(metron, &status, 0), metron);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Without a shell above that could continue it, neither may stay stopped. */
static void orphaned_metron_does_not_stop_for_ever(void **state)
{
    pid_t command;
    pid_t metron = fork_metron(true, &command);
    int status;
    (void)state;

    assert_int_equal(waitpid(metron, &status, WUNTRACED), metron);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_process_sent_is_for_the_command),
        cmocka_unit_test(terminal_s_signals_reach_a_command_of_its_own_session),
        cmocka_unit_test(what_the_kernel_means_for_us_stays_ours),
        cmocka_unit_test(signals_of_faults_and_stops_are_not_taken),
        cmocka_unit_test(ending_the_tree_is_not_relaying),
        cmocka_unit_test(whole_group_of_the_command_is_reached),
        cmocka_unit_test(only_the_command_is_reached_in_our_session),
        cmocka_unit_test(suspended_metron_and_command_stop_and_go_on_together),
        cmocka_unit_test(orphaned_metron_does_not_stop_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
