/* Settings: the table's own sanity, values and ranges, and what the environment sets. */
#include "settings/settings.h"

#include "settings_fixture.h"

#include "base/log.h"
#include "probe/cgroup/target.h"

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
        if (!(settings_table[a].traits & SETTING_OPTION_ONLY))
            assert_int_equal(setting_find(settings_table[a].name, true), a);
        if (settings_table[a].alias)
            assert_int_equal(setting_find(settings_table[a].alias, true), a);
        assert_int_not_equal(settings_table[a].letter, 'h');
        for (int b = a + 1; b < SETTING_COUNT; b++) {
            /* Options of different commands may share a name if nothing but an option sets them. */
            if (strcmp(settings_table[a].name, settings_table[b].name) == 0) {
                assert_false(settings_table[a].commands & settings_table[b].commands);
                assert_true(settings_table[a].traits & settings_table[b].traits & SETTING_OPTION_ONLY);
            }
            if (settings_table[a].letter && (settings_table[a].commands & settings_table[b].commands))
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
    const char *const *cgroups = settings_table[SETTING_CGROUP].choices;
    assert_string_equal(cgroups[CGROUP_MODE_AUTO], "auto");
    assert_string_equal(cgroups[CGROUP_MODE_OWN], "own");
    assert_string_equal(cgroups[CGROUP_MODE_INHERITED], "inherited");
    assert_string_equal(cgroups[CGROUP_MODE_OFF], "off");
    assert_null(cgroups[CHOICE_CGROUP_OFF + 1]);
}

/* ---- values ---- */

