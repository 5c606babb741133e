/* Settings: the table's own sanity, values and ranges, and who wins among default, files, environment and
 * command line. */
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

#include "base/log.h"
#include "settings/environment.h"
#include "settings/files.h"

static struct settings settings;
static struct metron_error error;
static char folder[64];

static int setup(void **state)
{
    (void)state;
    error = (struct metron_error){0};
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-settings-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    return settings_init(&settings, COMMAND_RUN);
}

static int teardown(void **state)
{
    (void)state;
    char command[128];

    settings_fini(&settings);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static int set(const char *name, const char *value)
{
    return settings_set(&settings, name, value, SETTING_ORIGIN_COMMAND_LINE, NULL, &error);
}

static int load(const char *text)
{
    return settings_load_text(&settings, text, strlen(text), "a.conf", false, &error);
}

static const char *put(const char *name, const char *text, mode_t mode)
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

/* ---- the table ---- */

static void every_entry_is_whole(void **state)
{
    (void)state;
    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];

        assert_non_null(setting->name);
        assert_null(strchr(setting->name, '_'));
        assert_true(strlen(setting->name) < SETTING_KEY_SIZE);
        assert_non_null(setting->meaning);
        assert_null(strchr(setting->meaning, '\n'));
        assert_true(setting->meaning[strlen(setting->meaning) - 1] != '.');
        assert_true(setting->commands != 0);
        assert_true((setting->kind == SETTING_KIND_CHOICE) == (setting->choices != NULL));
        if (setting->kind == SETTING_KIND_BOOLEAN)
            assert_non_null(setting->initial);
        else if (setting->kind != SETTING_KIND_CHOICE)
            assert_non_null(setting->placeholder);
        if (setting->kind == SETTING_KIND_REAL || setting->kind == SETTING_KIND_INTEGER)
            assert_true(setting->lowest < setting->highest);
        assert_non_null(setting_group_title(setting->group));
    }
}

static void names_letters_and_aliases_are_unique(void **state)
{
    (void)state;
    for (int a = 0; a < SETTING_COUNT; a++) {
        assert_int_equal(setting_find(settings_table[a].name, true), a);
        if (settings_table[a].alias)
            assert_int_equal(setting_find(settings_table[a].alias, true), a);
        assert_int_not_equal(settings_table[a].letter, 'h');
        for (int b = a + 1; b < SETTING_COUNT; b++) {
            if (settings_table[a].letter)
                assert_int_not_equal(settings_table[a].letter, settings_table[b].letter);
        }
    }
}

static void names_are_found_in_every_spelling(void **state)
{
    (void)state;
    char key[SETTING_KEY_SIZE];

    assert_int_equal(setting_find("sample-interval", false), SETTING_SAMPLE_INTERVAL);
    assert_int_equal(setting_find("sample_interval", false), SETTING_SAMPLE_INTERVAL);
    assert_int_equal(setting_find("s-i", true), SETTING_SAMPLE_INTERVAL);
    assert_int_equal(setting_find("s-i", false), -1);
    assert_int_equal(setting_find("sample", true), -1);
    assert_int_equal(setting_find("sample-intervals", true), -1);
    assert_int_equal(setting_find("", true), -1);
    assert_int_equal(setting_find_variable("METRON_SAMPLE_INTERVAL=1", 22), SETTING_SAMPLE_INTERVAL);
    assert_int_equal(setting_find_variable("METRON_SAMPLE_INTERVAL", 21), -1);
    assert_int_equal(setting_find_variable("METRON_JOBS", 11), -1);
    assert_int_equal(setting_find_variable("METRON_", 7), -1);
    assert_int_equal(setting_find_variable("metron_job", 10), -1);
    assert_string_equal(setting_key(&settings_table[SETTING_SAMPLE_INTERVAL], key), "sample_interval");
}

static void choices_are_in_the_order_of_their_enums(void **state)
{
    (void)state;
    const char *const *levels = settings_table[SETTING_LOG_LEVEL].choices;

    assert_string_equal(levels[LOG_LEVEL_NONE], "none");
    assert_string_equal(levels[LOG_LEVEL_WARNING], "warning");
    assert_string_equal(levels[LOG_LEVEL_DEBUG], "debug");
    assert_string_equal(settings_table[SETTING_OUTPUTS].choices[CHOICE_STREAMS_STDERR], "stderr");
    assert_string_equal(settings_table[SETTING_MODE].choices[CHOICE_MODE_CURRENT_SESSION], "current-session");
    assert_string_equal(settings_table[SETTING_WAIT].choices[CHOICE_WAIT_TREE], "tree");
    assert_string_equal(settings_table[SETTING_EVENTS].choices[CHOICE_EVENTS_OFF], "off");
    assert_string_equal(settings_table[SETTING_COLORS].choices[CHOICE_COLORS_NEVER], "never");
    assert_string_equal(settings_table[SETTING_RECORD_TYPES].choices[CHOICE_RECORD_TYPES_PROCESSES_SAMPLES],
                        "processes-samples");
    assert_null(settings_table[SETTING_CGROUP].choices[CHOICE_CGROUP_OFF + 1]);
}

