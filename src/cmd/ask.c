#include "cmd/ask.h"

#include "base/log.h"
#include "cmd/commands.h"
#include "daemon/socket/client.h"

int ask(const struct settings *settings, const char *method, const char *params, struct strbuf *result)
{
    struct client *client = NULL;
    struct metron_error error = {0};

    int code = client_connect(settings_text(settings, SETTING_SOCKET), 0, &client, &error);
    if (code == 0)
        code = client_call(client, method, params, result, &error);
    client_free(client);
    if (code == 0)
        return EXIT_OK;
    log_error("%s", error.message);
    return EXIT_TROUBLE;
}
