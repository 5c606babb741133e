/* Secrets: which names say so, what is masked in which shape, and what must stay readable. */
#include "schema/secrets.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schema/secret_rules.h"

/* ---- the table: a test for each row ---- */

/* Arguments are separated by ~ here, and in the tables below. */
static void mask(struct strbuf *out, const struct secrets *secrets, const char *arguments)
{
    struct strbuf cmdline = STRBUF_INIT;

    strbuf_adds(&cmdline, arguments);
    for (size_t i = 0; i < cmdline.length; i++) {
        if (cmdline.data[i] == '~')
            cmdline.data[i] = '\0';
    }
    strbuf_reset(out);
    secrets_mask_arguments(out, secrets, cmdline.data, cmdline.length);
    assert_false(out->failed);
    strbuf_fini(&cmdline);
}

static void check_line(const struct secrets *secrets, const char *arguments, const char *expected)
{
    struct strbuf out = STRBUF_INIT;

    mask(&out, secrets, arguments);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_fini(&out);
}

struct sample {
    const char *rule, *arguments, *expected;
};

static const struct sample samples[] = {
    /* names */
    {"secret", "x~--client-secret~abc", "x --client-secret ***"},
    {"passw", "x~--Passwort=abc", "x --Passwort=***"},
    {"token_", "x~--accesstoken~abc", "x --accesstoken ***"},
    {"cookie_", "x~PBS_JOBCOOKIE=abc", "x PBS_JOBCOOKIE=***"},
    {"_key_", "x~--APIKey2~abc", "x --APIKey2 ***"},
    {"_apikey_", "x~apikey=abc", "x apikey=***"},
    {"_accesskey_", "x~--accesskey~abc", "x --accesskey ***"},
    {"_privatekey_", "x~--privatekey~abc", "x --privatekey ***"},
    {"_auth_", "x~oAuth2=abc", "x oAuth2=***"},
    {"_authorization_", "x~-HAuthorization: abc", "x '-HAuthorization: ***'"},
    {"_bearer_", "x~bearer abc", "x 'bearer ***'"},
    {"_jwt_", "x~SLURM_JWT=abc", "x SLURM_JWT=***"},
    {"_pass_", "x~--pass-phrase~abc", "x --pass-phrase ***"},
    {"_passphrase_", "x~--passphrase-fd~abc", "x --passphrase-fd ***"},
    {"_passcode_", "x~--passcode=abc", "x --passcode=***"},
    {"_credential_", "x~--my-credential-x~abc", "x --my-credential-x ***"},
    {"_credentials_", "x~--credentials~abc", "x --credentials ***"},
    {"_creds_", "skopeo~copy~--src-creds~bob:abc", "skopeo copy --src-creds ***"},
    {"_connection_string_", "az~--connection-string~a=b;c=d~AZURE_STORAGE_CONNECTION_STRING=abc",
     "az --connection-string *** AZURE_STORAGE_CONNECTION_STRING=***"},
    {"_connectionstring_", "x~connectionstring=abc", "x connectionstring=***"},
    {"pass_", "x~dbpass=abc~--dbpass~abc", "x dbpass=*** --dbpass ***"},
    {"pw_", "x~--rootpw~abc~-pw~abc", "x --rootpw *** -pw ***"},
    {"pwd_", "x~dbpwd=abc~pwd=abc", "x dbpwd=*** pwd=***"},
    {"_pat_", "x~GITHUB_PAT=abc~--pat~abc~PAT_2=abc", "x GITHUB_PAT=*** --pat *** PAT_2=***"},
    {"_totp_", "x~--totp=123456", "x --totp=***"},
    {"_pin_value_", "x~pkcs11:object=a;pin-value=1234", "x 'pkcs11:object=a;pin-value=***'"},
    {"_sig_", "x~https://h/b?sv=1&sig=a%2Fb&se=2", "x 'https://h/b?sv=1&sig=***&se=2'"},
    {"_signature_", "x~s3://b?X-Amz-Signature=abc&X-Goog-Signature=abc",
     "x 's3://b?X-Amz-Signature=***&X-Goog-Signature=***'"},
    {"so-pin", "pkcs11-tool~--so-pin~1234", "pkcs11-tool --so-pin ***"},
    {"new-pin", "pkcs11-tool~--new-pin~1234", "pkcs11-tool --new-pin ***"},
    {"user-pin", "x~--user-pin~abc", "x --user-pin ***"},
    {"_pin_", "x~--pin~1234~--PIN=1234~--user_pin~1234~--userPin~1234~PIN=1234~-eUSER_PIN=1234",
     "x --pin *** --PIN=*** --user_pin *** --userPin *** PIN=*** -eUSER_PIN=***"},
    {"_otp_", "npm~--otp~123456~NPM_CONFIG_OTP=123456", "npm --otp *** NPM_CONFIG_OTP=***"},

    /* names that are harmless */
    {"compass_", "x~--compass~north~--encompass=a", "x --compass north --encompass=a"},
    {"_bypass_", "x~--proxy-bypass~h", "x --proxy-bypass h"},
    {"_lowpass_", "x~lowpass=f~x", "x lowpass=f x"},
    {"_highpass_", "x~highpass=f", "x highpass=f"},
    {"_bandpass_", "x~--bandpass~8-12", "x --bandpass 8-12"},
    {"_allpass_", "x~allpass=f", "x allpass=f"},
    {"_multipass_", "x~--multipass~full", "x --multipass full"},
    {"_singlepass_", "x~--singlepass~on", "x --singlepass on"},
    {"_onepass_", "x~--onepass~on", "x --onepass on"},
    {"_twopass_", "x~--twopass~Basic", "x --twopass Basic"},
    {"_bpw_", "x~--bpw~4.5", "x --bpw 4.5"},
    {"_file_", "x~--password-file~a.txt~password-file=a.txt~TOKEN_FILE=/run/a",
     "x --password-file a.txt password-file=a.txt TOKEN_FILE=/run/a"},
    {"_path_", "x~--key-path=/run/a", "x --key-path=/run/a"},
    {"_key_name_", "aws~--key-name~bob", "aws --key-name bob"},
    {"PWD", "x~PWD=/home/user", "x PWD=/home/user"},
    {"OLDPWD", "x~OLDPWD=/home/user", "x OLDPWD=/home/user"},
    {"pass-through", "ld~-plugin-opt=-pass-through=-lgcc~x.o", "ld -plugin-opt=-pass-through=-lgcc x.o"},
    {"pass-exit-codes", "gcc~-pass-exit-codes~x.c", "gcc -pass-exit-codes x.c"},
    {"pass-remarks", "opt~--pass-remarks=inline~-pass-remarks-missed=inline",
     "opt --pass-remarks=inline -pass-remarks-missed=inline"},
    {"Rpass", "clang~-Rpass=inline~-Rpass-missed=inline~-Rpass~x.c",
     "clang -Rpass=inline -Rpass-missed=inline -Rpass x.c"},
    {"Wno-pass-failed", "clang~-Wno-pass-failed~x.c", "clang -Wno-pass-failed x.c"},
    {"debug-pass", "opt~-debug-pass=Structure~--debug-pass-manager~x.bc",
     "opt -debug-pass=Structure --debug-pass-manager x.bc"},
    {"fdebug-pass", "clang~-fdebug-pass-structure~x.c", "clang -fdebug-pass-structure x.c"},
    {"load-pass-plugin", "opt~--load-pass-plugin~p.so", "opt --load-pass-plugin p.so"},
    {"print-pass-numbers", "opt~-print-pass-numbers~x.bc", "opt -print-pass-numbers x.bc"},
    {"msign-return-address-key", "clang~-msign-return-address-key=b_key",
     "clang -msign-return-address-key=b_key"},
    {"no", "x~--no-auth~script.py", "x --no-auth script.py"},

    /* values */
    {"ghp_", "x~ghp_0123456789abcdefABCDEF", "x ***"},
    {"gho_", "x~gho_0123456789abcdefABCDEF", "x ***"},
    {"ghu_", "x~ghu_0123456789abcdefABCDEF", "x ***"},
    {"ghs_", "x~-tghs_0123456789abcdefABCDEF", "x -t***"},
    {"ghr_", "x~a=ghr_0123456789abcdefABCDEF,b", "x a=***,b"},
    {"github_pat_", "git~clone~git://github_pat_11ABCDE_0123456789@h/r", "git clone git://***@h/r"},
    {"glpat-", "x~glpat-ab_d-fghij0123456789", "x ***"},
    {"AKIA", "x~AKIAIOSFODNN7EXAMPLE", "x ***"},
    {"ASIA", "x~--id=ASIAIOSFODNN7EXAMPLE", "x --id=***"},
    {"AIza", "x~AIzaSy-0123456789_abcdefghijklmnopqrstu", "x ***"},
    {"sk-", "x~sk-ant-api03-0123456789_abc", "x ***"},
    {"sk_live_", "x~sk_live_0123456789abcdef", "x ***"},
    {"sk_test_", "x~sk_test_0123456789abcdef", "x ***"},
    {"xoxa-", "x~xoxa-2-0123456789", "x ***"},
    {"xoxb-", "x~xoxb-0123456789-abc", "x ***"},
    {"xoxp-", "x~xoxp-0123456789-abc", "x ***"},
    {"xoxr-", "x~xoxr-0123456789-abc", "x ***"},
    {"xoxs-", "x~xoxs-0123456789-abc", "x ***"},
    {"hf_", "x~hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "x ***"},
    {"npm_", "x~npm_abcdefghijklmnopqrstuvwxyz0123456789", "x ***"},
    {"pypi-AgE", "x~pypi-AgEIcHlwaS5vcmcCJDAx_-MDAw", "x ***"},
    {"dckr_pat_", "x~dckr_pat_abc-efghijklmnopqrst", "x ***"},
    {"eyJ", "x~eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K", "x ***"},

    /* web addresses */
    {"hooks.slack.com/services/", "curl~https://hooks.slack.com/services/T0/B0/abc~h",
     "curl https://hooks.slack.com/services/*** h"},
    {"hooks.slack.com/workflows/", "curl~hooks.slack.com/workflows/T0/abc",
     "curl hooks.slack.com/workflows/***"},
    {"hooks.slack.com/triggers/", "curl~https://hooks.slack.com/triggers/T0/abc",
     "curl https://hooks.slack.com/triggers/***"},
    {"discord.com/webhooks/",
     "curl~https://discord.com/api/webhooks/12/abc?wait=1~https://ptb.Discord.com/api/v10/webhooks/12/a",
     "curl 'https://discord.com/api/webhooks/***?wait=1' https://ptb.Discord.com/api/v10/webhooks/***"},
    {"discordapp.com/webhooks/", "curl~https://discordapp.com/api/webhooks/12/abc",
     "curl https://discordapp.com/api/webhooks/***"},
    {"webhook.office.com/webhookb2/", "curl~https://acme.webhook.office.com/webhookb2/a@b/abc",
     "curl https://acme.webhook.office.com/webhookb2/***"},
    {"api.telegram.org/bot", "curl~https://api.telegram.org/bot12:abc/getMe",
     "curl https://api.telegram.org/bot***"},

    /* words before a value */
    {"bearer", "x~send bearer abc", "x 'send bearer ***'"},
    {"password", "sh~-c~login password abc; psql -c \"alter user bob PASSWORD 'a b'\"",
     "sh -c 'login password ***; psql -c \"alter user bob PASSWORD '\\''***'\\''\"'"},
    {"passphrase", "x~unlock passphrase abc now", "x 'unlock passphrase *** now'"},

    /* options of programs */
    {"curl -u", "curl~-sSu~bob:a b~-ubob:a b~-u~abc:~-u~bob~h",
     "curl -sSu bob:*** -ubob:*** -u ***: -u bob h"},
    {"curl -U", "curl~-U~bob:abc~h", "curl -U bob:*** h"},
    {"curl --user", "/usr/bin/curl~--user~bob:abc~--user=bob:abc",
     "/usr/bin/curl --user bob:*** --user=bob:***"},
    {"curl --proxy-user", "curl~--proxy-user~bob:abc", "curl --proxy-user bob:***"},
    {"http -a", "http~-a~bob:abc~GET~h", "http -a bob:*** GET h"},
    {"https -a", "https~-a~bob:abc~GET~h", "https -a bob:*** GET h"},
    {"ab -A", "ab~-A~bob:abc", "ab -A bob:***"},
    {"lftp -u", "lftp~-u~bob,abc~h", "lftp -u bob,*** h"},
    {"smbclient -U", "smbclient~-U~bob%abc", "smbclient -U bob%***"},
    {"sshpass -p", "sshpass~-p~abc~ssh~-p~2222~h", "sshpass -p *** ssh -p 2222 h"},
    {"ssh ", "sshpass~-e~ssh~-p~2222~h", "sshpass -e ssh -p 2222 h"},
    {"docker ", "curl~h~docker~run~-u~bob:staff~i", "curl h docker run -u bob:staff i"},
    {"podman ", "podman~login~-p~abc~podman~run~-p~80:80", "podman login -p *** podman run -p 80:80"},
    {"grep ", "sh~-c~grep password a.txt; user password abc",
     "sh -c 'grep password a.txt; user password ***'"},
    {"egrep ", "sh~-c~egrep -r password src", "sh -c 'egrep -r password src'"},
    {"fgrep ", "sh~-c~fgrep -r password src", "sh -c 'fgrep -r password src'"},
    {"zgrep ", "sh~-c~zgrep password a.gz", "sh -c 'zgrep password a.gz'"},
    {"rg ", "sh~-c~rg password src", "sh -c 'rg password src'"},
    {"ack ", "sh~-c~ack password src", "sh -c 'ack password src'"},
    {"ssh-keygen -N", "ssh-keygen~-N~abc", "ssh-keygen -N ***"},
    {"ssh-keygen -P", "ssh-keygen~-P~abc", "ssh-keygen -P ***"},
    {"redis-cli -a", "redis-cli~-p~6379~-a~abc~ping", "redis-cli -p 6379 -a *** ping"},
    {"login -p", "docker~login~-u~bob~-p~abc~h", "docker login -u bob -p *** h"},
    {"nmcli password", "nmcli~dev~wifi~connect~home~password~abc",
     "nmcli dev wifi connect home password ***"},
    {"twine -p", "twine~upload~-p~abc~dist/a", "twine upload -p *** dist/a"},
    {"mongo -p", "mongo~-p~abc", "mongo -p ***"},
    {"mongosh -p", "mongosh~-p~abc", "mongosh -p ***"},
    {"mongodump -p", "mongodump~-p~abc", "mongodump -p ***"},
    {"mongorestore -p", "mongorestore~-p~abc", "mongorestore -p ***"},
    {"ldapsearch -w", "ldapsearch~-xw~abc", "ldapsearch -xw ***"},
    {"ldapadd -w", "ldapadd~-w~abc", "ldapadd -w ***"},
    {"ldapmodify -w", "ldapmodify~-w~abc", "ldapmodify -w ***"},
    {"mosquitto_pub -P", "mosquitto_pub~-P~abc", "mosquitto_pub -P ***"},
    {"mosquitto_sub -P", "mosquitto_sub~-P~abc", "mosquitto_sub -P ***"},
    {"sqlcmd -P", "sqlcmd~-Pabc", "sqlcmd -P***"},
    {"ipmitool -P", "ipmitool~-P~abc", "ipmitool -P ***"},
    {"zip -P", "zip~-P~abc~a.zip", "zip -P *** a.zip"},
    {"unzip -P", "unzip~-P~abc~a.zip", "unzip -P *** a.zip"},
    {"7z -p", "7z~x~-pabc~a.7z", "7z x -p*** a.7z"},
    {"unrar -p", "unrar~x~-pabc~a.rar", "unrar x -p*** a.rar"},
    {"mysql -p", "mysql~-u~bob~-pabc~db~-p~db", "mysql -u bob -p*** db -p db"},
    {"mysqldump -p", "mysqldump~-pabc~db", "mysqldump -p*** db"},
    {"mysqladmin -p", "mysqladmin~-pabc~ping", "mysqladmin -p*** ping"},
    {"mysqladmin password", "mysqladmin~-u~root~password~abc", "mysqladmin -u root password ***"},
    {"mysqlimport -p", "mysqlimport~-pabc~db", "mysqlimport -p*** db"},
    {"mysqlcheck -p", "mysqlcheck~-pabc~db", "mysqlcheck -p*** db"},
    {"mysqlshow -p", "mysqlshow~-pabc~db", "mysqlshow -p*** db"},
    {"mariadb -p", "mariadb~-pabc~db", "mariadb -p*** db"},
    {"mariadb-dump -p", "mariadb-dump~-pabc~db", "mariadb-dump -p*** db"},
    {"mariadb-admin -p", "mariadb-admin~-pabc~ping", "mariadb-admin -p*** ping"},
    {"mariadb-admin password", "mariadb-admin~password~abc", "mariadb-admin password ***"},
};

static void every_rule_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_line(&secrets_built_in, samples[i].arguments, samples[i].expected);
}

