/* Options: where parsing stops, how values arrive, what is said about mistakes, and the texts made from the
 * same table. */
#include "settings/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "settings/options_help.h"

static const struct command_description run = {
    .name = "run",
    .summary = "run a command - and record what it used",
    .usage = "[OPTION...] [--] COMMAND [ARGUMENT...]",
    .description =
        "Runs a command and follows every process that descends from it, with a text that is longer than "
        "one line has columns.\n\n.A second paragraph begins with a point.",
    .examples = "  metron run -- make -j8\n",
    .command = COMMAND_RUN,
};

static struct settings settings;
static struct metron_error error;
static int first;

static int setup(void **state)
{
    (void)state;
    error = (struct metron_error){0};
    return settings_init(&settings, COMMAND_RUN);
}

static int teardown(void **state)
{
    (void)state;
    settings_fini(&settings);
    return 0;
}

#define PARSE(...) parse((char *[]){"run", __VA_ARGS__, NULL})

static int parse(char **argv)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    return options_parse(&run, argc, argv, &settings, &first, &error);
}

static void options_become_settings_of_the_command_line(void **state)
{
    (void)state;
    assert_int_equal(PARSE("-p", "logs/", "--clobber", "--s-i", "0.5", "--report-interval=7", "-m", "", "-qc",
                           "none", "--sheet", "4", "ls", "-l"),
                     OPTIONS_PARSED);
    assert_int_equal(first, 13);
    assert_string_equal(settings_text(&settings, SETTING_OUTPUT_PREFIX), "logs/");
    assert_true(settings_flag(&settings, SETTING_CLOBBER));
    assert_true(settings_real(&settings, SETTING_SAMPLE_INTERVAL) == 0.5);
    assert_true(settings_real(&settings, SETTING_REPORT_INTERVAL) == 7);
    assert_false(settings_has(&settings, SETTING_MESSAGE));
    assert_true(settings_flag(&settings, SETTING_QUIET));
    assert_int_equal(settings_choice(&settings, SETTING_CAPTURE_OUTPUTS), CHOICE_STREAMS_NONE);
    assert_int_equal(settings_integer(&settings, SETTING_SHEET), 4);
    assert_int_equal(settings_origin(&settings, SETTING_CLOBBER), SETTING_ORIGIN_COMMAND_LINE);
    assert_string_equal(settings_origin_text(&settings, SETTING_CLOBBER), "command line");
}

static void flags_can_be_turned_off_and_the_last_one_wins(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--no-mask-secrets", "--clobber", "--no-clobber", "--no-pty", "--pty"), 0);
    assert_false(settings_flag(&settings, SETTING_MASK_SECRETS));
    assert_false(settings_flag(&settings, SETTING_CLOBBER));
    assert_true(settings_flag(&settings, SETTING_PTY));
    assert_int_equal(first, 6);
}

static void parsing_stops_at_the_first_operand(void **state)
{
    (void)state;
    assert_int_equal(PARSE("-q", "true", "--help", "--foo"), OPTIONS_PARSED);
    assert_int_equal(first, 2);
    assert_int_equal(PARSE("-q", "--", "-x"), OPTIONS_PARSED);
    assert_int_equal(first, 3);
    assert_int_equal(PARSE("--", "--", "x"), OPTIONS_PARSED);
    assert_int_equal(first, 2);
    assert_int_equal(PARSE("-", "x"), OPTIONS_PARSED);
    assert_int_equal(first, 1);
    assert_int_equal(PARSE("-q"), OPTIONS_PARSED);
    assert_int_equal(first, 2);
    assert_int_equal(PARSE("-q", "--"), OPTIONS_PARSED);
    assert_int_equal(first, 3);
}

