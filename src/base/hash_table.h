/*
 * uthash, which would exit() where there is no memory: after HASH_ADD an entry that was not added has no
 * `hh.tbl`.
 */
#ifndef METRON_BASE_HASH_TABLE_H
#define METRON_BASE_HASH_TABLE_H

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Empties a map and calls `release` for each entry that was in it. Without HASH_DEL, whose steps from one
 * entry to the next clang's analyzer cannot follow. */
#define HASH_FREE_ALL(head, release)                                                                         \
    do {                                                                                                     \
        __typeof__(head) entry_ = (head), next_;                                                             \
        HASH_CLEAR(hh, head);                                                                                \
        for (; entry_; entry_ = next_) {                                                                     \
            next_ = entry_->hh.next;                                                                         \
            (release)(entry_);                                                                               \
        }                                                                                                    \
    } while (0)

/* Sets `item` to the one whose `field` has the key, or to a new one, zeroed but for the key; NULL: no memory.
 */
#define HASH_FIND_OR_ADD(head, field, key, item)                                                             \
    do {                                                                                                     \
        HASH_FIND(hh, head, key, sizeof((item)->field), item);                                               \
        if (!(item) && ((item) = calloc(1, sizeof(*(item))))) {                                              \
            (void)memcpy(&(item)->field, key, sizeof((item)->field));                                        \
            HASH_ADD(hh, head, field, sizeof((item)->field), item);                                          \
            if (!(item)->hh.tbl) {                                                                           \
                free(item);                                                                                  \
                (item) = NULL;                                                                               \
            }                                                                                                \
        }                                                                                                    \
    } while (0)

#endif
