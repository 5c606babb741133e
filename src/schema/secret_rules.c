/* The table, and the walks over it. Each row has a sample in tests/unit/test_secrets.c. */
#include "schema/secret_rules.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define SHORTEST_VALUE 15 /* xoxb- and 10 */
#define PATH_LOOKAHEAD 8  /* /api/v10 */

#define ROW(kind, text)                                                                                      \
    {                                                                                                        \
        (kind), 0, (text), sizeof(text) - 1                                                                  \
    }
#define VALUE(kind, text, least)                                                                             \
    {                                                                                                        \
        (kind), (least), (text), sizeof(text) - 1                                                            \
    }
#define OPTION(kind, name, option)                                                                           \
    {                                                                                                        \
        (kind), 0, name " " option, sizeof(name) - 1                                                         \
    }

#define PATH(host, part)                                                                                     \
    {                                                                                                        \
        SECRET_PATH, 0, host part, sizeof(host) - 1                                                          \
    }

const struct secret_rule secret_rules[] = {
    ROW(SECRET_NAME, "secret"),
    ROW(SECRET_NAME, "passw"),
    ROW(SECRET_NAME, "token_"), /* not --max-tokens, not --tokenizer */
    ROW(SECRET_NAME, "cookie_"),
    ROW(SECRET_NAME, "_key_"),
    ROW(SECRET_NAME, "_apikey_"),
    ROW(SECRET_NAME, "_accesskey_"),
    ROW(SECRET_NAME, "_privatekey_"),
    ROW(SECRET_NAME, "_auth_"),
    ROW(SECRET_NAME, "_authorization_"),
    ROW(SECRET_NAME, "_bearer_"),
    ROW(SECRET_NAME, "_jwt_"),
    ROW(SECRET_NAME, "_pass_"),
    ROW(SECRET_NAME, "_passphrase_"),
    ROW(SECRET_NAME, "_passcode_"),
    ROW(SECRET_NAME, "_credential_"),
    ROW(SECRET_NAME, "_credentials_"),
    ROW(SECRET_NAME, "_creds_"),
    ROW(SECRET_NAME, "_connection_string_"),
    ROW(SECRET_NAME, "_connectionstring_"),
    ROW(SECRET_NAME_END, "pass_"), /* dbpass */
    ROW(SECRET_NAME_END, "pw_"),   /* rootpw */
    ROW(SECRET_NAME_END, "pwd_"),
    ROW(SECRET_NAME_END, "_pat_"), /* GITHUB_PAT */
    ROW(SECRET_NAME_END, "_totp_"),
    ROW(SECRET_NAME_END, "_pin_value_"), /* of a PKCS #11 URI */
    ROW(SECRET_QUERY, "_sig_"),
    ROW(SECRET_QUERY, "_signature_"),
    ROW(SECRET_OPTION, "so-pin"),
    ROW(SECRET_OPTION, "new-pin"),
    ROW(SECRET_OPTION, "user-pin"),
    /* A pin may also be one of a chip, threads are pinned to CPUs, and OTP is a part of Erlang. */
    ROW(SECRET_CODE, "_pin_"),
    ROW(SECRET_CODE, "_otp_"),
    /* Words that end as a password does: filters, repetitions, bits per weight. */
    ROW(SECRET_NOT_END, "compass_"),
    ROW(SECRET_NOT_END, "_bypass_"),
    ROW(SECRET_NOT_END, "_lowpass_"),
    ROW(SECRET_NOT_END, "_highpass_"),
    ROW(SECRET_NOT_END, "_bandpass_"),
    ROW(SECRET_NOT_END, "_allpass_"),
    ROW(SECRET_NOT_END, "_multipass_"),
    ROW(SECRET_NOT_END, "_singlepass_"),
    ROW(SECRET_NOT_END, "_onepass_"),
    ROW(SECRET_NOT_END, "_twopass_"),
    ROW(SECRET_NOT_END, "_bpw_"),
    /* Where a secret is, or what it is called. */
    ROW(SECRET_NOT_END, "_file_"),
    ROW(SECRET_NOT_END, "_path_"),
    ROW(SECRET_NOT_END, "_key_name_"),
    /* The working folder, which every shell exports. (UID=bob;PWD=X is a login at a database.) */
    ROW(SECRET_NOT_NAME, "PWD"),
    ROW(SECRET_NOT_NAME, "OLDPWD"),
    /* Options of compilers and linkers. */
    ROW(SECRET_NOT_OPTION, "pass-through"),
    ROW(SECRET_NOT_OPTION, "pass-exit-codes"),
    ROW(SECRET_NOT_OPTION, "pass-remarks"),
    ROW(SECRET_NOT_OPTION, "Rpass"),
    ROW(SECRET_NOT_OPTION, "Wno-pass-failed"),
    ROW(SECRET_NOT_OPTION, "debug-pass"),
    ROW(SECRET_NOT_OPTION, "fdebug-pass"),
    ROW(SECRET_NOT_OPTION, "load-pass-plugin"),
    ROW(SECRET_NOT_OPTION, "print-pass-numbers"),
    ROW(SECRET_NOT_OPTION, "msign-return-address-key"),
    ROW(SECRET_NOT_OPTION, "no"), /* --no-auth takes no value */

    VALUE(SECRET_VALUE, "ghp_", 16),
    VALUE(SECRET_VALUE, "gho_", 16),
    VALUE(SECRET_VALUE, "ghu_", 16),
    VALUE(SECRET_VALUE, "ghs_", 16),
    VALUE(SECRET_VALUE, "ghr_", 16),
    VALUE(SECRET_DASHED, "github_pat_", 16),
    VALUE(SECRET_DASHED, "glpat-", 16),
    VALUE(SECRET_VALUE, "AKIA", 16),
    VALUE(SECRET_VALUE, "ASIA", 16),
    VALUE(SECRET_DASHED, "AIza", 30),
    VALUE(SECRET_DASHED, "sk-", 20),
    VALUE(SECRET_VALUE, "sk_live_", 16),
    VALUE(SECRET_VALUE, "sk_test_", 16),
    VALUE(SECRET_DASHED, "xoxa-", 10),
    VALUE(SECRET_DASHED, "xoxb-", 10),
    VALUE(SECRET_DASHED, "xoxp-", 10),
    VALUE(SECRET_DASHED, "xoxr-", 10),
    VALUE(SECRET_DASHED, "xoxs-", 10),
    VALUE(SECRET_VALUE, "hf_", 30),
    VALUE(SECRET_VALUE, "npm_", 30),
    VALUE(SECRET_DASHED, "pypi-AgE", 16),
    VALUE(SECRET_DASHED, "dckr_pat_", 16),
    VALUE(SECRET_DASHED, "eyJ", 16), /* a JWT: {" in base64 */

    /* Anyone who has the URL can post to it. */
    PATH("hooks.slack.com", "/services/"),
    PATH("hooks.slack.com", "/workflows/"),
    PATH("hooks.slack.com", "/triggers/"),
    PATH("discord.com", "/webhooks/"), /* /api/webhooks/, /api/v10/webhooks/ */
    PATH("discordapp.com", "/webhooks/"),
    PATH("webhook.office.com", "/webhookb2/"),
    PATH("api.telegram.org", "/bot"),

    ROW(SECRET_WORD, "bearer"),
    ROW(SECRET_WORD, "password"), /* alter user bob password 'X' */
    ROW(SECRET_WORD, "passphrase"),

    OPTION(SECRET_LOGIN, "curl", "-u"),
    OPTION(SECRET_LOGIN, "curl", "-U"),
    OPTION(SECRET_LOGIN, "curl", "--user"),
    OPTION(SECRET_LOGIN, "curl", "--proxy-user"),
    OPTION(SECRET_LOGIN, "http", "-a"),
    OPTION(SECRET_LOGIN, "https", "-a"),
    OPTION(SECRET_LOGIN, "ab", "-A"),
    OPTION(SECRET_LOGIN, "lftp", "-u"),
    OPTION(SECRET_LOGIN, "smbclient", "-U"),
    OPTION(SECRET_PASSWORD, "sshpass", "-p"),
    OPTION(SECRET_PROGRAM, "ssh", ""),    /* sshpass -p X ssh -p 2222 */
    OPTION(SECRET_PROGRAM, "docker", ""), /* docker login -p X; docker run -p 80:80 */
    OPTION(SECRET_PROGRAM, "podman", ""),
    OPTION(SECRET_SEARCH, "grep", ""), /* also git grep */
    OPTION(SECRET_SEARCH, "egrep", ""),
    OPTION(SECRET_SEARCH, "fgrep", ""),
    OPTION(SECRET_SEARCH, "zgrep", ""),
    OPTION(SECRET_SEARCH, "rg", ""),
    OPTION(SECRET_SEARCH, "ack", ""),
    OPTION(SECRET_PASSWORD, "ssh-keygen", "-N"),
    OPTION(SECRET_PASSWORD, "ssh-keygen", "-P"),
    OPTION(SECRET_PASSWORD, "redis-cli", "-a"),
    OPTION(SECRET_PASSWORD, "login", "-p"), /* docker login, podman login, az login */
    OPTION(SECRET_PASSWORD, "nmcli", "password"),
    OPTION(SECRET_PASSWORD, "twine", "-p"),
    OPTION(SECRET_PASSWORD, "mongo", "-p"),
    OPTION(SECRET_PASSWORD, "mongosh", "-p"),
    OPTION(SECRET_PASSWORD, "mongodump", "-p"),
    OPTION(SECRET_PASSWORD, "mongorestore", "-p"),
    OPTION(SECRET_PASSWORD, "ldapsearch", "-w"),
    OPTION(SECRET_PASSWORD, "ldapadd", "-w"),
    OPTION(SECRET_PASSWORD, "ldapmodify", "-w"),
    OPTION(SECRET_PASSWORD, "mosquitto_pub", "-P"),
    OPTION(SECRET_PASSWORD, "mosquitto_sub", "-P"),
    OPTION(SECRET_PASSWORD, "sqlcmd", "-P"),
    OPTION(SECRET_PASSWORD, "ipmitool", "-P"),
    OPTION(SECRET_PASSWORD, "zip", "-P"),
    OPTION(SECRET_PASSWORD, "unzip", "-P"),
    OPTION(SECRET_ATTACHED, "7z", "-p"),
    OPTION(SECRET_ATTACHED, "unrar", "-p"),
    OPTION(SECRET_ATTACHED, "mysql", "-p"),
    OPTION(SECRET_ATTACHED, "mysqldump", "-p"),
    OPTION(SECRET_ATTACHED, "mysqladmin", "-p"),
    OPTION(SECRET_PASSWORD, "mysqladmin", "password"),
    OPTION(SECRET_ATTACHED, "mysqlimport", "-p"),
    OPTION(SECRET_ATTACHED, "mysqlcheck", "-p"),
    OPTION(SECRET_ATTACHED, "mysqlshow", "-p"),
    OPTION(SECRET_ATTACHED, "mariadb", "-p"),
    OPTION(SECRET_ATTACHED, "mariadb-dump", "-p"),
    OPTION(SECRET_ATTACHED, "mariadb-admin", "-p"),
    OPTION(SECRET_PASSWORD, "mariadb-admin", "password"),
};