static void every_rule_has_a_sample(void **state)
{
    (void)state;
    assert_int_equal(sizeof(samples) / sizeof(samples[0]), secret_rule_count);
    for (size_t i = 0; i < secret_rule_count; i++)
        assert_string_equal(samples[i].rule, secret_rules[i].text);
}

static void ordinary_words_stay_readable(void **state)
{
    (void)state;
    /* Each is the same afterwards. */
    static const char *const lines[] = {
        "python3~train.py~--max-tokens~500~--tokenizer~bert~tokenizer.json~--tokens=500",
        "ffmpeg~-i~a.mp4~-pass~2~-passlogfile~log~--keyframe~10~-key_frame_x.png",
        "sort~--key=2~keyboard.txt~monkey=1~hotkeys=1~keystone=x",
        "x~--author~bob~--authority=a~--passes=20~pressure=20~pattern=a~--pattern~b~--patch=c",
        "env~TOKENIZERS_PARALLELISM=off~PATH=/bin:/usr/bin~SLURM_JOB_ID=12345~make",
        "docker~run~-u~1000:1000~-p~8080:80~--user~bob:staff~img",
        "rsync~-u~bob@host:/data/sk-learn-env-python3.9~/data/ASIA-2020-population-density.tif",
        "ssh~-p~2222~user@host~vault~token~lookup",
        "git~clone~ssh://git@host/r~git@host:r~sftp://bob@host/x~http://host:8080/a@b",
        "cat~/etc/passwd~/home/user/.ssh/id_rsa.pub~/data/secret/x.csv~key.pem",
        "risk-free-disk-usage-of-a-task",
        "x~--url=https://host/@scope/pkg~http://[::1]:80/@~file:///a:b@c~://~signature=x~--sig~x",
        "x~-~--~-----~-----BEGIN CERTIFICATE-----~eyJhbG~ghp_~hf_transformers~AKIA",
        "clang~-fpass-plugin=p.so~-Wpass-failed~x.c~-time-passes~-Wl,-z,now~-DKEYS=20~-o~x",
        "mysql~-p~db~-P~3306",
        "sshpass~-f~file~ssh~-p~2222",
        "x~-u~user:group",
        "redis-server~-a~x",
        "x~--pin-memory~on~--pin_memory=on~--pinned~0-3~--cpu-pin~0-3~--gpio-pin=17~PIN=17",
        "gmx~mdrun~-pin~on~-ntomp~8~-pin~auto~-pin~1234~--pin~0-3~--pin=on~--pin~10-2000",
        "make~otp-server~--with-otp-version~26~OTP=27~--with-otp~/usr/lib/erlang~OTP=27.1.2024",
        "x~--pass~2~-p~8080~-p8080~-pX",
        "smbclient~-p~445~psql~-p~5432~-p5432",
        "grep~-rn~password~src~pytest~-k~password~tests",
        "git~grep~password~src",
        "sh~-c~ldapsearch -x | grep -w uid; unzip -l a.zip | grep -P x",
        "sh~-c~read -s -p \"Enter password \" P; make -j8 all; run --steps 5",
        "sh~-c~echo 'wrong password ' >&2; ./solver --mesh big.msh",
        "sh~-c~echo 'x password'; echo \"don't: password \"; ./solver 'a'",
        "sh~-c~ssh h 'echo \\\"wrong password \\\" >&2'; ./solver \"password \"",
        "sh~-c~x \"echo \\\"wrong password \\\" >&2; ./solver\" y",
        "sh~-c~ssh h \"mysql -u root -p\" < dump.sql; mysql -p; ./solver",
        "py~-c~run([\"mysql\", \"-p\"]); f(\"x\")",
        "cp~rar~-pr~dst",
        "find~.~-name~rar~-print0",
        "sh~-c~passwd root; vault token lookup; docker secret ls; x password | y",
        "curl~https://discord.com/api/channels/12~https://hooks.slack.com/",
        "curl~https://x/discord.com/webhooks.html",
        "py~-c~x = row[\"name\"]; cols = [\"id\", \"password\", \"email\"]; print(row[\"password\"])",
        "py~-c~if row[\"password\"]: f(); run([\"x\", \"--token\"], \"y\"); row[\"key\"] and x",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct strbuf masked = STRBUF_INIT, plain = STRBUF_INIT;

        mask(&masked, &secrets_built_in, lines[i]);
        mask(&plain, NULL, lines[i]);
        assert_string_equal(strbuf_text(&masked), strbuf_text(&plain));
        strbuf_fini(&masked);
        strbuf_fini(&plain);
    }
}