/* ---- values ---- */

static void defaults_are_those_of_the_documents(void **state)
{
    (void)state;
    assert_string_equal(settings_text(&settings, SETTING_OUTPUT_PREFIX), ".metron/logs/{datetime}-{pid}_");
    assert_false(settings_flag(&settings, SETTING_CLOBBER));
    assert_int_equal(settings_choice(&settings, SETTING_CAPTURE_OUTPUTS), CHOICE_STREAMS_ALL);
    assert_true(settings_real(&settings, SETTING_SAMPLE_INTERVAL) == 1);
    assert_true(settings_real(&settings, SETTING_REPORT_INTERVAL) == 60);
    assert_true(settings_real(&settings, SETTING_FAIL_TIME) == 3);
    assert_int_equal(settings_choice(&settings, SETTING_LOG_LEVEL), LOG_LEVEL_INFO);
    assert_string_equal(settings_text(&settings, SETTING_MEASUREMENTS), "default");
    assert_string_equal(settings_text(&settings, SETTING_ENVIRONMENT), "SLURM_,PBS_,OSG");
    assert_true(settings_flag(&settings, SETTING_MASK_SECRETS));
    assert_int_equal(settings_choice(&settings, SETTING_EVENTS), CHOICE_EVENTS_AUTO);
    assert_false(settings_has(&settings, SETTING_JOB));
    assert_null(settings_text(&settings, SETTING_MESSAGE));
    assert_false(settings_has(&settings, SETTING_SHEET));
    assert_int_equal(settings_origin(&settings, SETTING_JOB), SETTING_ORIGIN_DEFAULT);
    assert_string_equal(settings_origin_text(&settings, SETTING_JOB), "default");
    assert_int_equal(settings_check(&settings, &error), 0);
}

static void booleans_take_the_usual_words(void **state)
{
    (void)state;
    static const char *const yes[] = {"yes", "true", "on", "1", "YES", "True"};
    static const char *const no[] = {"no", "false", "off", "0", "No"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        assert_int_equal(set("clobber", "no"), 0);
        assert_int_equal(set("clobber", yes[i]), 0);
        assert_true(settings_flag(&settings, SETTING_CLOBBER));
    }
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        assert_int_equal(set("clobber", "yes"), 0);
        assert_int_equal(set("clobber", no[i]), 0);
        assert_false(settings_flag(&settings, SETTING_CLOBBER));
    }
    assert_int_equal(set("clobber", "maybe"), -EINVAL);
    assert_non_null(strstr(error.message, "clobber"));
    assert_non_null(strstr(error.message, "maybe"));
    assert_int_equal(set("clobber", "2"), -EINVAL);
    assert_int_equal(set("clobber", ""), -EINVAL);
}

