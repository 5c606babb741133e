#include "view/compiler_command.h"

#include <string.h>

#include "base/array.h"

struct word {
    const char *at;
    size_t length;
};

static const struct {
    const char *name;
    enum compiler_kind kind;
} programs[] = {
    {"cc1", COMPILER_PROPER},     {"cc1plus", COMPILER_PROPER},  {"cc1obj", COMPILER_PROPER},
    {"lto1", COMPILER_PROPER},    {"f951", COMPILER_PROPER},     {"gnat1", COMPILER_PROPER},
    {"d21", COMPILER_PROPER},     {"rustc", COMPILER_PROPER},    {"javac", COMPILER_PROPER},
    {"cc", COMPILER_DRIVER},      {"c++", COMPILER_DRIVER},      {"gcc", COMPILER_DRIVER},
    {"g++", COMPILER_DRIVER},     {"c99", COMPILER_DRIVER},      {"clang", COMPILER_DRIVER},
    {"clang++", COMPILER_DRIVER}, {"gfortran", COMPILER_DRIVER}, {"tcc", COMPILER_DRIVER},
    {"ld", COMPILER_LINKER},      {"ld.bfd", COMPILER_LINKER},   {"ld.gold", COMPILER_LINKER},
    {"ld.lld", COMPILER_LINKER},  {"lld", COMPILER_LINKER},      {"mold", COMPILER_LINKER},
    {"ld.mold", COMPILER_LINKER}, {"as", COMPILER_HELPER},       {"collect2", COMPILER_HELPER},
};

/* Of Go, below pkg/tool: elsewhere these names are anybody's. */
static const struct {
    const char *name;
    enum compiler_kind kind;
} go_programs[] = {{"/compile", COMPILER_PROPER}, {"/link", COMPILER_LINKER}, {"/asm", COMPILER_HELPER}};

static const char *const source_endings[] = {
    "c",   "cc",  "cpp", "cxx", "c++", "C",   "cp",  "CPP", "m",   "mm",  "M",    "i",
    "ii",  "s",   "S",   "f",   "for", "ftn", "f90", "f95", "f03", "f08", "F",    "F90",
    "F95", "F03", "F08", "d",   "di",  "go",  "rs",  "adb", "ads", "cu",  "java", "swift"};

/* Options whose value is no source, whatever it is called. */
static const char *const options_with_names[] = {
    "-o",       "-I",  "-D",  "-U",  "-isystem",  "-iquote",       "-idirafter",      "-include",
    "-imacros", "-MF", "-MT", "-MQ", "-dumpbase", "-dumpbase-ext", "-main-file-name", "-dependency-file"};

static bool is(const struct word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->at, text, word->length) == 0;
}

static bool ends_with(const struct word *word, const char *end)
{
    const size_t length = strlen(end);

    return word->length >= length && memcmp(word->at + word->length - length, end, length) == 0;
}

/* The next word, with its quotes; false: there is none. */
static bool next_word(const char **at, const char *end, struct word *word)
{
    char quote = '\0';

    while (*at < end && **at == ' ')
        ++*at;
    word->at = *at;
    for (; *at < end && (quote || **at != ' '); ++*at) {
        if (quote ? **at == quote : **at == '\'' || **at == '"')
            quote = quote ? '\0' : **at;
        else if (!quote && **at == '\\' && *at + 1 < end)
            ++*at;
    }
    word->length = (size_t)(*at - word->at);
    return word->length > 0;
}

static struct word without_quotes(struct word word)
{
    if (word.length >= 2 && word.at[0] == '\'' && word.at[word.length - 1] == '\'') {
        word.at++;
        word.length -= 2;
    }
    return word;
}

static struct word file_name(struct word word)
{
    const char *slash = memrchr(word.at, '/', word.length);

    if (slash) {
        word.length -= (size_t)(slash + 1 - word.at);
        word.at = slash + 1;
    }
    return word;
}

/* "gcc-12" -> "gcc". */
static void drop_version(struct word *name)
{
    size_t length = name->length;

    while (length > 0 && strchr("0123456789.", name->at[length - 1]))
        length--;
    if (length > 1 && length < name->length && name->at[length - 1] == '-')
        name->length = length - 1;
}

static size_t dashes(const char *from, const char *to)
{
    size_t count = 0;

    for (; from < to; from++)
        count += *from == '-';
    return count;
}

static enum compiler_kind kind_of(struct word program)
{
    struct word name = file_name(program);

    for (size_t i = 0; i < ARRAY_LENGTH(go_programs); i++)
        if (ends_with(&program, go_programs[i].name) &&
            memmem(program.at, program.length, "/tool/", strlen("/tool/")))
            return go_programs[i].kind;
    drop_version(&name);
    for (size_t i = 0; i < ARRAY_LENGTH(programs); i++) {
        const size_t length = strlen(programs[i].name);
        const char *at = name.at + name.length - length;
        if (!ends_with(&name, programs[i].name))
            continue;
        /* Before it nothing, or a machine: x86_64-linux-gnu-gcc. */
        if (at == name.at || (at[-1] == '-' && dashes(name.at, at) >= 2))
            return programs[i].kind;
    }
    return COMPILER_NONE;
}

static bool is_source(struct word word)
{
    const struct word name = file_name(without_quotes(word));
    const char *dot = memrchr(name.at, '.', name.length);

    if (word.at[0] == '-' || word.at[0] == '@' || !dot || dot == name.at)
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(source_endings); i++) {
        const size_t length = (size_t)(name.at + name.length - (dot + 1));
        if (length == strlen(source_endings[i]) && memcmp(dot + 1, source_endings[i], length) == 0)
            return true;
    }
    return false;
}

static bool has_name_behind(const struct word *option, bool is_proper)
{
    /* gcc gives its cc1 the name: "-MD a.c.d". */
    if (is_proper && (is(option, "-MD") || is(option, "-MMD")))
        return true;
    for (size_t i = 0; i < ARRAY_LENGTH(options_with_names); i++)
        if (is(option, options_with_names[i]))
            return true;
    return false;
}

struct compiler_command compiler_command_parse(const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    struct compiler_command command = {.kind = COMPILER_NONE};
    struct word word, before, source = {0}, output = {0}, named = {0}, list = {0};

    if (!next_word(&at, end, &word) || (command.kind = kind_of(without_quotes(word))) == COMPILER_NONE)
        return command;
    const bool is_go = ends_with(&word, "/compile"), is_proper = command.kind == COMPILER_PROPER;
    const char *naming = is_go ? "-p" : ends_with(&word, "lto1") ? "-dumpbase" : "";
    for (before = word; next_word(&at, end, &word); before = word) {
        if (command.kind == COMPILER_DRIVER && is(&word, "-cc1"))
            command.kind = COMPILER_PROPER;
        if (command.kind == COMPILER_DRIVER && is(&word, "-cc1as"))
            command.kind = COMPILER_HELPER;
        if (is(&before, "-o"))
            output = word;
        else if (is(&before, naming) && !(is_go && is(&word, "main")))
            named = word;
        else if (word.at[0] == '@' && !list.at)
            list = word;
        else if (!source.at && !has_name_behind(&before, is_proper) && is_source(word))
            source = word;
    }
    if (named.at)
        source = named;
    const bool writes = command.kind == COMPILER_LINKER || command.kind == COMPILER_HELPER;
    const struct word *telling = writes && output.at ? &output
                                 : source.at         ? &source
                                 : output.at         ? &output
                                                     : &list;
    command.word = telling->at;
    command.length = telling->length;
    command.is_source = telling == &source;
    return command;
}