/* ---- shapes that once leaked ---- */

static void shapes_that_leaked_are_masked(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *expected;
    } shapes[] = {
        {"x~--token~-abc", "x --token ***"},
        {"x~--password~--abc", "x --password ***"},
        {"git~clone~https://abc@host/r", "git clone https://***@host/r"},
        {"curl~-u~u:abc", "curl -u u:***"},
        {"x~https://h/b?sig=abc", "x 'https://h/b?sig=***'"},
        {"x~https://h/b?X-Amz-Signature=abc", "x 'https://h/b?X-Amz-Signature=***'"},
        {"x~GITHUB_PAT=abc", "x GITHUB_PAT=***"},
        {"x~--pat~abc", "x --pat ***"},
        {"x~--dbpass~abc", "x --dbpass ***"},
        {"x~dbpass=abc", "x dbpass=***"},
        {"x~--rootpw~abc", "x --rootpw ***"},
        {"sshpass~-p~abc", "sshpass -p ***"},
        {"redis-cli~-a~abc", "redis-cli -a ***"},
        {"x~ghp_0123456789abcdefABCDEF", "x ***"},
        {"x~AKIAIOSFODNN7EXAMPLE", "x ***"},
        {"x~-----BEGIN PRIVATE KEY-----\nMIIE", "x ***"},
        {"x~{\"password\":[\"x\"]}", "x '{\"password\":***'"},
        {"sh~-c~mysql --password abc db", "sh -c 'mysql --password *** db'"},
        {"x~grep password a~user password abc", "x 'grep password a' 'user password ***'"},
        {"mysql~-pab/cd~sshpass~-pab/cd", "mysql -p*** sshpass -p***"},
        {"x~send Bearer -abc", "x 'send Bearer ***'"},
        {"perl~-e~f({password=>\"abc\", x=>1})", "perl -e 'f({password=>\"***\", x=>1})'"},
        {"py~-c~if token==\"abc\": f()", "py -c 'if token==\"***\": f()'"},
        {"sh~-c~mysql -pabc db", "sh -c 'mysql -p*** db'"},
        {"x~Endpoint=sb://h/;SharedAccessKeyName=a;SharedAccessKey=abc=;A=b",
         "x 'Endpoint=sb://h/;SharedAccessKeyName=a;SharedAccessKey=***;A=b'"},
        {"x~AccountName=a;AccountKey=a+b/c==;EndpointSuffix=s",
         "x 'AccountName=a;AccountKey=***;EndpointSuffix=s'"},
        {"x~Server=s;User Id=u;Password=a(b&c;Port=1", "x 'Server=s;User Id=u;Password=***;Port=1'"},
        {"x~Server=h; Password=a(b&c;Db=1", "x 'Server=h; Password=***;Db=1'"},
        {"x~Server=h; UID=sa; PWD=abc; Db=1", "x 'Server=h; UID=sa; PWD=***; Db=1'"},
        {"x~Server=s;Password=\"a;b\";Port=1", "x 'Server=s;Password=\"***\";Port=1'"},
        {"py~-c~import os; os.environ[\"API_KEY\"]=\"abc\"; f()",
         "py -c 'import os; os.environ[\"API_KEY\"]=\"***\"; f()'"},
        {"py~-c~os.environ['API_KEY'] = 'a b'; f()",
         "py -c 'os.environ['\\''API_KEY'\\''] = '\\''***'\\''; f()'"},
        {"py~-c~if x[\"password\"] == \"abc\": f()", "py -c 'if x[\"password\"] == \"***\": f()'"},
        {"ruby~-e~f(\"password\" => \"abc\", :token => \"abc\")",
         "ruby -e 'f(\"password\" => \"***\", :token => \"***\")'"},
        {"mysql~-u~root~-p!abc~db", "mysql -u root -p*** db"},
        {"mysql~-p=a b~-p'abc~db~sshpass~-p!a;b", "mysql -p*** -p*** db sshpass -p***"},
        {"7z~a~-p#abc~f.7z", "7z a -p*** f.7z"},
        {"sh~-c~mysql -u root -p'abc' db; 7z a '-p#a b' f",
         "sh -c 'mysql -u root -p'\\''***'\\'' db; 7z a '\\''-p***'\\'' f'"},
        {"sh~-c~read -p \"Enter password \"; mysql -u root -p\"abc\" db; x",
         "sh -c 'read -p \"Enter password \"; mysql -u root -p\"***\" db; x'"},
        {"sh~-c~x password ' abc' y", "sh -c 'x password '\\''***'\\'' y'"},
        {"sh~-c~x password 'abc def", "sh -c 'x password '\\''***'"}, /* it was cut here */
        {"sh~-c~x \"password 'abc", "sh -c 'x \"password '\\''***'"},
        {"sh~-c~mysql -u root -p'abc def", "sh -c 'mysql -u root -p'\\''***'"},
        {"sh~-c~# don't\nx password 'abc def' y", "sh -c '# don'\\''t\\x0a"
                                                  "x password '\\''***'\\'' y'"},
        {"sh~-c~# don't\nread -p 'password '; x -a; mysql -p'abc' y",
         "sh -c '# don'\\''t\\x0a"
         "read -p '\\''password '\\''***'\\''***'\\'' y'"},
        {"mysqldump~-u~root~rg~-pabc", "mysqldump -u root rg -p***"},
        {"sh~-c~mysqldump -u root grep -pabc", "sh -c 'mysqldump -u root grep -p***'"},
        {"curl~hooks.slack.com:443/services/T/B/X~https://hooks.slack.com./services/T/B/X",
         "curl hooks.slack.com:443/services/*** https://hooks.slack.com./services/***"},
        {"go~-e~x; password := \"abc\"; y", "go -e 'x; password := \"***\"; y'"},
        {"go~-e~if password != \"abc\" {}", "go -e 'if password != \"***\" {}'"},
        {"http~h~password:=12345", "http h password:=***"},
        {"x~{\"password\":\"abc\"}", "x '{\"password\":\"***\"}'"},
        {"x~{\"a\": 1, \"api_key\": \"abc\", \"b\": 2}", "x '{\"a\": 1, \"api_key\": \"***\", \"b\": 2}'"},
    };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        check_line(&secrets_built_in, shapes[i].arguments, shapes[i].expected);
}