const size_t secret_rule_count = sizeof(secret_rules) / sizeof(secret_rules[0]);

/* ---- names ---- */

/* apiKey, HTTPAuth: a new word begins with a capital after a small letter or digit, and with the last capital
 * of several before a small letter. */
static bool word_begins(const char *name, size_t length, size_t i)
{
    if (i == 0 || !isupper((unsigned char)name[i]))
        return false;
    return islower((unsigned char)name[i - 1]) || isdigit((unsigned char)name[i - 1]) ||
           (isupper((unsigned char)name[i - 1]) && i + 1 < length && islower((unsigned char)name[i + 1]));
}

/* Also drops the digits at its end. Two separators are one. */
static size_t end_word(char *out, size_t length)
{
    while (isdigit((unsigned char)out[length - 1]))
        length--;
    if (out[length - 1] != '_')
        out[length++] = '_';
    return length;
}

size_t secret_words(const char *name, size_t length, char out[SECRET_WORDS_SIZE])
{
    const size_t most = SECRET_WORDS_SIZE / 2 - 1; /* every byte may begin a word */
    size_t written = 1;

    if (length > most) {
        name += length - most;
        length = most;
    }
    out[0] = '_';
    for (size_t i = 0; i < length; i++) {
        char byte = name[i];

        if (word_begins(name, length, i))
            written = end_word(out, written);
        if (isalnum((unsigned char)byte))
            out[written++] = (char)tolower((unsigned char)byte);
        else
            written = end_word(out, written);
    }
    written = end_word(out, written);
    out[written] = '\0';
    return written;
}

