/* Another user for a test that root runs: one without privilege, without a name, and without any process but
 * those of this test program. Its number follows from the program's pid, as in tests/support/users.py: no two
 * living programs have the same. */
#ifndef METRON_TESTS_ANOTHER_USER_H
#define METRON_TESTS_ANOTHER_USER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static uid_t another_user; /* the same in every process that the test forks */

/* A container may have only the usual 65,536 numbers. */
__attribute__((constructor)) static void number_another_user(void)
{
    unsigned first, outside, count, end = 0;
    FILE *maps = fopen("/proc/self/uid_map", "re");

    while (maps && fscanf(maps, "%u %u %u", &first, &outside, &count) == 3)
        end = first + count > end ? first + count : end;
    if (maps)
        (void)fclose(maps);
    another_user = (uid_t)getpid() + 2100000000U;
    if (another_user >= end)
        another_user = 20000U + (uid_t)getpid() % 40000U;
}

/* For good. (<grp.h>, which has setgroups, has a struct group that is not the one of src/tree.) */
static inline bool become_another_user(void)
{
    return syscall(SYS_setgroups, 0, NULL) == 0 && setresgid(another_user, another_user, another_user) == 0 &&
           setresuid(another_user, another_user, another_user) == 0;
}

#endif