/* ---- shapes ---- */

#define CHECK(expected, ...) check(expected, (char *[]){__VA_ARGS__, NULL})

static void check(const char *expected, char *const *argv)
{
    struct strbuf out = STRBUF_INIT;
    struct strbuf cmdline = STRBUF_INIT;

    secrets_mask_argv(&out, &secrets_built_in, argv);
    assert_false(out.failed);
    assert_string_equal(strbuf_text(&out), expected);

    /* /proc/PID/cmdline gives the same */
    for (; *argv; argv++)
        strbuf_add(&cmdline, *argv, strlen(*argv) + 1);
    strbuf_reset(&out);
    secrets_mask_arguments(&out, &secrets_built_in, cmdline.data, cmdline.length);
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
    CHECK("prog --token *** x", "prog", "--token", "-abc", "x");
    CHECK("prog --password *** x", "prog", "--password", "--abc", "x");
    CHECK("prog --use-auth *** *** x", "prog", "--use-auth", "--token", "abc",
          "x"); /* a flag before an option */
    CHECK("prog --use-auth *** -u bob:***", "prog", "--use-auth", "curl", "-u", "bob:abc");
    CHECK("prog --key 2 --key=3 --key ***", "prog", "--key", "2", "--key=3", "--key", "22"); /* no secret */
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
    CHECK("py -c 'f(password = \"***\", n = 1)'", "py", "-c", "f(password = \"a b\", n = 1)");
    CHECK("x 'UID=sa;PWD=***;A=b'", "x", "UID=sa;PWD=abc;A=b");
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
    CHECK("x https://***@host/a:b git+HTTP://***@h", "x", "https://abc@host/a:b", "git+HTTP://abc@h");
    CHECK("x https://***:@h", "x", "https://abc:@h");
    CHECK("x https://***:***@h/r.git", "x", "https://abc:x-oauth-basic@h/r.git");
    CHECK("x ftp://user@host/a:b", "x", "ftp://user@host/a:b");
    CHECK("x 'https://h/p?token=***&a=1'", "x", "https://h/p?token=abc&a=1");
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
    CHECK("sh -c 'x --token *** z'", "sh", "-c", "x --token --y z");
    CHECK("sh -c 'x --use-auth *** ***; ls'", "sh", "-c", "x --use-auth --token abc; ls");
    CHECK("sh -c 'curl -u bob:*** h; sshpass -p \"***\" ssh -p 22'", "sh", "-c",
          "curl -u bob:abc h; sshpass -p \"a b\" ssh -p 22");
    CHECK("py -c 'run([\"curl\", \"-u\", \"bob:***\"])'", "py", "-c", "run([\"curl\", \"-u\", \"bob:abc\"])");
    CHECK("py -c 'run([\"--token\", \"***\"])'", "py", "-c", "run([\"--token\", \"foo\"])");
    CHECK("sh -c 'a && x --token \\\\x0a *** b'", "sh", "-c", "a && x --token \\\n foo b");
}