/* An option of these words; `more`: others may follow. */
static bool is_option(const char *name, size_t length, const struct secret_rule *rule, bool more)
{
    size_t dashes = 0;

    while (dashes < length && name[dashes] == '-')
        dashes++;
    size_t end = dashes + rule->length;
    return dashes > 0 && length >= end && memcmp(name + dashes, rule->text, rule->length) == 0 &&
           (length == end || (more && name[end] == '-'));
}

static bool fits(const struct secret_rule *rule, const char *name, size_t length, const char *words,
                 char before)
{
    switch (rule->kind) {
    case SECRET_NAME:
        return strstr(words, rule->text) != NULL;
    case SECRET_QUERY:
        return (before == '?' || before == '&') && text_ends_with(words, rule->text);
    case SECRET_OPTION:
        return is_option(name, length, rule, false);
    case SECRET_NOT_OPTION:
        return is_option(name, length, rule, true);
    case SECRET_NOT_NAME:
        return before != ';' && length == rule->length && memcmp(name, rule->text, length) == 0;
    default:
        return text_ends_with(words, rule->text);
    }
}

const struct secret_rule *secret_name(const char *name, size_t length, const char *words, char before)
{
    const struct secret_rule *secret = NULL;

    for (const struct secret_rule *rule = secret_rules; rule->kind < SECRET_VALUE; rule++) {
        bool makes = rule->kind < SECRET_NOT_END;

        if (!secret && !makes)
            break; /* the rest only makes names harmless */
        if (makes != (secret != NULL) && fits(rule, name, length, words, before))
            secret = makes ? rule : NULL;
    }
    return secret;
}

