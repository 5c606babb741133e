/*
 * Settings with a folder of their own: for the tests of settings/.
 */
#ifndef METRON_TESTS_SETTINGS_FIXTURE_H
#define METRON_TESTS_SETTINGS_FIXTURE_H

#include "settings/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "settings/environment.h"
#include "settings/files.h"

static struct settings settings;
static struct metron_error error;
static char folder[64];

static inline int setup(void **state)
{
    (void)state;
    error = (struct metron_error){0};
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-settings-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    return settings_init(&settings, COMMAND_RUN);
}

static inline int teardown(void **state)
{
    (void)state;
    char command[128];

    settings_fini(&settings);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static inline int set(const char *name, const char *value)
{
    return settings_set(&settings, name, value, SETTING_ORIGIN_COMMAND_LINE, NULL, &error);
}

static inline int load(const char *text)
{
    return settings_load_text(&settings, text, strlen(text), "a.conf", false, &error);
}

static inline const char *put(const char *name, const char *text, mode_t mode)
{
    static char paths[4][128];
    static size_t turn;
    char *path = paths[turn++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0); /* whatever the umask */
    (void)close(fd);
    return path;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
