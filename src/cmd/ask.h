/* One question to the daemon, for commands that talk to it. */
#ifndef METRON_CMD_ASK_H
#define METRON_CMD_ASK_H

#include "base/strbuf.h"
#include "settings/settings.h"

/* Sends it and waits for the answer, whose JSON goes to `result` (NULL: it is not wanted). Returns an exit
 * code; what went wrong is told. */
int ask(const struct settings *settings, const char *method, const char *params, struct strbuf *result);

#endif