static void reals_are_finite_and_in_range(void **state)
{
    (void)state;
    assert_int_equal(set("sample-interval", "0.01"), 0);
    assert_true(settings_real(&settings, SETTING_SAMPLE_INTERVAL) == 0.01);
    static const char *const wrong[] = {"0",   "0.0099", "-1",  "nan", "inf", "1e999",
                                        "abc", "1s",     "1 2", "",    "1,5", "86401"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(set("sample-interval", wrong[i]), -EINVAL);
    assert_true(settings_real(&settings, SETTING_SAMPLE_INTERVAL) ==
                0.01); /* refused values change nothing */
    assert_string_equal(settings_text(&settings, SETTING_SAMPLE_INTERVAL), "0.01");
    assert_int_equal(set("fail-time", "-2.5"), 0);
    assert_true(settings_real(&settings, SETTING_FAIL_TIME) == -2.5);
    assert_int_equal(set("fail-time", "0"), 0);
}

static void integers_are_whole_and_in_range(void **state)
{
    (void)state;
    assert_int_equal(set("sheet", "2147483647"), 0);
    assert_int_equal(settings_integer(&settings, SETTING_SHEET), 2147483647);
    assert_int_equal(set("sheet", "0"), 0);
    assert_true(settings_has(&settings, SETTING_SHEET));
    static const char *const wrong[] = {"-1", "2147483648", "99999999999999999999", "1.5", "x", "1x"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(set("sheet", wrong[i]), -EINVAL);
    assert_int_equal(settings_integer(&settings, SETTING_SHEET), 0);
}

static void choices_take_their_words_only(void **state)
{
    (void)state;
    assert_int_equal(set("wait", "tree"), 0);
    assert_int_equal(settings_choice(&settings, SETTING_WAIT), CHOICE_WAIT_TREE);
    assert_int_equal(set("wait", "TREE"), -EINVAL);
    assert_string_equal(error.message, "wait: 'TREE' is not one of: root, tree");
    assert_int_equal(set("cgroup", "auto"), -EINVAL);
    assert_int_equal(set("cgroup", "off"), 0);
}

static void empty_texts_mean_what_the_setting_says(void **state)
{
    (void)state;
    assert_int_equal(set("job", "night"), 0);
    assert_int_equal(set("job", ""), 0);
    assert_false(settings_has(&settings, SETTING_JOB));
    assert_int_equal(set("sheet", "3"), 0);
    assert_int_equal(set("sheet", ""), 0);
    assert_false(settings_has(&settings, SETTING_SHEET));
    assert_int_equal(set("summary-format", ""), 0);
    assert_string_equal(settings_text(&settings, SETTING_SUMMARY_FORMAT), "");
    assert_int_equal(set("environment", ""), 0);
    assert_int_equal(set("output-prefix", ""), -EINVAL);
    assert_int_equal(set("measurements", ""), -EINVAL);
}

static void unknown_settings_name_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(set("sampel-interval", "1"), -ENOENT);
    assert_string_equal(error.message, "unknown setting 'sampel-interval' (did you mean 'sample-interval'?)");
}

static void reports_are_never_below_samples(void **state)
{
    (void)state;
    assert_int_equal(set("sample-interval", "10"), 0);
    assert_int_equal(set("report-interval", "10"), 0);
    assert_int_equal(settings_check(&settings, &error), 0);
    assert_int_equal(set("report-interval", "9.9"), 0);
    assert_int_equal(settings_check(&settings, &error), -EINVAL);
    assert_non_null(strstr(error.message, "report-interval 9.9 (command line)"));
    assert_non_null(strstr(error.message, "sample-interval 10 (command line)"));
}

static void lists_are_walked_item_by_item(void **state)
{
    (void)state;
    const char *cursor = " a, bc ,,d e,";
    size_t length;
    const char *item = settings_list_next(&cursor, &length);

    assert_int_equal(length, 1);
    assert_memory_equal(item, "a", 1);
    item = settings_list_next(&cursor, &length);
    assert_int_equal(length, 2);
    assert_memory_equal(item, "bc", 2);
    item = settings_list_next(&cursor, &length);
    assert_int_equal(length, 3);
    assert_memory_equal(item, "d e", 3);
    assert_null(settings_list_next(&cursor, &length));
    assert_null(settings_list_next(&cursor, &length));
    cursor = "";
    assert_null(settings_list_next(&cursor, &length));
    cursor = " , ,";
    assert_null(settings_list_next(&cursor, &length));
}

/* ---- who wins ---- */

static void later_sources_win_in_any_order_of_loading(void **state)
{
    (void)state;
    char *environment[] = {"METRON_SAMPLE_INTERVAL=3", "METRON_JOB=env", NULL};

    assert_int_equal(set("sample-interval", "4"), 0); /* the command line, loaded first */
    assert_int_equal(settings_load_environment(&settings, environment, &error), 0);
    assert_int_equal(load("sample_interval = 2\njob = file\nmessage = file\n"), 0);

    assert_true(settings_real(&settings, SETTING_SAMPLE_INTERVAL) == 4);
    assert_string_equal(settings_origin_text(&settings, SETTING_SAMPLE_INTERVAL), "command line");
    assert_string_equal(settings_text(&settings, SETTING_JOB), "env");
    assert_string_equal(settings_origin_text(&settings, SETTING_JOB), "METRON_JOB");
    assert_int_equal(settings_origin(&settings, SETTING_JOB), SETTING_ORIGIN_ENVIRONMENT);
    assert_string_equal(settings_text(&settings, SETTING_MESSAGE), "file");
    assert_string_equal(settings_origin_text(&settings, SETTING_MESSAGE), "a.conf:3");
}

static void later_files_win_over_earlier_ones(void **state)
{
    (void)state;
    struct settings_places places = {
        .system_file = put("system", "job = system\nmessage = system\nsheet = 1\n", 0644),
        .user_file = put("user", "job = user\nmessage = user\n", 0644),
        .local_file = put("local", "job = local\n", 0644),
        .owner = geteuid(),
    };

    assert_int_equal(settings_load_files(&settings, &places, &error), 0);
    assert_string_equal(settings_text(&settings, SETTING_JOB), "local");
    assert_string_equal(settings_text(&settings, SETTING_MESSAGE), "user");
    assert_int_equal(settings_integer(&settings, SETTING_SHEET), 1);
    assert_int_equal(settings.notice_count, 0);
}

static void missing_files_are_nothing_special(void **state)
{
    (void)state;
    struct settings_places places = {
        .system_file = "/nonexistent/metron.conf",
        .user_file = NULL,
        .local_file = "/dev/null/metron.conf",
        .owner = geteuid(),
    };

    assert_int_equal(settings_load_files(&settings, &places, &error), 0);
    assert_int_equal(settings.notice_count, 0);
}

/* ---- the local file ---- */

static void load_local(const char *path, uid_t owner)
{
    struct settings_places places = {.local_file = path, .owner = owner};

    assert_int_equal(settings_load_files(&settings, &places, &error), 0);
}

static void a_local_file_of_somebody_else_is_ignored_and_told(void **state)
{
    (void)state;
    const char *path = put("local", "job = local\n", 0600);

    /* Root's own files are always trusted, so the file is given away where this test may do that. */
    if (geteuid() == 0 && chown(path, 4711, (gid_t)-1) < 0) {
        print_message("# no other user in this namespace: not tested\n");
        return;
    }
    load_local(path, geteuid() == 0 ? 0 : geteuid() + 1);
    assert_false(settings_has(&settings, SETTING_JOB));
    assert_int_equal(settings.notice_count, 1);
    assert_non_null(strstr(settings.notices[0].message, path));
    assert_non_null(strstr(settings.notices[0].message, "another user"));
    if (geteuid() == 0) {
        load_local(path, 4711); /* its owner reads it */
        assert_string_equal(settings_text(&settings, SETTING_JOB), "local");
    }
}

static void a_local_file_that_others_can_write_is_ignored_and_told(void **state)
{
    (void)state;
    load_local(put("local", "job = local\n", 0620), geteuid());
    load_local(put("local", "job = local\n", 0602), geteuid());
    assert_false(settings_has(&settings, SETTING_JOB));
    assert_int_equal(settings.notice_count, 2);
    load_local(put("local", "job = local\n", 0644), geteuid());
    assert_true(settings_has(&settings, SETTING_JOB));
}

static void a_fifo_in_place_of_the_local_file_holds_nobody(void **state)
{
    (void)state;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    load_local(path, geteuid());
    assert_int_equal(settings.notice_count, 1);
}

static void a_local_file_cannot_unmask_or_overwrite(void **state)
{
    (void)state;
    const char *const texts[] = {"mask_secrets = no\n", "[run]\nclobber = yes\n"};

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            settings_load_text(&settings, texts[i], strlen(texts[i]), "local.conf", true, &error), -EINVAL);
        assert_non_null(strstr(error.message, "local.conf:"));
    }
    assert_true(settings_flag(&settings, SETTING_MASK_SECRETS));
    assert_int_equal(load("mask_secrets = no\n"), 0); /* a file of the user's own can */
    assert_false(settings_flag(&settings, SETTING_MASK_SECRETS));
}

