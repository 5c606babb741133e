#include "keeper/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

struct detach {
    int fd; /* whoever started us reads from it */
};

/* In the one that was started: an exit code, then the reason. */
static int wait_for_word(int fd)
{
    char word[1024];
    size_t length = 0;
    ssize_t count;

    while (length < sizeof(word) - 1 && (count = read(fd, word + length, sizeof(word) - 1 - length)) != 0) {
        if (count < 0 && errno != EINTR)
            break;
        length += count > 0 ? (size_t)count : 0;
    }
    if (length == 0) {
        log_error("daemon: it ended before it had begun");
        return EXIT_FAILURE;
    }
    word[length] = '\0';
    if (word[0] != 0)
        log_error("daemon: %s", word + 1);
    return word[0];
}

/* No terminal, no folder in use, nothing that anybody waits for. */
static void leave_caller(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid();
    (void)!chdir("/");
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        (void)dup2(null, fd);
    if (null > 2)
        (void)close(null);
}

bool detach(struct detach **out, int *exit_code)
{
    int ends[2];
    struct detach *made = malloc(sizeof(*made));

    if (!made || pipe2(ends, O_CLOEXEC) < 0) {
        free(made);
        log_error("daemon: cannot go to the background: %s", strerror(errno));
        *exit_code = EXIT_FAILURE;
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        leave_caller();
        made->fd = ends[1];
        *out = made;
        return true;
    }
    (void)close(ends[1]);
    free(made);
    *exit_code = pid > 0 ? wait_for_word(ends[0]) : EXIT_FAILURE;
    (void)close(ends[0]);
    return false;
}

void detach_tell(struct detach *detach, int exit_code, const char *message)
{
    char word[512];

    if (!detach)
        return;
    word[0] = (char)exit_code;
    int length = snprintf(word + 1, sizeof(word) - 1, "%s", message ? message : "");
    size_t whole = (size_t)(length < (int)sizeof(word) - 1 ? length : (int)sizeof(word) - 2) + 1;
    (void)file_write_all(detach->fd, word, whole);
    (void)close(detach->fd);
    free(detach);
}
