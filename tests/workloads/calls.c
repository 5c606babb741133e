/*
 * usage: calls
 *
 * A fixed set of system calls, some of which fail, all made by one process, no more and no fewer from one
 * time to the next: 300 getppid, 200 getuid, 50 lseek (all fail), 40 write, 30 close (20 fail), 25 openat (5
 * fail), 15 getcwd, 7 kill (4 fail), 7 getpid; and those with which any program starts.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include "workload.h"

static void expect(long got, long wanted, const char *what)
{
    if (got != wanted)
        workload_fail(what);
}

static void open_and_close(void)
{
    for (int i = 0; i < 10; i++) {
        long fd = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
        expect(syscall(SYS_close, fd), 0, "close");
    }
    for (int i = 0; i < 20; i++)
        expect(syscall(SYS_close, 9999), -1, "close of nothing");
    for (int i = 0; i < 5; i++)
        expect(syscall(SYS_openat, AT_FDCWD, "/nonexistent/file", O_RDONLY, 0), -1, "open of nothing");
}

int main(void)
{
    char folder[4096];
    int ends[2];
    int null = open("/dev/null", O_WRONLY);

    if (null < 0 || pipe(ends) != 0)
        workload_fail("open");
    for (int i = 0; i < 300; i++)
        (void)syscall(SYS_getppid);
    for (int i = 0; i < 200; i++)
        (void)syscall(SYS_getuid);
    for (int i = 0; i < 50; i++)
        expect(syscall(SYS_lseek, ends[0], 0L, SEEK_SET), -1, "lseek in a pipe");
    for (int i = 0; i < 40; i++)
        expect(syscall(SYS_write, null, "x", 1L), 1, "write");
    for (int i = 0; i < 9; i++)
        expect(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0) >= 0, 1, "open");
    open_and_close();
    for (int i = 0; i < 15; i++)
        expect(syscall(SYS_getcwd, folder, sizeof(folder)) > 0, 1, "getcwd");
    for (int i = 0; i < 3; i++)
        expect(syscall(SYS_kill, getpid(), 0), 0, "kill");
    for (int i = 0; i < 4; i++)
        expect(syscall(SYS_kill, getpid(), 9999), -1, "kill with no signal");
    return 0;
}