/* ---- the text of a file ---- */

static void keys_stand_in_no_section_or_in_their_commands(void **state)
{
    (void)state;
    assert_int_equal(load("\xef\xbb\xbf# comment\n; comment\n\n  job=a b  ; note\r\n[run]\n\twait : tree\n"
                          "sample-interval=0.5"),
                     0);
    assert_string_equal(settings_text(&settings, SETTING_JOB), "a b");
    assert_int_equal(settings_choice(&settings, SETTING_WAIT), CHOICE_WAIT_TREE);
    assert_true(settings_real(&settings, SETTING_SAMPLE_INTERVAL) == 0.5);
    assert_string_equal(settings_origin_text(&settings, SETTING_SAMPLE_INTERVAL), "a.conf:7");
}

static void sections_of_other_commands_are_checked_not_taken(void **state)
{
    (void)state;
    struct settings other;

    assert_int_equal(settings_init(&other, COMMAND_DOCTOR), 0);
    assert_int_equal(settings_load_text(&other, "[run]\njob = a\n", 14, "a.conf", false, &error), 0);
    assert_false(settings_has(&other, SETTING_JOB));
    assert_int_equal(settings_load_text(&other, "[run]\nwait = b\n", 15, "a.conf", false, &error), -EINVAL);
    settings_fini(&other);
}

