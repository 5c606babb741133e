/*
 * usage: asroot
 *
 * Installed setuid root: becomes root altogether, as sudo and su do, so that the user who started it may not
 * signal it. Then waits for a line on standard input, or its end, and exits with 4. It executes nothing.
 */
#include "workload.h"

int main(void)
{
    if (setresuid(0, 0, 0) != 0)
        workload_fail("setresuid");
    (void)puts("ready");
    (void)fflush(stdout);
    hold("-");
    return 4;
}