static void help_is_told_apart_even_before_mistakes(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--help"), OPTIONS_HELP);
    assert_int_equal(PARSE("-q", "-h", "--nonsense"), OPTIONS_HELP);
    assert_int_equal(PARSE("-?"), OPTIONS_HELP);
    assert_int_equal(PARSE("-qhp"), OPTIONS_HELP);
    assert_null(settings_text(&settings, SETTING_MESSAGE));
    assert_int_equal(PARSE("-hm"), OPTIONS_HELP);
    assert_null(settings_text(&settings, SETTING_MESSAGE));
    assert_int_equal(PARSE("--usage"), OPTIONS_USAGE);
    assert_int_equal(PARSE("--help", "ls"), OPTIONS_HELP);
}

static void unique_abbreviations_are_taken(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--sample", "2", "--no-m"), OPTIONS_PARSED);
    assert_true(settings_real(&settings, SETTING_SAMPLE_INTERVAL) == 2);
    assert_false(settings_flag(&settings, SETTING_MASK_SECRETS));
}

static void check_mistake(int result, const char *expected)
{
    assert_int_equal(result, -EINVAL);
    assert_int_equal(error.code, -EINVAL);
    assert_string_equal(error.message, expected);
}

static void unknown_options_are_named_with_the_nearest(void **state)
{
    (void)state;
    check_mistake(
        PARSE("--sampel-interval", "3", "ls"),
        "run: unknown option '--sampel-interval' (did you mean '--sample-interval'?); see 'metron run "
        "--help'");
    check_mistake(PARSE("--zzzzzzz=1"), "run: unknown option '--zzzzzzz'; see 'metron run --help'");
    check_mistake(PARSE("-q", "-x"), "run: unknown option '-x'; see 'metron run --help'");
    /* in the middle of a cluster, after a value that looks like an option, before more letters */
    check_mistake(PARSE("-qxq"), "run: unknown option '-x'; see 'metron run --help'");
    check_mistake(PARSE("-m", "-z", "-yq"), "run: unknown option '-y'; see 'metron run --help'");
    check_mistake(PARSE("--json"), error.message); /* another command's */
    assert_non_null(strstr(error.message, "unknown option '--json'"));
}

static void a_mistake_behind_operands_is_named(void **state)
{
    static const struct command_description ls = {
        .name = "ls", .command = COMMAND_LS, .options_anywhere = true};

    (void)state;
    check_mistake(options_parse(&ls, 3, (char *[]){"ls", "foo", "--nosuch", NULL}, &settings, &first, &error),
                  "ls: unknown option '--nosuch'; see 'metron ls --help'");
    check_mistake(options_parse(&ls, 6, (char *[]){"ls", "foo", "--json", "-", "", "-Z", NULL}, &settings,
                                &first, &error),
                  "ls: unknown option '-Z'; see 'metron ls --help'");
    check_mistake(options_parse(&ls, 3, (char *[]){"ls", "x", "--json=3", NULL}, &settings, &first, &error),
                  "ls: option '--json' takes no value; see 'metron ls --help'");
    check_mistake(options_parse(&ls, 3, (char *[]){"ls", "", "--filter", NULL}, &settings, &first, &error),
                  "ls: option '--filter' needs a value; see 'metron ls --help'");
}

static void missing_and_needless_values_are_told(void **state)
{
    (void)state;
    check_mistake(PARSE("--job"), "run: option '--job' needs a value; see 'metron run --help'");
    check_mistake(PARSE("--s-i"), "run: option '--s-i' needs a value; see 'metron run --help'");
    check_mistake(PARSE("-q", "-p"), "run: option '-p' needs a value; see 'metron run --help'");
    check_mistake(PARSE("-qp"), "run: option '-qp' needs a value; see 'metron run --help'");
    check_mistake(PARSE("--clobber=yes", "ls"),
                  "run: option '--clobber' takes no value; see 'metron run --help'");
}

static void ambiguous_options_name_what_they_could_be(void **state)
{
    (void)state;
    check_mistake(PARSE("--m", "x"),
                  "run: '--m' could be any of --mask-secrets, --message, --mode, --measurements");
}

