/*
 * Starting a command and looking at what came of it: for the tests of launch/.
 */
#ifndef METRON_TESTS_LAUNCH_FIXTURE_H
#define METRON_TESTS_LAUNCH_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/launch.h"

#define TEXT_BYTES 8192

static char folder[] = "/tmp/metron-test-launch-XXXXXX";

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

/* A file in the scratch folder; the path is good until the next call. */
static inline const char *make_file(const char *name, const char *content, mode_t mode)
{
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static inline void read_end_to(int fd, char text[TEXT_BYTES])
{
    size_t length = 0;
    ssize_t count;

    while (length < TEXT_BYTES - 1) {
        count = read(fd, text + length, TEXT_BYTES - 1 - length);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            usleep(1000);
        else if (count <= 0)
            break;
        else
            length += (size_t)count;
    }
    text[length] = '\0';
}

static inline int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

/* Runs to the end; the text is what came through the pipe of stdout. Returns the wait status. */
static inline int run(struct launch_options options, char text[TEXT_BYTES])
{
    struct launched launched;
    struct metron_error error = {0};

    options.pipe_stdout = true;
    if (launch_start(&options, &launched, &error) != 0)
        fail_msg("%s", error.message);
    read_end_to(launched.stdout_fd, text);
    close(launched.stdout_fd);
    return wait_for(launched.pid);
}

static inline int run_shell(const char *script, struct launch_options options, char text[TEXT_BYTES])
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};

    options.argv = argv;
    return run(options, text);
}

static inline int failure_of(const char *command, struct metron_error *error)
{
    char *argv[] = {(char *)command, NULL};
    struct launch_options options = {.argv = argv, .new_session = true, .pipe_stdout = true};
    struct launched launched;
    int code = launch_start(&options, &launched, error);

    assert_true(code < 0);
    assert_int_equal(launched.pid, -1);
    assert_int_equal(launched.stdout_fd, -1);
    return code;
}

static inline int count_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

#endif
