/*
 * Text from outside: command names, arguments, messages. The kernel takes any byte; terminals and JSON do
 * not.
 */
#ifndef METRON_BASE_TEXT_H
#define METRON_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* What separates words: a space, a tab, the end of a line. */
static inline bool text_is_blank(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}
/* The first byte that is none, or `end`. */
static inline const char *text_skip_blanks(const char *at, const char *end)
{
    while (at < end && text_is_blank(*at))
        at++;
    return at;
}
static inline bool text_is_only_blanks(const char *bytes, size_t length)
{
    return text_skip_blanks(bytes, bytes + length) == bytes + length;
}
/* Length of the valid UTF-8 sequence at the start of bytes (1 to 4), or 0 if there is none (overlong,
 * surrogate, past U+10FFFF, cut off). */
size_t text_utf8_length(const char *bytes, size_t length);
bool text_is_utf8(const char *text);
/* The length of the longest beginning of a text that has at most `limit` bytes and cuts no character. */
size_t text_cut(const char *text, size_t limit);
/* Of bytes that were cut at `length`: the length without a character of which only the beginning is left. */
size_t text_whole_characters(const char *bytes, size_t length);
/* Whether the text ends in `end`. */
bool text_ends_with(const char *text, const char *end);
/* The character that a valid sequence of so many bytes stands for. */
uint32_t text_character(const char *bytes, size_t sequence);
/* Whether a terminal acts on it instead of showing it: C0, DEL and C1, the marks and overrides that change
 * the direction of text, and the separators of lines and paragraphs. */
bool text_is_control(uint32_t character);
/* Appends text fit for a terminal: control characters and invalid UTF-8 as \xNN; newline and tab too. */
void text_printable(struct strbuf *out, const char *bytes, size_t length);
/* The same for a text of several lines: newlines and tabs stay. */
void text_printable_lines(struct strbuf *out, const char *bytes, size_t length);
/* Appends an argument quoted for a POSIX shell, only where needed. */
void text_shell_quote(struct strbuf *out, const char *argument);
/* Appends a line of a shell without its quotes and backslashes, as far as it is one: `sh -c 'a b'` is
 * `sh -c a b`. */
void text_shell_unquote(struct strbuf *out, const char *line);
/* Whether two command lines differ in nothing but how they are quoted, or in that one is not. */
bool text_shell_is_same(const char *a, const char *b);
/* Appends a cell of CSV as RFC 4180 has it: quoted only where needed, also where blanks at its ends would be
 * lost on some readers. */
void text_csv(struct strbuf *out, const char *text);
/* The number of edits between two names (Levenshtein, at most 64 bytes each), for "did you mean". */
size_t text_distance(const char *a, const char *b);
/* Shell-style match with * and ? only (no brackets), whole text. */
bool text_glob(const char *pattern, const char *text);

#endif
