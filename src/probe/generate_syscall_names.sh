#!/bin/sh
# Writes the names of the system calls that this compiler's <sys/syscall.h> knows, one line each:
#     SYSCALL(read)
# The numbers stay with the compiler. Arguments: the compiler's command.
set -eu

"$@" -dM -E -x c -include sys/syscall.h /dev/null |
    # __NR_syscalls and __NR_arch_specific_syscall are no calls but bounds of the table; names that begin in
    # capitals (__NR_Linux, __NR_SYSCALL_BASE) are the bases that some architectures count from.
    sed -n 's/^#define __NR_\([a-z_][a-z0-9_]*\) .*/\1/p' |
    grep -vx -e syscalls -e arch_specific_syscall |
    LC_ALL=C sort -u |
    sed 's/.*/SYSCALL(&)/'