/* ---- values, addresses, words and programs ---- */

static bool is_value(const char *text, size_t length, const struct secret_rule *rule)
{
    if (length < rule->length + rule->least || memcmp(text, rule->text, rule->length) != 0)
        return false;
    for (size_t i = rule->length; i < rule->length + rule->least; i++) {
        bool dash = text[i] == '-' || text[i] == '_';

        if (!isalnum((unsigned char)text[i]) && !(dash && rule->kind == SECRET_DASHED))
            return false;
    }
    return true;
}

bool secret_value(const char *text, size_t length)
{
    for (size_t i = 0; length >= SHORTEST_VALUE && i < secret_rule_count; i++) {
        const struct secret_rule *rule = &secret_rules[i];

        if ((rule->kind == SECRET_VALUE || rule->kind == SECRET_DASHED) && text[0] == rule->text[0] &&
            is_value(text, length, rule))
            return true;
    }
    return false;
}

bool secret_word(const char *word, size_t length)
{
    for (size_t i = 0; i < secret_rule_count; i++) {
        const struct secret_rule *rule = &secret_rules[i];

        if (rule->kind == SECRET_WORD && rule->length == length && strncasecmp(word, rule->text, length) == 0)
            return true;
    }
    return false;
}

/* Whether a host is the one of a rule, or one in its domain: ptb.discord.com. A dot may end it. */
static bool is_host(const char *host, size_t length, const struct secret_rule *rule)
{
    length -= host[length - 1] == '.';
    return length >= rule->length &&
           strncasecmp(host + length - rule->length, rule->text, rule->length) == 0 &&
           (length == rule->length || host[length - rule->length - 1] == '.');
}

size_t secret_path(const char *host, size_t length, const char *path, size_t rest)
{
    for (size_t i = 0; i < secret_rule_count; i++) {
        const struct secret_rule *rule = &secret_rules[i];

        if (rule->kind != SECRET_PATH || !is_host(host, length, rule))
            continue;

        const char *part = rule->text + rule->length;
        size_t most = strlen(part) + PATH_LOOKAHEAD;
        const char *found = memmem(path, rest < most ? rest : most, part, strlen(part));

        if (found)
            return (size_t)(found - path) + strlen(part);
    }
    return 0;
}

/* From the end, where the rules for programs are. */
const struct secret_rule *secret_program(const char *name, size_t length)
{
    for (const struct secret_rule *rule = secret_rules + secret_rule_count - 1; rule->kind >= SECRET_PASSWORD;
         rule--) {
        if (rule->length == length && memcmp(rule->text, name, length) == 0)
            return rule;
    }
    return NULL;
}

const struct secret_rule *secret_program_next(const struct secret_rule *rule)
{
    const struct secret_rule *next = rule - 1;

    return strncmp(next->text, rule->text, rule->length + 1) == 0 ? next : NULL;
}
