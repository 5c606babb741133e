#include "learn/work.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { WORDS_MAX = 64, NAME_MAX_BYTES = 64, OPTION_MAX = 32 };

/* What a program makes of its arguments: it runs a script or code in them; a script of the shell; a command;
 * or its first operand says what it does. */
enum kind { INTERPRETER, SHELL, LAUNCHER, TOOL };

/* Options are between blanks. */
static const struct program {
    enum kind kind;
    const char *names;  /* between blanks; a version may follow */
    const char *values; /* options that take the next word */
    const char *pairs;  /* that take the next two */
    const char *work;   /* whose next word is what is run */
    size_t operands;    /* of a launcher, before the command */
} programs[] = {
    {INTERPRETER, " python pypy ", " -W -X ", "", " -c -m ", 0},
    {INTERPRETER, " perl ", " -I ", "", " -e -E ", 0},
    {INTERPRETER, " ruby ", " -I -r ", "", " -e ", 0},
    {INTERPRETER, " node nodejs ", " -r --require ", "", " -e -p ", 0},
    {INTERPRETER, " R Rscript ", "", "", " -e -f ", 0},
    {INTERPRETER, " java ", " -cp -classpath --class-path -p --module-path ", "", " -jar -m ", 0},
    {INTERPRETER, " php ", " -d ", "", " -r -f ", 0},
    {INTERPRETER, " lua julia ", " -p -t -l ", "", " -e ", 0},
    {INTERPRETER, " matlab octave ", "", "", " -r -batch --eval ", 0},
    {SHELL, " sh bash dash zsh ksh ", " -o -O --rcfile --init-file ", "", " -c ", 0},
    {LAUNCHER, " mpirun mpiexec orterun prun ",
     " -n -np -c -N -npernode -ppn -H -host --host -hosts -hostfile --hostfile -machinefile --machinefile -f "
     "-x -wdir "
     "--wdir --map-by --bind-to --rank-by -genvlist ",
     " -mca --mca -genv -env ", "", 0},
    {LAUNCHER, " srun ", " -n -N -c -p -t -J -A -w -o -e -i -D ", "", "", 0},
    {LAUNCHER, " env sudo ", " -u -C -S -g ", "", "", 0},
    {LAUNCHER, " nice ionice chrt stdbuf time nohup setsid unbuffer ", " -n -c -p -i -o -e -f ", "", "", 0},
    {LAUNCHER, " timeout ", " -s -k --signal --kill-after ", "", "", 1},
    {LAUNCHER, " taskset ", " -c --cpu-list ", "", "", 0},
    {LAUNCHER, " numactl ", " -N -m -C -i -p ", "", "", 0},
    {LAUNCHER, " singularity apptainer ", " -B --bind -H --env --pwd ", "", "", 2},
    {LAUNCHER, " conda mamba uv poetry pipenv ", " -n -p ", "", "", 1},
    {TOOL, " make ninja cmake ctest git cargo go npm docker ", " -C -f -I -o ", "", "", 0},
    {TOOL, " samtools bcftools bedtools bwa gatk picard seqkit minimap ", "", "", "", 0},
};

struct words {
    const char *items[WORDS_MAX]; /* without their quotes, in the arena */
    size_t count;
};

/* Behind the first word, which may be quoted. */
static size_t word_length(const char *text)
{
    size_t at = 0;

    for (char quote = '\0'; text[at] && (quote || !text_is_blank(text[at])); at++) {
        if (text[at] == '\\' && text[at + 1] && quote != '\'')
            at++;
        else if (quote ? text[at] == quote : text[at] == '\'' || text[at] == '"')
            quote = quote ? '\0' : text[at];
    }
    return at;
}

static bool split(struct arena *arena, const char *command, struct words *out)
{
    const char *end = command + strlen(command);

    out->count = 0;
    for (command = text_skip_blanks(command, end); *command && out->count < WORDS_MAX;
         command = text_skip_blanks(command, end)) {
        struct strbuf word = STRBUF_INIT;
        size_t length = word_length(command);
        const char *quoted = arena_printf(arena, "%.*s", (int)length, command);

        if (quoted)
            text_shell_unquote(&word, quoted);
        const char *bare = quoted && !word.failed ? arena_strdup(arena, strbuf_text(&word)) : NULL;
        strbuf_fini(&word);
        if (!bare)
            return false;
        out->items[out->count++] = bare;
        command += length;
    }
    return true;
}

