/* clang-format off
 * usage: witness FOLDER STEP...
 *
 * Takes one step after the other. Each has an effect that a test can compare, with and without metron around
 * it.
 *
 *   state NAME    file NAME: limits, ignored and blocked signals, open descriptors, terminals and the like
 *   say TEXT      one line on stdout, then one on stderr
 *   lines N       N lines of 1,024 bytes on stdout
 *   write NAME    a short file
 *   grow NAME     a file as large as RLIMIT_FSIZE allows, 128 KiB at most
 *   child         a child that says "child" and exits with 3; file `child`: how it ended, or why it did not start
 *   handle N      from now on, every signal N is a line of the file `signals`; N = 0: every signal
 *   family N      three children that wait: one that ignores signal N, one that does not, and one in a session
 *                 of its own that handles it (file `away`). File `family`: their pids
 *   reap          waits for the family; file `ended`: how each ended
 *   leave CODE    exits with CODE; a child without SIGHUP takes the steps that are left
 *   burn SECONDS  uses CPU time, under a new soft RLIMIT_CPU of 0: the kernel sends SIGXCPU
 *   pause SECONDS
 *   raise N       sends itself signal N
 *   ready         file `ready`: its pid
 *   wait          until there is a file `go`; the family waits for the same
 *   exit CODE
 *
 * All files are in FOLDER. An error ends it with exit code 99 and a message.
 * clang-format on */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "workload.h"

enum { PATH_SIZE = 4096, TEXT_SIZE = 4096, LINE_SIZE = 1024, GROW_SIZE = 128 * 1024, WAIT_SECONDS = 600 };

static const char *const members[] = {"ignoring", "plain", "away"};
enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

static const char *folder;
static int signals_fd = -1; /* where handled signals are noted */
static pid_t family[MEMBERS];

static void path_of(char path[PATH_SIZE], const char *name)
{
    if (snprintf(path, PATH_SIZE, "%s/%s", folder, name) >= PATH_SIZE)
        workload_usage("witness FOLDER STEP...");
}

static void write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno != EINTR)
            workload_fail("write");
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
}

static int open_file(const char *name)
{
    char path[PATH_SIZE];

    path_of(path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        workload_fail(path);
    return fd;
}

static void write_file(const char *name, const char *text)
{
    int fd = open_file(name);

    write_all(fd, text, strlen(text));
    if (close(fd) != 0)
        workload_fail(name);
}

/* ---- what it finds ---- */

struct text {
    char data[TEXT_SIZE];
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(text->data + text->size, TEXT_SIZE - text->size, format, arguments);
    va_end(arguments);
    if (size < 0 || (text->size += (size_t)size) >= TEXT_SIZE)
        workload_usage("witness: the state does not fit");
}

static void add_limits(struct text *text)
{
    struct rlimit limit;

    for (unsigned resource = 0; resource < RLIM_NLIMITS; resource++)
        if (getrlimit((__rlimit_resource_t)resource, &limit) == 0)
            add(text, "limit %u: %lld %lld\n", resource, (long long)limit.rlim_cur,
                (long long)limit.rlim_max);
}

static void add_signals(struct text *text)
{
    struct sigaction action;
    sigset_t blocked;

    (void)sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            add(text, "ignored: %d\n", number);
        if (sigismember(&blocked, number) == 1)
            add(text, "blocked: %d\n", number);
    }
}

static void write_state(const char *name)
{
    struct text text = {.size = 0};
    int parent_death_signal = 0;
    mode_t mask = umask(0);

    (void)umask(mask);
    (void)prctl(PR_GET_PDEATHSIG, &parent_death_signal);
    add_limits(&text);
    add_signals(&text);
    for (int fd = 0; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            add(&text, "open: %d%s\n", fd, isatty(fd) ? ", a terminal" : "");
    add(&text, "umask %o, nice %d, no new privileges %d, parent death signal %d\n", mask,
        getpriority(PRIO_PROCESS, 0), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), parent_death_signal);
    add(&text, "children: %s\n", waitpid(-1, NULL, WNOHANG) < 0 ? "none" : "some");
    write_file(name, text.data);
}

/* ---- what it writes ---- */

static void say(const char *text)
{
    char line[LINE_SIZE];

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        int size = snprintf(line, sizeof(line), "%s: %s\n", fd == STDOUT_FILENO ? "out" : "err", text);
        write_all(fd, line, (size_t)size);
    }
}

static void write_lines(long count)
{
    char line[LINE_SIZE + 1];

    for (long i = 0; i < count; i++) {
        (void)snprintf(line, sizeof(line), "%0*ld\n", LINE_SIZE - 1, i);
        write_all(STDOUT_FILENO, line, LINE_SIZE);
    }
}

static void grow(const char *name)
{
    static const char block[LINE_SIZE];
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    struct sigaction before;
    ssize_t written = 1;
    int fd = open_file(name);

    (void)sigaction(SIGXFSZ, &ignored, &before);
    for (long size = 0; size < GROW_SIZE && written > 0; size += (long)written)
        written = write(fd, block, sizeof(block));
    if (written < 0 && errno != EFBIG)
        workload_fail(name);
    (void)sigaction(SIGXFSZ, &before, NULL);
    (void)close(fd);
}

/* ---- signals and children ---- */