/* docs/schema.md says so. */
static void some_harmless_words_are_masked(void **state)
{
    (void)state;
    CHECK("git commit -m 'fix password ***'", "git", "commit", "-m", "fix password reset");
    CHECK("find / -name mysql -p***", "find", "/", "-name", "mysql", "-print");
}

static void private_keys_are_masked(void **state)
{
    (void)state;
    CHECK("x 'a ***-----END RSA PRIVATE KEY----- b' c", "x",
          "a -----BEGIN RSA PRIVATE KEY-----\nMIIE/x+y==\n-----END RSA PRIVATE KEY----- b", "c");
    CHECK("x --pem=***", "x", "--pem=-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Blbn/x"); /* cut off */
    CHECK("x '-----BEGIN CERTIFICATE-----\\x0aMIIE'", "x", "-----BEGIN CERTIFICATE-----\nMIIE");
}

static void json_members_are_masked(void **state)
{
    (void)state;
    CHECK("curl -d '{\"user\":\"u\",\"password\":\"***\",\"n\":1}'", "curl", "-d",
          "{\"user\":\"u\",\"password\":\"a,b\",\"n\":1}");
    CHECK("curl -d '{\"key\": ***, \"n\": 1}'", "curl", "-d", "{\"key\": 12345, \"n\": 1}");
    CHECK("curl -d '{\"password\":***'", "curl", "-d", "{\"password\":[\"a\", [\"b\"]], \"n\":1}");
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

    secrets_mask_arguments(&out, &secrets_built_in, "", 0);
    assert_string_equal(strbuf_text(&out), "");
    secrets_mask_arguments(&out, &secrets_built_in, "\0\0\0", 3);
    assert_string_equal(strbuf_text(&out), "");
    secrets_mask_arguments(&out, &secrets_built_in, "nginx: worker process\0\0\0\0\0",
                           26); /* overwrote its arguments */
    assert_string_equal(strbuf_text(&out), "'nginx: worker process'");
    strbuf_reset(&out);
    secrets_mask_arguments(&out, &secrets_built_in, "a\0\0b\0--token\0cut of", 19); /* no NUL at the end */
    assert_string_equal(strbuf_text(&out), "a '' b --token ***");
    strbuf_fini(&out);
}