static void defaults_are_those_of_the_documents(void **state)
{
    (void)state;
    assert_string_equal(settings_text(&settings, SETTING_OUTPUT_PREFIX), ".metron/logs/{datetime}-{pid}_");
    assert_false(settings_flag(&settings, SETTING_CLOBBER));
    assert_int_equal(settings_choice(&settings, SETTING_CAPTURE_OUTPUTS), CHOICE_STREAMS_ALL);
    assert_string_equal(settings_text(&settings, SETTING_SAMPLE_INTERVAL), "auto");
    assert_true(settings_is_auto(&settings, SETTING_SAMPLE_INTERVAL));
    assert_true(settings_real(&settings, SETTING_SAMPLE_INTERVAL) == 1);
    assert_true(settings_is_auto(&settings, SETTING_REPORT_INTERVAL));
    assert_true(settings_real(&settings, SETTING_REPORT_INTERVAL) == 60);
    assert_true(settings_real(&settings, SETTING_FAIL_TIME) == 3);
    assert_true(settings_real(&settings, SETTING_KILL_AFTER) == 10);
    assert_int_equal(settings_choice(&settings, SETTING_LOG_LEVEL), LOG_LEVEL_INFO);
    assert_string_equal(settings_text(&settings, SETTING_MEASUREMENTS), "default");
    assert_string_equal(
        settings_text(&settings, SETTING_ENVIRONMENT),
        "SLURM_,PBS_,LSB_JOBID,LSB_JOBINDEX,LSB_MCPU_HOSTS,SGE_TASK_ID,JOB_ID,NSLOTS,NHOSTS,OSG");
    assert_true(settings_flag(&settings, SETTING_MASK_SECRETS));
    assert_int_equal(settings_choice(&settings, SETTING_EVENTS), CHOICE_EVENTS_AUTO);
    assert_int_equal(settings_choice(&settings, SETTING_CGROUP), CHOICE_CGROUP_AUTO);
    assert_true(settings_flag(&settings, SETTING_SMAPS));
    assert_true(settings_real(&settings, SETTING_SMAPS_INTERVAL) == 0); /* five samples */
    assert_true(settings_real(&settings, SETTING_SMAPS_BUDGET) == 0.2);
    assert_true(settings_real(&settings, SETTING_SMAPS_LIMIT) == 8);
    assert_null(settings_text(&settings, SETTING_BREAK_READERS));
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
    assert_int_equal(set("wait", "ROOT"), 0); /* in any case, as yes and no */
    assert_int_equal(settings_choice(&settings, SETTING_WAIT), CHOICE_WAIT_ROOT);
    assert_int_equal(set("wait", "trees"), -EINVAL);
    assert_string_equal(error.message, "wait: 'trees' is not one of: root, tree");
    assert_int_equal(set("log_level", "CRITICAL"), 0); /* con-duct's word */
    assert_string_equal(
        settings_table[SETTING_LOG_LEVEL].choices[settings_choice(&settings, SETTING_LOG_LEVEL)], "error");
    assert_int_equal(set("cgroup", "none"), -EINVAL);
    assert_string_equal(error.message, "cgroup: 'none' is not one of: auto, own, inherited, off");
    assert_int_equal(set("cgroup", "inherited"), 0);
    assert_int_equal(settings_choice(&settings, SETTING_CGROUP), CHOICE_CGROUP_INHERITED);
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

static void the_cost_of_pss_can_be_bounded(void **state)
{
    (void)state;
    assert_int_equal(set("smaps", "no"), 0);
    assert_false(settings_flag(&settings, SETTING_SMAPS));
    assert_int_equal(set("smaps-interval", "0.5"), 0);
    assert_int_equal(set("smaps-budget", "0"), 0);
    assert_int_equal(set("smaps-limit", "0.25"), 0);
    assert_true(settings_real(&settings, SETTING_SMAPS_LIMIT) == 0.25);
    assert_int_equal(set("smaps-interval", "-1"), -EINVAL);
    assert_int_equal(set("smaps-budget", "forever"), -EINVAL);
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

static void an_interval_is_a_number_or_auto(void **state)
{
    (void)state;
    assert_int_equal(set("report-interval", "0.5"), 0);
    assert_false(settings_is_auto(&settings, SETTING_REPORT_INTERVAL));
    assert_int_equal(settings_check(&settings, &error), -EINVAL);
    assert_non_null(strstr(error.message, "is below sample-interval 1 (auto)"));
    assert_non_null(strstr(error.message, ". Set sample-interval to at most 0.5"));
    assert_int_equal(set("report-interval", "AUTO"), 0);
    assert_true(settings_is_auto(&settings, SETTING_REPORT_INTERVAL));
    assert_int_equal(set("sample-interval", "120"), 0); /* a report with each of these */
    assert_int_equal(settings_check(&settings, &error), 0);
    assert_int_equal(set("sample-interval", "automatic"), -EINVAL);
    assert_string_equal(error.message, "sample-interval: 'automatic' is neither a number nor auto");
    assert_int_equal(set("fail-time", "auto"), -EINVAL);
    assert_string_equal(error.message, "fail-time: 'auto' is not a number");
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

static void a_comma_in_brackets_separates_nothing(void **state)
{
    (void)state;
    const char *cursor = "a{2,3}b[,;]{1,} , c{d,e[";
    static const char *const items[] = {"a{2,3}b[,;]{1,}", "c{d", "e["};
    size_t length;

    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        const char *item = settings_list_next(&cursor, &length);

        assert_int_equal(length, strlen(items[i]));
        assert_memory_equal(item, items[i], length);
    }
    assert_null(settings_list_next(&cursor, &length));
}

static void each_pattern_is_checked(void **state)
{
    (void)state;
    assert_int_equal(set("secret-patterns", "a{2,3},[0-9]+,(b|c)"), 0);
    assert_int_equal(set("secret_patterns", "a{2,3}, [0-9"), -EINVAL);
    assert_non_null(strstr(error.message, "secret-patterns: cannot compile the pattern '[0-9': Unmatched ["));
    assert_int_equal(set("secret_patterns", "(?:a)"), -EINVAL);
    assert_string_equal(error.message,
                        "secret-patterns: cannot compile the pattern '(?:a)': Invalid preceding "
                        "regular expression (use POSIX extended syntax, as grep -E does)");
    assert_string_equal(settings_text(&settings, SETTING_SECRET_PATTERNS), "a{2,3},[0-9]+,(b|c)");
    assert_int_equal(set("secret-patterns", ""), 0);
    assert_false(settings_has(&settings, SETTING_SECRET_PATTERNS));
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
        TEST(the_cost_of_pss_can_be_bounded),
        TEST(unknown_settings_name_the_nearest),
        TEST(reports_are_never_below_samples),
        TEST(an_interval_is_a_number_or_auto),
        cmocka_unit_test(lists_are_walked_item_by_item),
        cmocka_unit_test(a_comma_in_brackets_separates_nothing),
        cmocka_unit_test(each_pattern_is_checked),
        TEST(bad_variables_are_named),
        TEST(empty_and_foreign_variables_are_passed_over),
        TEST(unknown_variables_can_be_listed),
        TEST(places_follow_home_and_xdg),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
