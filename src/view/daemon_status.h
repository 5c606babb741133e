/* How the daemon fares, for people: from the answer of daemon.status. */
#ifndef METRON_VIEW_DAEMON_STATUS_H
#define METRON_VIEW_DAEMON_STATUS_H

#include <stddef.h>

#include "base/strbuf.h"

void daemon_status_write(struct strbuf *out, const char *json, size_t length);

#endif