static void disabled_masks_nothing(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    char *argv[] = {"x", "--token=abc", "--key", "k k", NULL};
    struct secrets_state at = {0};

    secrets_mask_argv(&out, NULL, argv);
    assert_string_equal(strbuf_text(&out), "x --token=abc --key 'k k'");
    strbuf_reset(&out);
    secrets_mask_arguments(&out, NULL, "x\0--token\0abc", 13);
    assert_string_equal(strbuf_text(&out), "x --token abc");
    strbuf_reset(&out);
    secrets_mask_value(&out, NULL, "TOKEN", "abc");
    assert_string_equal(strbuf_text(&out), "abc");
    strbuf_reset(&out);
    secrets_mask_argument(&out, NULL, &at, "--token", 7);
    secrets_mask_argument(&out, NULL, &at, "abc", 3);
    assert_string_equal(strbuf_text(&out), "--tokenabc");
    strbuf_reset(&out);
    secrets_mask_argv(&out, &(struct secrets){.off = true}, argv);
    assert_string_equal(strbuf_text(&out), "x --token=abc --key 'k k'");
    strbuf_reset(&out);
    secrets_mask_value(&out, &(struct secrets){.off = true}, "TOKEN", "abc");
    assert_string_equal(strbuf_text(&out), "abc");
    strbuf_fini(&out);
}

