/*
 * usage: nasty_name SECONDS
 *
 * Calls itself, in comm and in argv[0], what no reader of /proc should trust: newline, quote, backslash, ESC,
 * invalid UTF-8, and a ") R 1 1" that looks like the fields that follow the name in /proc/PID/stat. Sleeps
 * SECONDS; a child of the same name burns 50 ms meanwhile.
 */
#include <sys/prctl.h>

#include "workload.h"

#define NASTY_ARGUMENT "nasty\n\"\\\x1b[31m\xff\xc0\xaf) R 1 1 \t\x01\xed\xa0\x80"
#define NASTY_COMM     "n\n\"\x1b\xff) R 1 1" /* at most 15 bytes */

int main(int argc, char **argv)
{
    if (argc == 2) {
        (void)execl("/proc/self/exe", NASTY_ARGUMENT, argv[1], NASTY_ARGUMENT, "\n", "", (char *)NULL);
        workload_fail("exec");
    }
    if (argc != 5)
        workload_usage("nasty_name SECONDS");
    if (prctl(PR_SET_NAME, NASTY_COMM, 0, 0, 0) != 0)
        workload_fail("prctl");
    pid_t pid = fork_checked();
    if (pid == 0) {
        burn_process(0.05);
        sleep_seconds(argument_number(argv[1]));
        _exit(0);
    }
    sleep_seconds(argument_number(argv[1]));
    (void)wait_checked(pid);
    return 0;
}