static void check_refusal(const char *text, const char *expected)
{
    assert_int_equal(load(text), -EINVAL);
    assert_string_equal(error.message, expected);
}

static void mistakes_name_file_line_and_key(void **state)
{
    (void)state;
    check_refusal("\n# x\nsampel_interval = 1\n",
                  "a.conf:3: unknown key 'sampel_interval' (did you mean 'sample_interval'?)");
    check_refusal("job = a\nsample_interval = abc\n", "a.conf:2: sample_interval: 'abc' is not a number");
    check_refusal("wait = never\n", "a.conf:1: wait: 'never' is not one of: root, tree");
    check_refusal("s-i = 1\n", "a.conf:1: unknown key 's-i'"); /* aliases are for fingers */
    check_refusal("job = a\n\njob = b\n", "a.conf:3: job is already set on line 1");
    check_refusal("job = a\n[run]\njob = b\n", "a.conf:3: job is already set on line 1");
    check_refusal("\n[runn]\njob = b\n",
                  "a.conf:3: key 'job' is in the unknown section [runn]; keys stand in no "
                  "section or in [run]");
    check_refusal("job = a\njust words\n", "a.conf:2: 'just words' is not of the form 'key = value'");
    check_refusal("[run\njob = a\n", "a.conf:1: '[run' is not of the form 'key = value'");
    assert_int_equal(load("json = yes\n"), -EINVAL); /* an option, not a setting to keep */
}

static void the_first_mistake_is_told(void **state)
{
    (void)state;
    check_refusal("a line\nwait = never\n", "a.conf:1: 'a line' is not of the form 'key = value'");
    check_refusal("wait = never\na line\n", "a.conf:1: wait: 'never' is not one of: root, tree");
}

static void hostile_bytes_in_a_key_are_made_printable(void **state)
{
    (void)state;
    assert_int_equal(load("j\033[2Jb\xff = 1\n"), -EINVAL);
    assert_non_null(strstr(error.message, "j\\x1b[2Jb\\xff"));
}

static void nul_bytes_are_refused(void **state)
{
    (void)state;
    assert_int_equal(settings_load_text(&settings, "job = a\nx\0y = 1\n", 16, "a.conf", false, &error),
                     -EINVAL);
    assert_non_null(strstr(error.message, "a.conf:2: holds a NUL byte"));
}

static void long_values_are_taken_whole_or_refused(void **state)
{
    (void)state;
    static char text[20000];
    size_t length = 2000;

    (void)snprintf(text, sizeof(text), "message = ");
    memset(text + 10, 'm', length);
    text[10 + length] = '\0';
    assert_int_equal(load(text), 0);
    assert_int_equal(strlen(settings_text(&settings, SETTING_MESSAGE)), length);

    memset(text + 10, 'm', 17000);
    text[17010] = '\0';
    assert_int_equal(load(text), -EINVAL);
    assert_non_null(strstr(error.message, "a.conf:1: the line is longer than"));
}

static void indented_lines_are_lines_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(load("job = a\n    message = b\n"), 0);
    assert_string_equal(settings_text(&settings, SETTING_JOB), "a");
    assert_string_equal(settings_text(&settings, SETTING_MESSAGE), "b");
}

static void huge_files_are_refused(void **state)
{
    (void)state;
    char command[256];
    struct settings_places places = {0};
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/huge", folder);
    (void)snprintf(command, sizeof(command), "head -c 1048577 /dev/zero | tr '\\0' '\\n' > %s", path);
    assert_int_equal(system(command), 0);
    places.system_file = path;
    assert_int_equal(settings_load_files(&settings, &places, &error), -EFBIG);
    assert_non_null(strstr(error.message, path));
}

/* ---- the environment ---- */

static void bad_variables_are_named(void **state)
{
    (void)state;
    char *environment[] = {"PATH=/bin", "METRON_WAIT=forever", NULL};

    assert_int_equal(settings_load_environment(&settings, environment, &error), -EINVAL);
    assert_string_equal(error.message,
                        "environment variable METRON_WAIT: 'forever' is not one of: root, tree");
}