static void single_arguments_remember_the_option_before(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    struct secrets_state at = {0};

    secrets_mask_argument(&out, &secrets_built_in, &at, "--token", 7);
    assert_non_null(at.next);
    secrets_mask_argument(&out, &secrets_built_in, &at, "a b", 3);
    assert_null(at.next);
    secrets_mask_argument(&out, &secrets_built_in, &at, " c d\n--key=xyz", 4); /* not past its length */
    assert_string_equal(strbuf_text(&out), "--token*** c d");
    strbuf_fini(&out);
}

static void check_value(const char *name, const char *value, const char *expected)
{
    struct strbuf out = STRBUF_INIT;

    secrets_mask_value(&out, &secrets_built_in, name, value);
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

static void a_user_adds_names_and_patterns(void **state)
{
    (void)state;
    static const char *const patterns[] = {"acme-[0-9]{2,}", "^z+$", "q*"};
    struct secrets secrets = {0};

    assert_int_equal(secrets_add_name(&secrets, "license", 7), 0);
    assert_int_equal(secrets_add_name(&secrets, "Project-ID", 10), 0);
    assert_int_equal(secrets_add_name(&secrets, "--", 2), 0); /* no letter in it: nothing */
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        assert_int_equal(secrets_add_pattern(&secrets, patterns[i], strlen(patterns[i])), 0);
    assert_int_equal(secrets_add_pattern(&secrets, "a(b", 3), -EINVAL);
    check_line(&secrets, "x~--license~abc~ACME_LICENSE=abc~licensed=abc",
               "x --license *** ACME_LICENSE=*** licensed=abc");
    check_line(&secrets, "x~--project_id=abc~--project~abc", "x --project_id=*** --project abc");
    check_line(&secrets, "acme-12/acme-3~b acme-4567~--token~abc", "***/acme-3 'b ***' --token ***");
    check_line(&secrets, "zzz~zzz.txt~aqqb", "*** zzz.txt a***b");
    secrets_fini(&secrets);
    check_line(&secrets, "acme-12~--license~abc", "acme-12 --license abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_holds),
        cmocka_unit_test(every_rule_has_a_sample),
        cmocka_unit_test(ordinary_words_stay_readable),
        cmocka_unit_test(shapes_that_leaked_are_masked),
        cmocka_unit_test(values_of_options_are_masked),
        cmocka_unit_test(values_of_variables_are_masked),
        cmocka_unit_test(headers_are_masked),
        cmocka_unit_test(passwords_in_urls_are_masked),
        cmocka_unit_test(scripts_within_an_argument_are_masked),
        cmocka_unit_test(some_harmless_words_are_masked),
        cmocka_unit_test(private_keys_are_masked),
        cmocka_unit_test(json_members_are_masked),
        cmocka_unit_test(the_output_is_one_printable_line),
        cmocka_unit_test(kernel_shapes_of_cmdline_are_taken),
        cmocka_unit_test(disabled_masks_nothing),
        cmocka_unit_test(single_arguments_remember_the_option_before),
        cmocka_unit_test(environment_values_are_masked_by_name_or_content),
        cmocka_unit_test(a_user_adds_names_and_patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
