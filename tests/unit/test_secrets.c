/* Secrets: which names say so, what is masked in which shape, and what must stay readable. */
#include "schema/secrets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static bool is_secret(const char *name)
{
    return secrets_name_is_secret(name, strlen(name));
}

static void secret_names_are_known(void **state)
{
    (void)state;
    static const char *const names[] = {
        "key",           "--api-key",     "API_KEY",    "apikey",
        "apiKey",        "APIKey",        "X-Api-Key",  "AWS_SECRET_ACCESS_KEY",
        "token",         "HF_TOKEN",      "authToken",  "accesstoken",
        "--auth.token",  "Authorization", "bearer",     "SLURM_JWT",
        "cookie",        "PBS_JOBCOOKIE", "MYSQL_PWD",  "PGPASSWORD",
        "passwd",        "DB_PASS",       "passphrase", "credentials",
        "my-credential", "clientSecret",  "SECRETS",    "private_key",
        "privatekey",    "KEY2",          "oAuth2",     "-HAuthorization",
        "pwd",           "Passwort",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!is_secret(names[i]))
            fail_msg("%s is not taken for a secret", names[i]);
    }
}

static void harmless_names_stay_readable(void **state)
{
    (void)state;
    static const char *const names[] = {
        "--max-tokens",
        "--tokenizer",
        "TOKENIZERS_PARALLELISM",
        "tokens",
        "PWD",
        "OLDPWD",
        "author",
        "--authority",
        "keyboard",
        "monkey",
        "compass",
        "--passes",
        "bypass",
        "PATH",
        "SLURM_JOB_ID",
        "",
        "-",
        "keystone",
        "hotkeys",
        "1",
        "pressure",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is_secret(names[i]))
            fail_msg("%s is taken for a secret", names[i]);
    }
}

#define CHECK(expected, ...) check(expected, (char *[]){__VA_ARGS__, NULL})

static void check(const char *expected, char *const *argv)
{
    struct strbuf out = STRBUF_INIT;
    struct strbuf cmdline = STRBUF_INIT;

    secrets_mask_argv(&out, argv, true);
    assert_false(out.failed);
    assert_string_equal(strbuf_text(&out), expected);

    /* /proc/PID/cmdline gives the same */
    for (; *argv; argv++)
        strbuf_add(&cmdline, *argv, strlen(*argv) + 1);
    strbuf_reset(&out);
    secrets_mask_arguments(&out, cmdline.data, cmdline.length, true);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_fini(&cmdline);
    strbuf_fini(&out);
}

static void values_of_options_are_masked(void **state)
{
    (void)state;
    CHECK("prog --token=*** x", "prog", "--token=abc", "x");
    CHECK("prog --api-key *** x", "prog", "--api-key", "abc", "x");
    CHECK("prog -password ***", "prog", "-password", "abc");
    CHECK("prog --token --verbose x", "prog", "--token", "--verbose", "x");
    CHECK("prog --no-auth script.py", "prog", "--no-auth", "script.py");
    CHECK("prog --token= x", "prog", "--token=", "x");
    CHECK("prog --token", "prog", "--token");
    CHECK("prog --token=***", "prog", "--token=a b c"); /* the value is all the rest */
    CHECK("prog '***' x", "prog", "***", "x");
    CHECK("prog --max-tokens 5 --tokenizer bert", "prog", "--max-tokens", "5", "--tokenizer", "bert");
    CHECK("prog -eAPI_TOKEN=***", "prog", "-eAPI_TOKEN=abc");
}

static void values_of_variables_are_masked(void **state)
{
    (void)state;
    CHECK("env FOO_TOKEN=*** PATH=/bin cmd", "env", "FOO_TOKEN=x", "PATH=/bin", "cmd");
    CHECK("docker run -e DB_PASSWORD=*** img", "docker", "run", "-e", "DB_PASSWORD=p=q&r", "img");
    CHECK("vault token lookup", "vault", "token", "lookup");
}

