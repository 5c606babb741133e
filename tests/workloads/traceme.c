/*
 * usage: traceme [-n] raise|trap|wait|threads
 *        traceme [-n] exec COMMAND [ARGUMENT...]
 *
 * Calls ptrace(PTRACE_TRACEME), as a program does to see whether a debugger is there (-n: does not), then
 *   raise    sends itself SIGUSR1, which it handles,
 *   trap     sends itself SIGTRAP, which ends it,
 *   wait     prints its pid and waits for SIGUSR1, which it handles,
 *   threads  instead of the main thread, has one thread call it and send itself SIGUSR1, and another one call
 *            it and end, and another one call it and wait for the end of the process,
 *   exec     becomes COMMAND.
 * Prints "handled" when SIGUSR1 was handled. Exits with 23.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "workload.h"

static int is_traced = 1;
static volatile sig_atomic_t is_handled;

static void trace_me(void)
{
    if (is_traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        workload_fail("ptrace");
}

static void on_signal(int number)
{
    (void)number;
    is_handled = 1;
}

static void print_handled(void)
{
    if (is_handled)
        (void)puts("handled");
}

static void *raise_in_thread(void *argument)
{
    trace_me();
    (void)raise(SIGUSR1);
    return argument;
}

static void *end_in_thread(void *argument)
{
    trace_me();
    return argument;
}

static void *stay_in_thread(void *argument)
{
    trace_me();
    (void)pthread_barrier_wait(argument);
    for (;;)
        (void)pause();
    return NULL;
}

static void begin_threads(void)
{
    pthread_t raising, ending, staying;
    static pthread_barrier_t stays; /* one of them may still be in it when this function returns */

    if (pthread_barrier_init(&stays, NULL, 2) != 0 ||
        pthread_create(&staying, NULL, stay_in_thread, &stays) != 0 ||
        pthread_create(&raising, NULL, raise_in_thread, NULL) != 0 ||
        pthread_create(&ending, NULL, end_in_thread, NULL) != 0)
        workload_fail("pthread_create");
    (void)pthread_barrier_wait(&stays);
    if (pthread_join(raising, NULL) != 0 || pthread_join(ending, NULL) != 0)
        workload_fail("pthread_join");
}

static void await_signal(void)
{
    sigset_t usr1, none;

    (void)sigemptyset(&none);
    (void)sigemptyset(&usr1);
    (void)sigaddset(&usr1, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &usr1, NULL);
    (void)printf("%d\n", (int)getpid());
    (void)fflush(stdout);
    while (!is_handled)
        (void)sigsuspend(&none);
}

int main(int argc, char **argv)
{
    static const char usage[] = "traceme [-n] raise|trap|wait|threads|exec [COMMAND [ARGUMENT...]]";
    const struct sigaction action = {.sa_handler = on_signal};
    int first = argc > 1 && strcmp(argv[1], "-n") == 0 ? 2 : 1;
    const char *what = argc > first ? argv[first] : "";

    is_traced = first == 1;
    (void)sigaction(SIGUSR1, &action, NULL);
    if (strcmp(what, "threads") == 0)
        begin_threads();
    else
        trace_me();
    if (strcmp(what, "raise") == 0)
        (void)raise(SIGUSR1);
    else if (strcmp(what, "trap") == 0 && setrlimit(RLIMIT_CORE, &(struct rlimit){0}) == 0)
        (void)raise(SIGTRAP);
    else if (strcmp(what, "wait") == 0)
        await_signal();
    else if (strcmp(what, "exec") == 0 && argc > first + 1)
        (void)execvp(argv[first + 1], argv + first + 1);
    else if (strcmp(what, "threads") != 0)
        workload_usage(usage);
    print_handled();
    return 23;
}