static void bad_values_name_option_and_reason(void **state)
{
    (void)state;
    check_mistake(PARSE("--s-i", "0", "ls"),
                  "run: --sample-interval: '0' is out of range (from 0.01 to 86400)");
    check_mistake(PARSE("-c", "some", "ls"),
                  "run: --capture-outputs: 'some' is not one of: all, none, stdout, stderr");
    check_mistake(PARSE("-m", "x", "--cgroup=none", "ls"),
                  "run: --cgroup: 'none' is not one of: auto, own, inherited, off");
}

static void an_option_that_would_hide_the_first_is_refused(void **state)
{
    (void)state;
    static const struct command_description list = {.name = "ls",
                                                    .summary = "s",
                                                    .usage = "u",
                                                    .description = "d",
                                                    .command = COMMAND_LS,
                                                    .options_anywhere = true};
    char *filters[] = {"ls", "--filter", "wall > 1", "--reverse", "--filter=wall < 9", NULL};
    char *fields[] = {"ls", "-F", "wall", "path", "--fields", "job", NULL};
    char *sorts[] = {"ls", "--sort", "wall", "--sort", "wall", NULL};
    char *flags[] = {"ls", "--reverse", "--json", "--reverse", "-f", "csv", "-f", "json", NULL};

    check_mistake(options_parse(&list, 5, filters, &settings, &first, &error),
                  "ls: --filter was given twice; join them with 'and'");
    check_mistake(options_parse(&list, 6, fields, &settings, &first, &error),
                  "ls: --fields was given twice; join them with a comma");
    check_mistake(options_parse(&list, 5, sorts, &settings, &first, &error),
                  "ls: --sort was given twice; join them with a comma");
    assert_int_equal(options_parse(&list, 8, flags, &settings, &first, &error), OPTIONS_PARSED);
    /* Of run's the last wins, so that a script's can be set aside. */
    assert_int_equal(PARSE("--job", "a", "--job", "b"), OPTIONS_PARSED);
    assert_string_equal(settings_text(&settings, SETTING_JOB), "b");
}

static void hostile_option_names_are_made_printable(void **state)
{
    (void)state;
    char huge[5000];

    memset(huge, 'x', sizeof(huge));
    memcpy(huge, "--", 2);
    huge[sizeof(huge) - 1] = '\0';
    assert_int_equal(PARSE(huge), -EINVAL);
    assert_int_equal(PARSE("--a\033[2J\n\xff"), -EINVAL);
    assert_non_null(strstr(error.message, "--a\\x1b[2J\\x0a\\xff"));
    assert_int_equal(PARSE("-\xff"), -EINVAL);
    assert_non_null(strstr(error.message, "-\\xff"));
    assert_int_equal(PARSE("--=1"), -EINVAL);
}

static void every_option_of_the_command_is_accepted(void **state)
{
    (void)state;
    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];
        char name[SETTING_KEY_SIZE + 2];

        if (!(setting->commands & COMMAND_RUN))
            continue;
        (void)snprintf(name, sizeof(name), "--%s", setting->name);
        if (setting->kind == SETTING_KIND_BOOLEAN)
            assert_int_equal(PARSE(name, "ls"), OPTIONS_PARSED);
        else
            assert_int_equal(PARSE(name, (char *)(setting->initial ? setting->initial : "1"), "ls"),
                             OPTIONS_PARSED);
        assert_int_equal(settings_origin(&settings, (enum setting_id)id), SETTING_ORIGIN_COMMAND_LINE);
    }
}

