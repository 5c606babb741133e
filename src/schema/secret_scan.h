/*
 * Which bytes of an argument are secret. Used by secrets.c only, which writes the masked text.
 */
#ifndef METRON_SCHEMA_SECRET_SCAN_H
#define METRON_SCHEMA_SECRET_SCAN_H

#include "schema/secrets.h"

/* The rule that makes a name secret, or NULL. `before`: the byte in front of it; NUL: none. */
const struct secret_rule *secret_name_rule(const struct secrets *secrets, const char *name, size_t length,
                                           char before);
/* Fills `marks` for one argument: a byte for each of the text, 1 if it is secret, else 0. */
void secret_scan(struct strbuf *marks, const struct secrets *secrets, struct secrets_state *state,
                 const char *text, size_t length);

#endif
