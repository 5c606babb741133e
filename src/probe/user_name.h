/*
 * The name of a user. Only /etc/passwd is asked: a network's directory of users may take seconds.
 */
#ifndef METRON_PROBE_USER_NAME_H
#define METRON_PROBE_USER_NAME_H

#include <stdbool.h>
#include <sys/types.h>

#define USER_NAME_SIZE 256

/* False, and an empty text, where it is not known. */
bool user_name_find(uid_t uid, char out[USER_NAME_SIZE]);

#endif