static const char *without_folders(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static bool is_in(const char *list, const char *word, size_t length)
{
    char between[OPTION_MAX + 3];

    if (length == 0 || length > OPTION_MAX)
        return false;
    (void)snprintf(between, sizeof(between), " %.*s ", (int)length, word);
    return strstr(list, between) != NULL;
}

/* "python3.11" is python; *length is that of its name. NULL: nothing is known of it. */
static const struct program *program_of(const char *word, size_t *length)
{
    const char *name = without_folders(word);

    *length = strlen(name);
    while (*length > 1 && strchr("0123456789.-", name[*length - 1]))
        (*length)--;
    for (size_t i = 0; i < ARRAY_LENGTH(programs); i++)
        if (is_in(programs[i].names, name, *length))
            return &programs[i];
    return NULL;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

/* How many words an option takes with it. */
static size_t option_words(const struct program *program, const char *word)
{
    size_t length = strlen(word);

    return is_in(program->pairs, word, length) ? 3 : is_in(program->values, word, length) ? 2 : 1;
}

/* The option itself, or the last of several letters: "-ec" of a shell. */
static bool is_work(const struct program *program, const char *word)
{
    size_t length = strlen(word);
    const char last[] = {'-', length > 1 ? word[length - 1] : '\0', '\0'};

    return is_in(program->work, word, length) ||
           (word[1] != '-' && length < 6 && is_in(program->work, last, 2));
}

static bool is_assignment(const char *word)
{
    return strchr(word, '=') && !strchr("=-/.", word[0]);
}

static size_t behind_options(const struct program *program, const struct words *words, size_t at)
{
    while (at < words->count && is_option(words->items[at]) && !is_work(program, words->items[at]))
        at += strcmp(words->items[at], "--") == 0 ? 1 : option_words(program, words->items[at]);
    return at;
}

/* Of a word of a script, which ends at blanks, or where a command does: but not at the & of "2>&1". */
static size_t script_word_length(const char *text)
{
    size_t length = word_length(text), bare = strcspn(text, "'\"\\");

    for (size_t i = 0; i < length && i < bare; i++)
        if (strchr(";|&(){}", text[i]) && !(text[i] == '&' && i && strchr("<>", text[i - 1])))
            return i ? i : 1;
    return length;
}

/* The programs of a script, one behind the other: what is at its begin, and behind ; | & ( { and a line
 * break. */
static void add_script(struct strbuf *out, struct arena *arena, const char *script)
{
    static const char joins[] = ";|&(){}\n";
    static const char before_commands[] = " if then elif else while until do ! exec time ";
    static const char before_words[] = " for case select in esac fi done ";
    bool is_first = true; /* of a command */

    strbuf_adds(out, ":");
    while (*script && out->length < NAME_MAX_BYTES) {
        size_t length = strchr(joins, *script) || text_is_blank(*script) ? 1 : script_word_length(script);
        const char *word = arena_printf(arena, "%.*s", (int)length, script);

        if (strchr(joins, *script))
            is_first = true;
        else if (is_first && !text_is_blank(*script) && word && !is_assignment(word) &&
                 !is_in(before_commands, word, length)) {
            if (!is_in(before_words, word, length))
                strbuf_addf(out, " %s", without_folders(word));
            is_first = false;
        }
        script += length;
    }
}

/* Code on the command line, which often has its parameters in it: all numbers are N. */
static void add_code(struct strbuf *out, const char *code)
{
    const bool is_code = strpbrk(code, " ();=") != NULL;
    const char *digits = "0123456789";

    while (*code) {
        size_t number = is_code ? strspn(code, digits) : 0;
        strbuf_addc(out, number ? 'N' : *code);
        code += number ? number : 1;
    }
}

static void add_name(struct strbuf *out, struct arena *arena, const struct words *words)
{
    const struct program *program = NULL;
    size_t at = 0, length = 0;

    /* Through what only starts something else. */
    while ((program = program_of(words->items[at], &length)) && program->kind == LAUNCHER) {
        size_t next = behind_options(program, words, at + 1) + program->operands;
        while (next < words->count && is_assignment(words->items[next]))
            next++;
        if (next >= words->count)
            break;
        at = next;
    }
    const char *name = without_folders(words->items[at]);
    strbuf_add(out, name, program && program->kind != SHELL ? length : strlen(name));
    if (!program || program->kind == LAUNCHER)
        return;
    at = behind_options(program, words, at + 1);
    if (at >= words->count)
        return;
    bool is_code = is_work(program, words->items[at]) && is_option(words->items[at]);
    if (is_code && at + 1 < words->count && program->kind == SHELL)
        add_script(out, arena, words->items[at + 1]);
    else if (is_code && at + 1 < words->count) {
        strbuf_addf(out, " %s ", words->items[at]);
        add_code(out, words->items[at + 1]);
    } else if (!is_code && !is_assignment(words->items[at]))
        strbuf_addf(out, " %s", without_folders(words->items[at]));
}

const char *work_name(struct arena *arena, const char *command)
{
    struct strbuf name = STRBUF_INIT;
    struct words words;

    if (!command || !split(arena, command, &words) || words.count == 0)
        return NULL;
    add_name(&name, arena, &words);
    const char *text = strbuf_text(&name);
    const char *kept =
        name.failed ? NULL : arena_printf(arena, "%.*s", (int)text_cut(text, NAME_MAX_BYTES), text);
    strbuf_fini(&name);
    return kept;
}