static void empty_and_foreign_variables_are_passed_over(void **state)
{
    (void)state;
    char *environment[] = {
        "METRON_WAIT=", "METRON_JSON=maybe", "METRON=x", "METRON_NEW_THING=1", "odd", NULL};

    assert_int_equal(settings_load_environment(&settings, environment, &error), 0);
    assert_int_equal(settings_origin(&settings, SETTING_WAIT), SETTING_ORIGIN_DEFAULT);
    assert_false(settings_flag(&settings, SETTING_JSON));
}

static void unknown_variables_can_be_listed(void **state)
{
    (void)state;
    char *environment[] = {"METRON_JOB=x",     "METRON_SAMPEL_INTERVAL=1",
                           "METRON=x",         "METRONOME=1",
                           "METRON_SHEET=1",   "METRON_WORKLOADS=x",
                           "METRON_SANITIZED", "METRON_JSON=1",
                           "METRON_SANITIZE=", NULL};
    static const char *const expected[] = {"METRON_SAMPEL_INTERVAL", "METRON_JSON", "METRON_SANITIZE"};
    size_t cursor = 0;
    size_t length;

    for (size_t i = 0; i < 3; i++) {
        const char *entry = settings_unknown_variable(environment, &cursor, &length);

        assert_non_null(entry);
        assert_int_equal(length, strlen(expected[i]));
        assert_memory_equal(entry, expected[i], length);
    }
    assert_null(settings_unknown_variable(environment, &cursor, &length));
}

static void places_follow_home_and_xdg(void **state)
{
    (void)state;
    struct settings_places places;
    char buffer[SETTINGS_PATH_SIZE];
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;

    (void)setenv("HOME", "/home/a", 1);
    (void)unsetenv("XDG_CONFIG_HOME");
    settings_places_init(&places, buffer);
    assert_string_equal(places.system_file, "/etc/metron/metron.conf");
    assert_string_equal(places.user_file, "/home/a/.config/metron/metron.conf");
    assert_string_equal(places.local_file, ".metron/metron.conf");
    (void)setenv("XDG_CONFIG_HOME", "/config", 1);
    settings_places_init(&places, buffer);
    assert_string_equal(places.user_file, "/config/metron/metron.conf");
    (void)setenv("XDG_CONFIG_HOME", "relative", 1);
    settings_places_init(&places, buffer);
    assert_string_equal(places.user_file, "/home/a/.config/metron/metron.conf");
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("HOME");
    settings_places_init(&places, buffer);
    assert_null(places.user_file);
    if (home)
        (void)setenv("HOME", home, 1);
    free(home);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_whole),
        cmocka_unit_test(names_letters_and_aliases_are_unique),
        cmocka_unit_test(names_are_found_in_every_spelling),
        cmocka_unit_test(choices_are_in_the_order_of_their_enums),
        TEST(defaults_are_those_of_the_documents),
        TEST(booleans_take_the_usual_words),
        TEST(reals_are_finite_and_in_range),
        TEST(integers_are_whole_and_in_range),
        TEST(choices_take_their_words_only),
        TEST(empty_texts_mean_what_the_setting_says),
        TEST(unknown_settings_name_the_nearest),
        TEST(reports_are_never_below_samples),
        cmocka_unit_test(lists_are_walked_item_by_item),
        TEST(later_sources_win_in_any_order_of_loading),
        TEST(later_files_win_over_earlier_ones),
        TEST(missing_files_are_nothing_special),
        TEST(a_local_file_of_somebody_else_is_ignored_and_told),
        TEST(a_local_file_that_others_can_write_is_ignored_and_told),
        TEST(a_fifo_in_place_of_the_local_file_holds_nobody),
        TEST(a_local_file_cannot_unmask_or_overwrite),
        TEST(keys_stand_in_no_section_or_in_their_commands),
        TEST(sections_of_other_commands_are_checked_not_taken),
        TEST(mistakes_name_file_line_and_key),
        TEST(the_first_mistake_is_told),
        TEST(hostile_bytes_in_a_key_are_made_printable),
        TEST(nul_bytes_are_refused),
        TEST(long_values_are_taken_whole_or_refused),
        TEST(indented_lines_are_lines_of_their_own),
        TEST(huge_files_are_refused),
        TEST(bad_variables_are_named),
        TEST(empty_and_foreign_variables_are_passed_over),
        TEST(unknown_variables_can_be_listed),
        TEST(places_follow_home_and_xdg),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
