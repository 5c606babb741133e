/*
 * uthash, which would exit() where there is no memory: after HASH_ADD an entry that was not added has no
 * `hh.tbl`.
 */
#ifndef METRON_BASE_HASH_TABLE_H
#define METRON_BASE_HASH_TABLE_H

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

#endif
