/*
 * usage: signals [-x SIGNAL]... [-i SIGNAL]... [-d SIGNAL]... FILE SECONDS [EXIT_CODE]
 *
 * Appends the name of every signal it gets (INT, TERM, HUP, QUIT, CONT, TSTP, WINCH, USR1) as a line to FILE,
 * after "ready". -x: exits with EXIT_CODE (default 0) upon SIGNAL; -i: leaves SIGNAL ignored; -d: leaves
 * SIGNAL at its default action. WINCH is followed by the size of the terminal on stdout ("WINCH 40x100").
 * After SECONDS exits with 77.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include "workload.h"

static const struct {
    const char *name;
    int number;
} known[] = {{"INT", SIGINT},   {"TERM", SIGTERM}, {"HUP", SIGHUP},     {"QUIT", SIGQUIT},
             {"CONT", SIGCONT}, {"TSTP", SIGTSTP}, {"WINCH", SIGWINCH}, {"USR1", SIGUSR1}};
#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

static const char *usage = "signals [-x SIGNAL]... [-i SIGNAL]... [-d SIGNAL]... FILE SECONDS [EXIT_CODE]";

static int signal_number(const char *name)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].number;
    workload_usage(usage);
}

static void note(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        workload_fail("write");
}

static void note_signal(int fd, int number)
{
    struct winsize size;
    char line[64];

    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (known[i].number != number)
            continue;
        if (number == SIGWINCH && ioctl(1, TIOCGWINSZ, &size) == 0)
            (void)snprintf(line, sizeof(line), "WINCH %ux%u\n", size.ws_row, size.ws_col);
        else
            (void)snprintf(line, sizeof(line), "%s\n", known[i].name);
        note(fd, line);
    }
}

int main(int argc, char **argv)
{
    sigset_t noted, leaving;
    int option;

    (void)sigemptyset(&noted);
    (void)sigemptyset(&leaving);
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        (void)sigaddset(&noted, known[i].number);
    while ((option = getopt(argc, argv, "x:i:d:")) != -1) {
        if (option == 'x') {
            (void)sigaddset(&leaving, signal_number(optarg));
        } else if (option == 'i' || option == 'd') {
            (void)sigdelset(&noted, signal_number(optarg));
            (void)signal(signal_number(optarg), option == 'i' ? SIG_IGN : SIG_DFL);
        } else {
            workload_usage(usage);
        }
    }
    if (argc - optind < 2)
        workload_usage(usage);
    int file = open(argv[optind], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)sigprocmask(SIG_SETMASK, &noted, NULL);
    struct pollfd waiting = {.fd = signalfd(-1, &noted, SFD_CLOEXEC), .events = POLLIN};
    if (file < 0 || waiting.fd < 0)
        workload_fail(argv[optind]);
    note(file, "ready\n");
    double end = clock_seconds(CLOCK_MONOTONIC) + argument_number(argv[optind + 1]);
    for (double now; (now = clock_seconds(CLOCK_MONOTONIC)) < end;) {
        struct signalfd_siginfo info;
        if (poll(&waiting, 1, (int)((end - now) * 1e3) + 1) <= 0)
            continue;
        if (read(waiting.fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
            workload_fail("read");
        note_signal(file, (int)info.ssi_signo);
        if (sigismember(&leaving, (int)info.ssi_signo))
            return argc - optind > 2 ? (int)argument_integer(argv[optind + 2]) : 0;
    }
    return 77;
}
