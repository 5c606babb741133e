/*
 * usage: escape [-o FILE] SECONDS WAIT
 *
 * A daemon in the making: setsid, double fork; the orphan uses SECONDS of CPU. The command itself sleeps WAIT
 * seconds (0: leaves at once) and exits 0. With -o the orphan's pid is written to FILE.
 */
#include "workload.h"

static void write_pid(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0)
        workload_fail(path);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int option;

    while ((option = getopt(argc, argv, "o:")) != -1) {
        if (option != 'o')
            workload_usage("escape [-o FILE] SECONDS WAIT");
        path = optarg;
    }
    if (argc - optind != 2)
        workload_usage("escape [-o FILE] SECONDS WAIT");
    pid_t pid = fork_checked();
    if (pid == 0) {
        if (setsid() < 0)
            workload_fail("setsid");
        if (fork_checked() != 0)
            _exit(0);
        if (path != NULL)
            write_pid(path);
        burn_process(argument_number(argv[optind]));
        _exit(0);
    }
    (void)wait_checked(pid);
    sleep_seconds(argument_number(argv[optind + 1]));
    return 0;
}
