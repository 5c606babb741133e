/*
 * What system calls are called, on the architecture that metron was built for.
 *
 * Names live forever. However wild the numbers that a process tries, the names stay bounded in number: what
 * is far beyond any kernel's table shares one. For any thread.
 */
#ifndef METRON_PROBE_SYSCALL_NAMES_H
#define METRON_PROBE_SYSCALL_NAMES_H

#include <stdint.h>

/* Marks a call of a 32-bit program on a 64-bit kernel: its numbers are of another table. */
#define SYSCALL_COMPAT 0x10000U

/* "read"; "syscall_463" for one newer than the compiler's headers; "compat_5" for a 32-bit one;
 * "syscall_other", "compat_other" for numbers that no kernel has. */
const char *syscall_name(uint32_t number);
/* The lasting copy of a name that was read somewhere (strace); "syscall_other" for want of memory, and once
 * there are more than any kernel has. */
const char *syscall_name_keep(const char *text);

#endif
