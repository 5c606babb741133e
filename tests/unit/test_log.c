/* Messages: levels, prefixes, colours, one clean line each. stderr is a pipe while a message is made. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char seen[8192];
static int kept_stderr = -1;
static int ends[2];

static void stderr_begin(void)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    kept_stderr = dup(STDERR_FILENO);
    (void)dup2(ends[1], STDERR_FILENO);
    (void)close(ends[1]);
}

static void stderr_end(void)
{
    (void)dup2(kept_stderr, STDERR_FILENO);
    (void)close(kept_stderr);
    ssize_t count = read(ends[0], seen, sizeof(seen) - 1);

    seen[count > 0 ? count : 0] = '\0';
    (void)close(ends[0]);
}

static void lines_say_who_speaks_and_how_bad_it_is(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_DEBUG, false);
    stderr_begin();
    log_error("one %d", 1);
    log_warning("two");
    log_info("three");
    log_debug("four");
    stderr_end();
    assert_string_equal(seen,
                        "metron: error: one 1\nmetron: warning: two\nmetron: three\nmetron: debug: four\n");
}

static void the_level_silences_what_is_below_it(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_WARNING, false);
    stderr_begin();
    log_error("e");
    log_warning("w");
    log_info("i");
    log_debug("d");
    stderr_end();
    assert_string_equal(seen, "metron: error: e\nmetron: warning: w\n");
    assert_true(log_enabled(LOG_LEVEL_WARNING));
    assert_false(log_enabled(LOG_LEVEL_INFO));

    log_setup(LOG_LEVEL_NONE, false);
    stderr_begin();
    log_error("e");
    stderr_end();
    assert_string_equal(seen, "");
    assert_false(log_enabled(LOG_LEVEL_NONE));
    assert_false(log_enabled(LOG_LEVEL_ERROR));
}

static void only_the_prefix_is_coloured(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_INFO, true);
    stderr_begin();
    log_warning("text");
    stderr_end();
    assert_string_equal(seen, "\033[33mmetron: warning: \033[0mtext\n");
    log_setup(LOG_LEVEL_INFO, false);
}

static void quoted_bytes_cannot_break_the_line(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_INFO, false);
    stderr_begin();
    log_info("name %s", "a\nmetron: error: forged\033[2J\xff");
    stderr_end();
    assert_string_equal(seen, "metron: name a\\x0ametron: error: forged\\x1b[2J\\xff\n");
}

static void long_messages_are_whole(void **state)
{
    (void)state;
    char text[5001];

    memset(text, 'x', 5000);
    text[5000] = '\0';
    log_setup(LOG_LEVEL_INFO, false);
    stderr_begin();
    log_info("%s", text);
    stderr_end();
    assert_int_equal(strlen(seen), 8 + 5000 + 1);
}

static void errno_survives_a_message(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_INFO, false);
    int kept = dup(STDERR_FILENO);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)dup2(full, STDERR_FILENO);
    errno = EXDEV;
    log_info("cannot be written");
    int seen_errno = errno;

    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(full);
    assert_int_equal(seen_errno, EXDEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_say_who_speaks_and_how_bad_it_is),
        cmocka_unit_test(the_level_silences_what_is_below_it),
        cmocka_unit_test(only_the_prefix_is_coloured),
        cmocka_unit_test(quoted_bytes_cannot_break_the_line),
        cmocka_unit_test(long_messages_are_whole),
        cmocka_unit_test(errno_survives_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
