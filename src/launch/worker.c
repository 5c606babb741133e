/*
 * Worker threads: a small stack, every signal blocked but one. That one is a real-time signal with a handler
 * without SA_RESTART, which exists only to interrupt. What comes from outside is the main thread's.
 */
#include "launch/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/privilege.h"

#define STACK_BYTES (256UL * 1024)

static int interrupt_signal(void)
{
    return SIGRTMIN + 6;
}

static void give_to_main_thread(int signal, siginfo_t *info, void *context)
{
    const pid_t self = getpid();
    const int before = errno;

    (void)context;
    if (info->si_pid == self || gettid() == self)
        return;
    info->si_code = SI_QUEUE; /* with another code a thread may send only to itself */
    (void)syscall(SYS_rt_tgsigqueueinfo, self, self, signal, info);
    errno = before;
}

struct task {
    void *(*run)(void *argument);
    void *argument;
};

static void *begin(void *given)
{
    struct task task = *(struct task *)given;

    free(given);
    /* Capabilities are a thread's own, and what metron has some for is none of a worker's business. */
    (void)privilege_drop(NULL, NULL);
    return task.run(task.argument);
}

int worker_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    struct task *task = malloc(sizeof(*task));
    struct sigaction action = {.sa_sigaction = give_to_main_thread, .sa_flags = SA_SIGINFO};
    pthread_attr_t attributes;
    sigset_t blocked, before;

    if (!task)
        return -ENOMEM;
    *task = (struct task){run, argument};
    int code = sigaction(interrupt_signal(), &action, NULL) != 0 ? errno : pthread_attr_init(&attributes);
    if (code != 0) {
        free(task);
        return -code;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* The new thread inherits the mask of the one that makes it. */
    sigfillset(&blocked);
    sigdelset(&blocked, interrupt_signal());
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    code = pthread_create(thread, &attributes, begin, task);
    if (code != 0)
        free(task);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -code;
}

void worker_interrupt(pthread_t thread)
{
    pthread_kill(thread, interrupt_signal());
}
