/*
 * Talks to the daemon: asks how it is, tells it of a job, shows who uses most, and streams what happens to
 * the job's processes until none came for two seconds:
 *
 *     ./client [-s SOCKET] JOB PID
 *
 * Answers are JSON (docs/daemon.md says which); a program would read them with a JSON library of its choice.
 */
#include <metron.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ask(struct metron_client *client, const char *method, const char *params,
               struct metron_error *error)
{
    const char *answer;
    int code = metron_client_call(client, method, params, &answer, error);

    if (code == 0)
        printf("%s %s\n", method, answer);
    return code;
}

static int stream(struct metron_client *client, const char *filter, struct metron_error *error)
{
    const char *method, *json;
    int code = metron_client_subscribe(client, filter, error);

    printf("streaming\n");
    fflush(stdout); /* whoever reads us knows that nothing is missed from here on */
    while (code >= 0 && (code = metron_client_next(client, 2000, &method, &json, error)) == 1) {
        printf("%s %s\n", method, json);
        fflush(stdout);
    }
    return code;
}

int main(int argc, char **argv)
{
    struct metron_client *client = NULL;
    struct metron_error error = {0};
    int first = argc > 2 && strcmp(argv[1], "-s") == 0 ? 3 : 1;
    char job[256], filter[256];

    if (argc < first + 2) {
        fprintf(stderr, "usage: client [-s SOCKET] JOB PID\n");
        return 2;
    }
    /* A name with quotes in it would need escaping. */
    snprintf(job, sizeof(job), "{\"job_id\":\"%s\",\"pid\":%d}", argv[first], atoi(argv[first + 1]));
    snprintf(filter, sizeof(filter), "{\"job_id\":\"%s\",\"snapshots\":false}", argv[first]);

    int code = metron_client_connect(first == 3 ? argv[2] : NULL, &client, &error);
    if (code == 0)
        code = ask(client, "daemon.health", NULL, &error);
    if (code == 0)
        code = ask(client, "job.start", job, &error);
    if (code == 0)
        code = ask(client, "daemon.top", NULL, &error);
    if (code == 0)
        code = stream(client, filter, &error);
    if (code < 0)
        fprintf(stderr, "client: %s\n", error.message);
    metron_client_free(client); /* NULL, where there is no daemon, is fine */
    return code < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
