/*
 * Secrets in command lines and environments: what looks like one is recorded as ***.
 *
 * A value is secret because of the name before it: an option (--api-key X, --token=X), a variable
 * (GITHUB_TOKEN=X), a header (Authorization: X), a member of a JSON object or of a URL's query; or because of
 * its place: the password in scheme://user:password@host. All are found inside an argument too, as in
 * sh -c "curl --token X". Where it is unclear how far a value goes, too much is masked rather than too
 * little.
 *
 * Every function takes `enabled`; when false the same text is made with nothing masked.
 */
#ifndef METRON_SCHEMA_SECRETS_H
#define METRON_SCHEMA_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define SECRETS_MASK "***"

/* Whether the name of an option or a variable says that its value is secret: password, --api-key,
 * accessToken, MYSQL_PWD; not --max-tokens, --tokenizer, PWD. */
bool secrets_name_is_secret(const char *name, size_t length);

/* Arguments as /proc/PID/cmdline has them, NUL-separated; appends one printable line, quoted for a shell.
 * Empty arguments at the end are dropped: there they are what a process left that overwrote its own
 * arguments. */
void secrets_mask_arguments(struct strbuf *out, const char *cmdline, size_t length, bool enabled);
/* The same from an argument vector, NULL-terminated; here nothing is dropped. */
void secrets_mask_argv(struct strbuf *out, char *const *argv, bool enabled);

/* One argument after the other, neither quoted nor made printable, for lists of them. `value_is_next` carries
 * over from each call to the next; it starts false. */
void secrets_mask_argument(struct strbuf *out, const char *argument, size_t length, bool *value_is_next,
                           bool enabled);

/* The value of the environment variable `name`. */
void secrets_mask_value(struct strbuf *out, const char *name, const char *value, bool enabled);

#endif
