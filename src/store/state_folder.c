#include "store/state_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int state_folder_file(struct strbuf *out, const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (geteuid() == 0)
        strbuf_adds(out, STATE_FOLDER_OF_ROOT);
    else if (state && state[0] == '/')
        strbuf_addf(out, "%s/metron", state);
    else if (home && home[0] == '/')
        strbuf_addf(out, "%s/.local/state/metron", home);
    else
        return -ENOENT;
    strbuf_addf(out, "/%s", name);
    return out->failed ? -ENOMEM : 0;
}
