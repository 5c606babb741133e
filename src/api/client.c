/* The daemon's client (daemon/socket/client.h), which is all that is needed: here it only gets its public
 * names. */
#include <errno.h>
#include <metron.h>
#include <stdlib.h>

#include "base/error.h"
#include "daemon/socket/client.h"

struct metron_client {
    struct client *client;
    struct strbuf result, method, params; /* what is lent out */
};

int metron_client_connect(const char *path, struct metron_client **client, struct metron_error *error)
{
    struct metron_client *made = calloc(1, sizeof(*made));

    if (!made)
        return error_set(error, -ENOMEM, "no memory for a client of the daemon");
    int code = client_connect(path, 0, &made->client, error);
    if (code < 0)
        free(made);
    else
        *client = made;
    return code;
}

void metron_client_free(struct metron_client *client)
{
    if (!client)
        return;
    client_free(client->client);
    strbuf_fini(&client->result);
    strbuf_fini(&client->method);
    strbuf_fini(&client->params);
    free(client);
}

int metron_client_call(struct metron_client *client, const char *method, const char *params,
                       const char **result, struct metron_error *error)
{
    int code = client_call(client->client, method, params, &client->result, error);

    if (code == 0 && result)
        *result = strbuf_text(&client->result);
    return code;
}

int metron_client_subscribe(struct metron_client *client, const char *params, struct metron_error *error)
{
    return client_subscribe(client->client, params, error);
}

int metron_client_next(struct metron_client *client, int timeout_ms, const char **method, const char **json,
                       struct metron_error *error)
{
    int code = client_next_notification(client->client, timeout_ms, &client->method, &client->params, error);

    if (code == 1 && (client->method.failed || client->params.failed))
        return error_set(error, -ENOMEM, "no memory for an event");
    if (code == 1 && method)
        *method = strbuf_text(&client->method);
    if (code == 1 && json)
        *json = strbuf_text(&client->params);
    return code;
}

int metron_client_fd(const struct metron_client *client)
{
    return client_fd(client->client);
}