static void headers_are_masked(void **state)
{
    (void)state;
    CHECK("curl -H 'Authorization: ***' https://h", "curl", "-H", "Authorization: Bearer abc", "https://h");
    CHECK("curl -H 'X-Api-Key: ***'", "curl", "-H", "X-Api-Key: abc");
    CHECK("curl -H 'Cookie: ***'", "curl", "-H", "Cookie: a=1; b=2");
    CHECK("curl '--header=Authorization: ***'", "curl", "--header=Authorization: Basic abc==");
    CHECK("curl '-HAuthorization: ***'", "curl", "-HAuthorization: Bearer abc");
    CHECK("curl -H Authorization:***", "curl", "-H", "Authorization:abc");
    CHECK("curl -H 'Accept: text/html'", "curl", "-H", "Accept: text/html");
    CHECK("curl -H 'X-Other: Bearer ***'", "curl", "-H", "X-Other: Bearer abc");
}

static void passwords_in_urls_are_masked(void **state)
{
    (void)state;
    CHECK("git clone https://user:***@host/repo", "git", "clone", "https://user:abc@host/repo");
    CHECK("x postgres://u:***@h:5432/a@b", "x", "postgres://u:p@ss@h:5432/a@b");
    CHECK("x redis://:***@h", "x", "redis://:abc@h");
    CHECK("x --db=mysql://u:***@h/d", "x", "--db=mysql://u:p/q#r@h/d"); /* unescaped, but people do it */
    CHECK("x http://host:8080/a@b", "x", "http://host:8080/a@b");
    CHECK("x https://user@host/a:b", "x", "https://user@host/a:b");
    CHECK("x 'http://[::1]:80/@'", "x", "http://[::1]:80/@");
    CHECK("x 'https://h/p?a=1&access_token=***&b=2'", "x", "https://h/p?a=1&access_token=abc&b=2");
    CHECK("x file:///a:b@c", "x", "file:///a:b@c");
    CHECK("x ://", "x", "://");
}

static void scripts_within_an_argument_are_masked(void **state)
{
    (void)state;
    CHECK("sh -c 'curl --token *** https://u:***@h; ls'", "sh", "-c", "curl --token foo https://u:p@h; ls");
    CHECK("sh -c 'a; TOKEN=*** cmd'", "sh", "-c", "a; TOKEN=x cmd");
    CHECK("sh -c 'curl -H \"Authorization: ***\" url'", "sh", "-c",
          "curl -H \"Authorization: Bearer a b\" url");
    CHECK("sh -c 'x --password=\"***\" y'", "sh", "-c", "x --password=\"a b\" y");
    CHECK("sh -c 'x --password \"***\" y'", "sh", "-c", "x --password \"a \\\" b\" y");
    CHECK("sh -c 'x \"--password=***\" y'", "sh", "-c", "x \"--password=a b\" y");
    CHECK("sh -c 'x --token\\x09*** y'", "sh", "-c", "x --token\tfoo y");
    CHECK("sh -c 'x --token --y z'", "sh", "-c", "x --token --y z");
    CHECK("py -c 'run([\"--token\", \"***\"])'", "py", "-c", "run([\"--token\", \"foo\"])");
    CHECK("sh -c 'a && x --token \\\\x0a *** b'", "sh", "-c", "a && x --token \\\n foo b");
}

static void json_members_are_masked(void **state)
{
    (void)state;
    CHECK("curl -d '{\"user\":\"u\",\"password\":\"***\",\"n\":1}'", "curl", "-d",
          "{\"user\":\"u\",\"password\":\"a,b\",\"n\":1}");
    CHECK("curl -d '{\"key\": ***, \"n\": 1}'", "curl", "-d", "{\"key\": 12345, \"n\": 1}");
    CHECK("sh -c 'c -d \"{\\\"token\\\":\\\"***\\\",\\\"n\\\":1}\"'", "sh", "-c",
          "c -d \"{\\\"token\\\":\\\"abc\\\",\\\"n\\\":1}\"");
}

static void the_output_is_one_printable_line(void **state)
{
    (void)state;
    CHECK("a 'b c' '' 'it'\\''s' '*.c'", "a", "b c", "", "it's", "*.c");
    CHECK("a 'x\\x0ay' '\\xff\\x1b'", "a", "x\ny", "\xff\x1b");
}

