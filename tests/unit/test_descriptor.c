/* Closing all descriptors but a few, on kernels with close_range and on those without. */
#include "launch/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* From here on close_range fails in this process as on Linux 5.8. */
static int take_close_range_away(void)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(instructions) / sizeof(*instructions), instructions};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : -errno;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* In a process of its own; its exit code says what is wrong. */
static int close_all_but(const int *kept, size_t count)
{
    enum { LAST = 64 };

    for (int fd = 3; fd <= LAST; fd++)
        if (dup2(STDIN_FILENO, fd) != fd)
            return 10;
    if (descriptor_close_others(kept, count) != 0)
        return 11;
    for (int fd = 0; fd <= LAST; fd++) {
        bool is_kept = fd <= STDERR_FILENO;

        for (size_t i = 0; i < count; i++)
            is_kept = is_kept || kept[i] == fd;
        if (is_open(fd) != is_kept)
            return 100 + fd;
    }
    return 0;
}

static int in_a_child(bool has_close_range, const int *kept, size_t count)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (!has_close_range && take_close_range_away() != 0)
            _exit(9);
        _exit(close_all_but(kept, count));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void only_those_kept_stay_open(void **state)
{
    const int kept[] = {40, 3, 17, 64, 18};
    (void)state;

    for (int has_close_range = 0; has_close_range <= 1; has_close_range++) {
        for (size_t count = 0; count <= sizeof(kept) / sizeof(*kept); count++)
            assert_int_equal(in_a_child(has_close_range, kept, count), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_those_kept_stay_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
