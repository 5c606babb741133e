/*
 * Masks a made-up command line, for tests that count the instructions it takes:
 *
 *     masker BYTES ARGUMENT TEXT [NAME PATTERN]…
 *
 * The line has so many BYTES, in arguments of ARGUMENT bytes, each of them TEXT over and over. NAMEs and
 * PATTERNs are secret as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "schema/secrets.h"

int main(int argc, char **argv)
{
    struct secrets secrets = {0};
    struct strbuf cmdline = STRBUF_INIT, line = STRBUF_INIT;

    if (argc < 4 || !argv[3][0])
        return 2;
    size_t bytes = strtoul(argv[1], NULL, 10), argument = strtoul(argv[2], NULL, 10);
    size_t unit = strlen(argv[3]);

    for (int i = 4; i + 1 < argc; i += 2) {
        if (secrets_add_name(&secrets, argv[i], strlen(argv[i])) < 0 ||
            secrets_add_pattern(&secrets, argv[i + 1], strlen(argv[i + 1])) < 0)
            return 2;
    }
    for (size_t i = 0; i < bytes; i++)
        strbuf_addc(&cmdline, i % argument == argument - 1 ? '\0' : argv[3][i % argument % unit]);
    secrets_mask_arguments(&line, &secrets, strbuf_text(&cmdline), cmdline.length);

    bool failed = line.failed || cmdline.failed;

    strbuf_fini(&line);
    strbuf_fini(&cmdline);
    secrets_fini(&secrets);
    return failed ? 1 : 0;
}
