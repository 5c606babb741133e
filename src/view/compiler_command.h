/*
 * Commands of compilers, assemblers and linkers: what such a program is for, and the one word of hundreds
 * in which it differs from others of the same program:
 *
 *     cc1 -quiet -I include … src/table.c -quiet -dumpbase table.c …     the source file
 *     rustc --crate-name log … src/lib.rs --crate-type lib …             the source file
 *     ld … -o build/metron …                                             what it writes
 *
 * It goes by names and by how files are called: a guess, for display and for a list of compilations.
 */
#ifndef METRON_VIEW_COMPILER_COMMAND_H
#define METRON_VIEW_COMPILER_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum compiler_kind {
    COMPILER_NONE,   /* another program */
    COMPILER_DRIVER, /* gcc, clang: it starts others for the work, or does it itself */
    COMPILER_PROPER, /* cc1, lto1, clang -cc1, rustc, javac, Go's compile */
    COMPILER_LINKER,
    COMPILER_HELPER, /* as, clang -cc1as, collect2: a part of what another one does */
};

struct compiler_command {
    enum compiler_kind kind;
    const char *word; /* in the text, with its quotes; NULL: none */
    size_t length;
    bool is_source; /* it names a source file, a package of Go, or the part of a program lto1 compiles */
};

/* `text`: a command of one line, as events have it. */
struct compiler_command compiler_command_parse(const char *text, size_t length);

#endif
