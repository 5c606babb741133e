/*
 * usage: iochildren [-d | -r] [-n] COUNT BYTES FOLDER
 *
 * COUNT children one after the other, of which each writes BYTES (a multiple of 64 KiB) to FOLDER/NUMBER and
 * has ended before the next one starts. Nothing else is read or written.
 *   (none)  buffered, then fsync
 *   -d      with O_DIRECT (exits 77 where the file system knows none)
 *   -r      FOLDER/NUMBER is there already and is read, the kernel having been asked to drop it from its
 * cache -n      each child is born of an intermediate parent that leaves at once without waiting for it
 */
#include <fcntl.h>
#include <stdbool.h>

#include "workload.h"

#define BLOCK_BYTES (64 * 1024)

struct job {
    bool is_direct, is_reading, leaves;
    long bytes;
    const char *folder;
    char *block;
};

static int file_open(const struct job *job, const char *path)
{
    int flags = job->is_reading ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC;
    int fd = open(path, flags | O_CLOEXEC | (job->is_direct ? O_DIRECT : 0), 0600);

    if (fd < 0) {
        perror(path);
        _exit(job->is_direct && errno == EINVAL ? 77 : 99);
    }
    if (job->is_reading && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        workload_fail("posix_fadvise");
    return fd;
}

static _Noreturn void child_main(const struct job *job, long number)
{
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/%ld", job->folder, number);
    int fd = file_open(job, path);
    for (long left = job->bytes; left > 0; left -= BLOCK_BYTES) {
        ssize_t moved =
            job->is_reading ? read(fd, job->block, BLOCK_BYTES) : write(fd, job->block, BLOCK_BYTES);
        if (moved != BLOCK_BYTES)
            workload_fail(path);
    }
    if (!job->is_reading && fsync(fd) != 0)
        workload_fail("fsync");
    _exit(0);
}

/* Returns the child's exit code once it has ended, whoever reaps it: the pipe it holds closes then. (With -n
 * it is that of the intermediate parent, always 0.) */
static int child_run(const struct job *job, long number)
{
    int held[2];
    char byte;

    if (pipe(held) != 0)
        workload_fail("pipe");
    pid_t pid = fork_checked();
    if (pid == 0) {
        if (job->leaves && fork_checked() != 0)
            _exit(0);
        child_main(job, number);
    }
    (void)close(held[1]);
    while (read(held[0], &byte, 1) < 0 && errno == EINTR)
        ;
    (void)close(held[0]);
    int status = wait_checked(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int main(int argc, char **argv)
{
    const char *usage = "iochildren [-d | -r] [-n] COUNT BYTES FOLDER";
    struct job job = {.is_direct = false};
    int option, code = 0;
    void *block;

    while ((option = getopt(argc, argv, "drn")) != -1) {
        if (option == 'd')
            job.is_direct = true;
        else if (option == 'r')
            job.is_reading = true;
        else if (option == 'n')
            job.leaves = true;
        else
            workload_usage(usage);
    }
    if (argc - optind != 3 || posix_memalign(&block, 4096, BLOCK_BYTES) != 0)
        workload_usage(usage);
    job.block = block;
    memset(job.block, 'w', BLOCK_BYTES);
    job.bytes = argument_integer(argv[optind + 1]);
    job.folder = argv[optind + 2];
    for (long i = 0; i < argument_integer(argv[optind]) && code == 0; i++)
        code = child_run(&job, i);
    return code;
}
