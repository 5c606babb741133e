/*
 * metron's own file descriptors, kept away from the command's: never 0 to 2, never inherited.
 */
#ifndef METRON_LAUNCH_DESCRIPTOR_H
#define METRON_LAUNCH_DESCRIPTOR_H

#include <stddef.h>

/* For the start of main: where the caller closed stdin, stdout or stderr, /dev/null takes the place, so that
 * no file of ours can become one of them. It is CLOEXEC: the command finds them closed, as the caller wished.
 */
void descriptor_reserve_stdio(void);
/* Moves a descriptor of ours above 2. Takes over `fd` (a negative errno is passed on); the result is CLOEXEC.
 */
int descriptor_above_stdio(int fd);
/* A new descriptor of /dev/null above 2, CLOEXEC; or a negative errno. */
int descriptor_new_null(void);
/* Closes all above 2 but those `kept`. 0 or a negative errno. */
int descriptor_close_others(const int *kept, size_t count);

#endif