static int shown(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void on_signal(int number)
{
    int error = errno;
    char line[] = {(char)('0' + number / 10), (char)('0' + number % 10), '\n'};

    if (write(signals_fd, line, sizeof(line)) != sizeof(line))
        _exit(99);
    errno = error;
}

static void handle(int wanted, const char *name)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    if (signals_fd < 0)
        signals_fd = open_file(name);
    for (int number = 1; number < NSIG; number++)
        if (number == wanted || (wanted == 0 && number != SIGKILL && number != SIGSTOP))
            (void)sigaction(number, &action, NULL); /* fails for two that the C library reserves */
}

static void wait_for_go(void)
{
    char path[PATH_SIZE];
    double end = clock_seconds(CLOCK_MONOTONIC) + WAIT_SECONDS;

    path_of(path, "go");
    while (access(path, F_OK) != 0) {
        if (clock_seconds(CLOCK_MONOTONIC) > end)
            _exit(77);
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* shorter where a signal comes */
    }
}

static void start_child(void)
{
    char text[64];
    pid_t pid = fork();

    if (pid == 0) {
        say("child");
        _exit(3);
    }
    if (pid < 0)
        (void)snprintf(text, sizeof(text), "not started: %s\n", strerror(errno));
    else
        (void)snprintf(text, sizeof(text), "%d\n", shown(wait_checked(pid)));
    write_file("child", text);
}

static _Noreturn void be_member(int member, int number)
{
    if (strcmp(members[member], "away") == 0) {
        signals_fd = -1;
        if (setsid() < 0)
            workload_fail("setsid");
        handle(number, members[member]);
    } else {
        struct sigaction action = {.sa_handler = strcmp(members[member], "plain") == 0 ? SIG_DFL : SIG_IGN};
        (void)sigaction(number, &action, NULL);
    }
    char name[32];
    (void)snprintf(name, sizeof(name), "is-%s", members[member]);
    write_file(name, "");
    wait_for_go();
    _exit(0);
}

static void start_family(int number)
{
    struct text text = {.size = 0};

    for (int member = 0; member < MEMBERS; member++) {
        family[member] = fork_checked();
        if (family[member] == 0)
            be_member(member, number);
        add(&text, "%s %d\n", members[member], (int)family[member]);
    }
    for (int member = 0; member < MEMBERS; member++) {
        char name[32], path[PATH_SIZE];
        (void)snprintf(name, sizeof(name), "is-%s", members[member]);
        path_of(path, name);
        while (access(path, F_OK) != 0)
            sleep_seconds(0.001);
    }
    write_file("family", text.data);
}

static void reap_family(void)
{
    struct text text = {.size = 0};

    for (int member = 0; member < MEMBERS; member++)
        add(&text, "%s %d\n", members[member], shown(wait_checked(family[member])));
    write_file("ended", text.data);
}

static void leave(int code)
{
    (void)signal(SIGHUP, SIG_IGN); /* where it leads a session, its end hangs up */
    if (fork_checked() > 0)
        _exit(code);
}

/* ---- the steps ---- */

static void step_lines(const char *argument)
{
    write_lines(argument_integer(argument));
}

static void step_write(const char *argument)
{
    write_file(argument, "written by the witness\n");
}

static void step_child(const char *argument)
{
    (void)argument;
    start_child();
}

static void step_handle(const char *argument)
{
    handle((int)argument_integer(argument), "signals");
}

static void step_family(const char *argument)
{
    start_family((int)argument_integer(argument));
}

static void step_reap(const char *argument)
{
    (void)argument;
    reap_family();
}

static void step_leave(const char *argument)
{
    leave((int)argument_integer(argument));
}

static void step_burn(const char *argument)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CPU, &limit) != 0)
        workload_fail("getrlimit");
    limit.rlim_cur = 0;
    if (setrlimit(RLIMIT_CPU, &limit) != 0)
        workload_fail("setrlimit");
    burn_process(argument_number(argument));
}

static void step_pause(const char *argument)
{
    sleep_seconds(argument_number(argument));
}

static void step_raise(const char *argument)
{
    (void)raise((int)argument_integer(argument));
}

static void step_ready(const char *argument)
{
    char text[32];

    (void)argument;
    (void)snprintf(text, sizeof(text), "%d\n", (int)getpid());
    write_file("ready", text);
}

static void step_wait(const char *argument)
{
    (void)argument;
    wait_for_go();
}

static void step_exit(const char *argument)
{
    exit((int)argument_integer(argument));
}

static const struct step {
    const char *name;
    bool has_argument;
    void (*take)(const char *argument);
} steps[] = {
    {"state", true, write_state},  {"say", true, say},
    {"lines", true, step_lines},   {"write", true, step_write},
    {"grow", true, grow},          {"child", false, step_child},
    {"handle", true, step_handle}, {"family", true, step_family},
    {"reap", false, step_reap},    {"leave", true, step_leave},
    {"burn", true, step_burn},     {"pause", true, step_pause},
    {"raise", true, step_raise},   {"ready", false, step_ready},
    {"wait", false, step_wait},    {"exit", true, step_exit},
};

static const struct step *find_step(const char *name)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (strcmp(name, steps[i].name) == 0)
            return &steps[i];
    workload_usage("witness FOLDER STEP...");
}

int main(int argc, char **argv)
{
    if (argc < 3)
        workload_usage("witness FOLDER STEP...");
    folder = argv[1];
    for (char **word = argv + 2; *word; word++) {
        const struct step *step = find_step(*word);
        if (step->has_argument && !*++word)
            workload_usage("witness FOLDER STEP...");
        step->take(*word);
    }
    return 0;
}
