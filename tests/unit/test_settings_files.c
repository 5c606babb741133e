/* Settings files: what they may say, whose they may be, and who wins among default, files, environment and
 * command line. */
#include "settings/files.h"

#include "settings_fixture.h"

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

/* "folder/NAME", where the folder may be a link. */
static const char *below(const char *name, const char *file)
{
    static char path[192];

    (void)snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
    return path;
}

static void check_ignored(const char *path, const char *why)
{
    assert_false(settings_has(&settings, SETTING_JOB));
    assert_int_equal(settings.notice_count, 1);
    assert_non_null(strstr(settings.notices[0].message, path));
    assert_non_null(strstr(settings.notices[0].message, why));
    settings.notice_count = 0;
}

static void a_link_in_place_of_the_local_file_is_ignored_with_a_notice(void **state)
{
    (void)state;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/metron.conf", folder);
    assert_int_equal(symlink(put("other", "job = local\n", 0600), path), 0);
    load_local(path, geteuid());
    check_ignored(path, "link");
}

/* `.metron` itself may be a link, but one's own. */
static void the_local_folder_may_be_a_link_of_ones_own(void **state)
{
    (void)state;
    const char *path = below("link", "local");
    char link[128];

    (void)put("local", "job = local\n", 0600);
    (void)snprintf(link, sizeof(link), "%s/link", folder);
    assert_int_equal(symlink(folder, link), 0);
    if (geteuid() == 0 && lchown(link, 4711, (gid_t)-1) == 0) {
        load_local(path, 0);
        check_ignored(path, "link of another user");
        assert_int_equal(lchown(link, 0, (gid_t)-1), 0);
    }
    load_local(path, geteuid());
    assert_string_equal(settings_text(&settings, SETTING_JOB), "local");
    load_local(below("link", "nothing"), geteuid()); /* one that is not there is not spoken of */
    assert_int_equal(settings.notice_count, 0);
}

static void a_local_folder_of_somebody_else_is_ignored_with_a_notice(void **state)
{
    (void)state;
    const char *path = put("local", "job = local\n", 0600);

    if (geteuid() != 0 || chown(folder, 4711, (gid_t)-1) < 0) {
        print_message("# the folder cannot be given away: not tested\n");
        return;
    }
    load_local(path, 0); /* the file is root's: another name of one, perhaps */
    check_ignored(path, "folder belongs to another user");
}

/* ---- the user's file ---- */

static void load_user(const char *path, uid_t owner)
{
    struct settings_places places = {.user_file = path, .owner = owner};

    assert_int_equal(settings_load_files(&settings, &places, &error), 0);
}

/* sudo may keep HOME: root must not take another user's settings. */
static void a_users_file_of_somebody_else_is_ignored_with_a_notice(void **state)
{
    (void)state;
    const char *path = put("user", "job = user\n", 0660);

    if (geteuid() == 0 && chown(path, 4711, (gid_t)-1) < 0) {
        print_message("# no other user in this namespace: not tested\n");
        return;
    }
    load_user(path, geteuid() == 0 ? 0 : geteuid() + 1);
    check_ignored(path, "another user");
    if (geteuid() == 0)
        assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    load_user(path, geteuid());
    assert_string_equal(settings_text(&settings, SETTING_JOB), "user");
}

/* A link in a folder of one's own is one's own; in the HOME of another it may lead to any file of root's. */
static void a_users_file_may_be_a_link_in_a_folder_of_ones_own(void **state)
{
    (void)state;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/metron.conf", folder);
    assert_int_equal(symlink(put("dotfile", "job = user\n", 0600), path), 0);
    if (geteuid() == 0 && chown(folder, 4711, (gid_t)-1) == 0) {
        load_user(path, 0);
        check_ignored(path, "folder belongs to another user");
        assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
    }
    load_user(path, geteuid());
    assert_string_equal(settings_text(&settings, SETTING_JOB), "user");
}

static void a_local_file_cannot_unmask_overwrite_or_break(void **state)
{
    (void)state;
    const char *const texts[] = {"mask_secrets = no\n", "[run]\nclobber = yes\n", "break_readers = stat\n",
                                 "secret_names = x\n", "secret_patterns = x\n"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
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
    check_refusal("job = a\nsample_interval = abc\n",
                  "a.conf:2: sample_interval: 'abc' is neither a number nor auto");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(later_sources_win_in_any_order_of_loading),
        TEST(later_files_win_over_earlier_ones),
        TEST(missing_files_are_nothing_special),
        TEST(a_local_file_of_somebody_else_is_ignored_and_told),
        TEST(a_local_file_that_others_can_write_is_ignored_and_told),
        TEST(a_fifo_in_place_of_the_local_file_holds_nobody),
        TEST(a_link_in_place_of_the_local_file_is_ignored_with_a_notice),
        TEST(the_local_folder_may_be_a_link_of_ones_own),
        TEST(a_local_folder_of_somebody_else_is_ignored_with_a_notice),
        TEST(a_users_file_of_somebody_else_is_ignored_with_a_notice),
        TEST(a_users_file_may_be_a_link_in_a_folder_of_ones_own),
        TEST(a_local_file_cannot_unmask_overwrite_or_break),
        TEST(keys_stand_in_no_section_or_in_their_commands),
        TEST(sections_of_other_commands_are_checked_not_taken),
        TEST(mistakes_name_file_line_and_key),
        TEST(the_first_mistake_is_told),
        TEST(hostile_bytes_in_a_key_are_made_printable),
        TEST(nul_bytes_are_refused),
        TEST(long_values_are_taken_whole_or_refused),
        TEST(indented_lines_are_lines_of_their_own),
        TEST(huge_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
