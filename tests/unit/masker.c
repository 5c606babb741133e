/*
 * Masks made-up command lines, for tests that count the instructions it takes:
 *
 *     masker [NAME PATTERN]… < LINES
 *
 * A line of LINES is BYTES, ARGUMENT and TEXT, each with a zero byte behind it: the command line has so many
 * BYTES, in arguments of ARGUMENT bytes, each of them TEXT over and over. NAMEs and PATTERNs are secret as
 * well. Each line is masked in a child process, whose pid is printed: valgrind counts every process, and its
 * own start takes far longer than the masking.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "schema/secrets.h"

static bool mask_line(const struct secrets *secrets, size_t bytes, size_t argument, const char *text)
{
    struct strbuf cmdline = STRBUF_INIT, line = STRBUF_INIT;
    size_t unit = strlen(text);

    for (size_t i = 0; i < bytes; i++)
        strbuf_addc(&cmdline, i % argument == argument - 1 ? '\0' : text[i % argument % unit]);
    secrets_mask_arguments(&line, secrets, strbuf_text(&cmdline), cmdline.length);

    bool masked = !line.failed && !cmdline.failed;

    strbuf_fini(&line);
    strbuf_fini(&cmdline);
    return masked;
}

/* Masks a line in a child, and waits for it. */
static bool mask_in_child(const struct secrets *secrets, size_t bytes, size_t argument, const char *text)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(mask_line(secrets, bytes, argument, text) ? 0 : 1);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return false;
    (void)printf("%d\n", (int)pid);
    return fflush(stdout) == 0; /* or the next child has it in its buffer */
}

int main(int argc, char **argv)
{
    struct secrets secrets = {0};
    char *fields[3] = {NULL};
    size_t sizes[3] = {0};
    bool failed = false;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (secrets_add_name(&secrets, argv[i], strlen(argv[i])) < 0 ||
            secrets_add_pattern(&secrets, argv[i + 1], strlen(argv[i + 1])) < 0)
            return 2;
    }
    for (int i = 0; !failed && getdelim(&fields[i], &sizes[i], '\0', stdin) > 0; i = (i + 1) % 3) {
        if (i == 2)
            failed = !fields[2][0] || !mask_in_child(&secrets, strtoul(fields[0], NULL, 10),
                                                     strtoul(fields[1], NULL, 10), fields[2]);
    }
    for (int i = 0; i < 3; i++)
        free(fields[i]);
    secrets_fini(&secrets);
    return failed ? 1 : 0;
}
