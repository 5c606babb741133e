/*
 * uthash, which would exit() where there is no memory: after HASH_ADD an entry that was not added has no
 * `hh.tbl`.
 */
#ifndef METRON_BASE_HASH_TABLE_H
#define METRON_BASE_HASH_TABLE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