static void kernel_shapes_of_cmdline_are_taken(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;

    secrets_mask_arguments(&out, "", 0, true);
    assert_string_equal(strbuf_text(&out), "");
    secrets_mask_arguments(&out, "\0\0\0", 3, true);
    assert_string_equal(strbuf_text(&out), "");
    secrets_mask_arguments(&out, "nginx: worker process\0\0\0\0\0", 26, true); /* overwrote its arguments */
    assert_string_equal(strbuf_text(&out), "'nginx: worker process'");
    strbuf_reset(&out);
    secrets_mask_arguments(&out, "a\0\0b\0--token\0cut of", 19, true); /* no NUL at the end */
    assert_string_equal(strbuf_text(&out), "a '' b --token ***");
    strbuf_fini(&out);
}

static void disabled_masks_nothing(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    char *argv[] = {"x", "--token=abc", "--key", "k k", NULL};
    bool value_is_next = false;

    secrets_mask_argv(&out, argv, false);
    assert_string_equal(strbuf_text(&out), "x --token=abc --key 'k k'");
    strbuf_reset(&out);
    secrets_mask_arguments(&out, "x\0--token\0abc", 13, false);
    assert_string_equal(strbuf_text(&out), "x --token abc");
    strbuf_reset(&out);
    secrets_mask_value(&out, "TOKEN", "abc", false);
    assert_string_equal(strbuf_text(&out), "abc");
    strbuf_reset(&out);
    secrets_mask_argument(&out, "--token", 7, &value_is_next, false);
    secrets_mask_argument(&out, "abc", 3, &value_is_next, false);
    assert_string_equal(strbuf_text(&out), "--tokenabc");
    strbuf_fini(&out);
}

static void single_arguments_remember_the_option_before(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    bool value_is_next = false;

    secrets_mask_argument(&out, "--token", 7, &value_is_next, true);
    assert_true(value_is_next);
    secrets_mask_argument(&out, "a b", 3, &value_is_next, true);
    assert_false(value_is_next);
    secrets_mask_argument(&out, " c d\n--key=xyz", 4, &value_is_next, true); /* not past its length */
    assert_string_equal(strbuf_text(&out), "--token*** c d");
    strbuf_fini(&out);
}

static void check_value(const char *name, const char *value, const char *expected)
{
    struct strbuf out = STRBUF_INIT;

    secrets_mask_value(&out, name, value, true);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_fini(&out);
}

static void environment_values_are_masked_by_name_or_content(void **state)
{
    (void)state;
    check_value("SLURM_JWT", "abc", "***");
    check_value("SLURM_JWT", "", "");
    check_value("SLURM_JOB_ID", "4711", "4711");
    check_value("DATABASE_URL", "postgres://u:p@h/d", "postgres://u:***@h/d");
    check_value("DSN", "Server=s;Password=abc;Port=1", "Server=s;Password=***;Port=1");
    check_value("PWD", "/home/user", "/home/user");
    check_value("X", "\xff\n", "\xff\n");
}

static void long_hostile_text_ends_soon(void **state)
{
    (void)state;
    struct strbuf text = STRBUF_INIT;
    struct strbuf out = STRBUF_INIT;
    static const char *const parts[] = {"a://b:c", "--token ", "\"key", "token=", "keyKey", "'", ":@"};

    for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
        clock_t start = clock();

        strbuf_reset(&text);
        strbuf_reset(&out);
        while (text.length < 200000)
            strbuf_adds(&text, parts[part]);
        secrets_mask_arguments(&out, text.data, text.length, true);
        assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
    }
    strbuf_fini(&text);
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secret_names_are_known),
        cmocka_unit_test(harmless_names_stay_readable),
        cmocka_unit_test(values_of_options_are_masked),
        cmocka_unit_test(values_of_variables_are_masked),
        cmocka_unit_test(headers_are_masked),
        cmocka_unit_test(passwords_in_urls_are_masked),
        cmocka_unit_test(scripts_within_an_argument_are_masked),
        cmocka_unit_test(json_members_are_masked),
        cmocka_unit_test(the_output_is_one_printable_line),
        cmocka_unit_test(kernel_shapes_of_cmdline_are_taken),
        cmocka_unit_test(disabled_masks_nothing),
        cmocka_unit_test(single_arguments_remember_the_option_before),
        cmocka_unit_test(environment_values_are_masked_by_name_or_content),
        cmocka_unit_test(long_hostile_text_ends_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
