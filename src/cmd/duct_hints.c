#include "cmd/duct_hints.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "settings/table.h"

static const char theirs[] = "DUCT_", ours[] = "METRON_";

/* "METRON_MESSAGE instead of DUCT_MESSAGE", if that is what this variable is for. */
static void add_variable(struct strbuf *out, const char *variable, enum command command)
{
    const size_t length = strcspn(variable, "=");
    struct strbuf name = STRBUF_INIT;

    strbuf_addf(&name, "%s%.*s", ours, (int)(length - (sizeof(theirs) - 1)), variable + sizeof(theirs) - 1);
    int id = name.failed ? -1 : setting_find_variable(strbuf_text(&name), name.length);
    bool is_ours = id >= 0 && settings_table[id].commands & command;

    if (is_ours && !getenv(strbuf_text(&name)))
        strbuf_addf(out, "%s%s instead of %.*s", out->length > 0 ? ", " : "", strbuf_text(&name), (int)length,
                    variable);
    strbuf_fini(&name);
}

void duct_hints_give(enum command command)
{
    static const char file[] = ".duct/.env", own_file[] = ".metron/metron.conf";
    struct strbuf names = STRBUF_INIT;

    for (char *const *variable = environ; *variable; variable++)
        if (strncmp(*variable, theirs, sizeof(theirs) - 1) == 0)
            add_variable(&names, *variable, command);
    if (names.length > 0)
        log_info("con-duct's variables have no effect: set %s", strbuf_text(&names));
    strbuf_fini(&names);
    if ((getenv("DUCT_CONFIG_PATHS") || access(file, F_OK) == 0) && access(own_file, F_OK) < 0)
        log_info("con-duct's .env files are not read: settings of metron go into %s or "
                 "~/.config/metron/metron.conf",
                 own_file);
}