static void help_shows_every_option_in_80_columns(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;

    options_help(&run, &out);
    assert_false(out.failed);
    assert_memory_equal(out.data, "Usage: metron run [OPTION...] [--] COMMAND [ARGUMENT...]\n\n", 58);
    for (const char *line = out.data; *line != '\0';) {
        size_t length = strcspn(line, "\n");

        assert_in_range(length, 0, 80);
        assert_true(length == 0 || line[length - 1] != ' ');
        line += length + 1;
    }
    for (int id = 0; id < SETTING_COUNT; id++) {
        char name[SETTING_KEY_SIZE + 8];

        /* An option's name is followed by its argument, another name, or its meaning. */
        (void)snprintf(name, sizeof(name), " --%s%s%s",
                       id == SETTING_MASK_SECRETS || id == SETTING_SMAPS ? "no-" : "",
                       settings_table[id].name, settings_table[id].alias ? "," : " ");
        if (settings_table[id].commands & COMMAND_RUN)
            assert_non_null(strstr(out.data, name));
        else
            assert_null(strstr(out.data, name));
    }
    assert_non_null(strstr(out.data, "  -p, --output-prefix P"));
    assert_non_null(strstr(out.data, "      --fail-time, --f-t S  remove"));
    assert_non_null(strstr(out.data, "(default: auto)"));
    assert_non_null(strstr(out.data, "\nExamples:\n  metron run -- make -j8\n"));
    strbuf_fini(&out);
}

static void other_commands_have_their_own_help(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    struct command_description doctor = {
        .name = "doctor",
        .summary = "s",
        .usage = "[OPTION...]",
        .description = "d",
        .command = COMMAND_DOCTOR,
    };

    options_help(&doctor, &out);
    assert_non_null(strstr(out.data, "--json"));
    assert_null(strstr(out.data, "--output-prefix"));
    assert_null(strstr(out.data, "Examples"));
    strbuf_fini(&out);
}

/* Meanings of settings that are on are shown behind "do not". */
static void what_is_on_says_what_its_option_does_not_do(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    struct command_description daemon = {
        .name = "daemon",
        .summary = "s",
        .usage = "[OPTION...]",
        .description = "d",
        .command = COMMAND_DAEMON,
    };

    options_help(&daemon, &out);
    assert_non_null(strstr(out.data, "--no-enabled          do not run the daemon"));
    assert_non_null(strstr(out.data, "--no-gpu-enabled      do not read NVIDIA GPUs"));
    strbuf_fini(&out);
}

static void the_man_page_is_escaped(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;

    options_man(&run, "metron 0.1.0", &out);
    assert_memory_equal(out.data, ".TH METRON\\-RUN 1 \"\" \"metron 0.1.0\" \"metron\"\n", 45);
    assert_non_null(strstr(out.data, "metron\\-run \\- run a command \\- and record what it used\n"));
    assert_non_null(strstr(out.data, "\\fB\\-p\\fR, \\fB\\-\\-output\\-prefix\\fR \\fIP\\fR\n"));
    assert_non_null(strstr(out.data, ".PP\n\\&.A second paragraph"));
    assert_non_null(strstr(out.data, ".SH EXAMPLES\n.nf\n  metron run \\-\\- make \\-j8\n"));
    strbuf_fini(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(options_become_settings_of_the_command_line),
        TEST(flags_can_be_turned_off_and_the_last_one_wins),
        TEST(parsing_stops_at_the_first_operand),
        TEST(help_is_told_apart_even_before_mistakes),
        TEST(unique_abbreviations_are_taken),
        TEST(unknown_options_are_named_with_the_nearest),
        TEST(a_mistake_behind_operands_is_named),
        TEST(missing_and_needless_values_are_told),
        TEST(ambiguous_options_name_what_they_could_be),
        TEST(bad_values_name_option_and_reason),
        TEST(an_option_that_would_hide_the_first_is_refused),
        TEST(hostile_option_names_are_made_printable),
        TEST(every_option_of_the_command_is_accepted),
        TEST(help_shows_every_option_in_80_columns),
        TEST(other_commands_have_their_own_help),
        TEST(what_is_on_says_what_its_option_does_not_do),
        TEST(the_man_page_is_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
