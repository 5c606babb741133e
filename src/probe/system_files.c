/*
 * Parsers of the files about the whole machine. Numbers are read by hand: strtod and scanf obey the locale
 * of the program.
 */
#include "probe/system_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "probe/digits.h"

/*
 * /proc/meminfo, meminfo_proc_show() in fs/proc/meminfo.c; " kB" are KiB:
 *
 *   MemTotal:        8152128 kB\n
 *   MemFree:         5012340 kB\n
 *   MemAvailable:    7310552 kB\n
 *   ...
 *   SwapTotal:             0 kB\n
 *   SwapFree:              0 kB\n
 */
int meminfo_parse(const char *text, size_t length, struct meminfo *out)
{
    struct {
        const char *key;
        size_t key_length;
        uint64_t *bytes;
        bool found;
    } wanted[] = {
        {"MemTotal:", 9, &out->total, false},          {"MemFree:", 8, &out->free, false},
        {"MemAvailable:", 13, &out->available, false}, {"SwapTotal:", 10, &out->swap_total, false},
        {"SwapFree:", 9, &out->swap_free, false},
    };
    const size_t wanted_count = sizeof(wanted) / sizeof(wanted[0]);
    const char *line = text, *end = text + length, *line_end;
    size_t found = 0;

    memset(out, 0, sizeof(*out));
    for (; found < wanted_count && (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        for (size_t i = 0; i < wanted_count; i++) {
            const char *at = line + wanted[i].key_length;
            uint64_t kibibytes;

            if (wanted[i].found || (size_t)(line_end - line) < wanted[i].key_length ||
                memcmp(line, wanted[i].key, wanted[i].key_length) != 0)
                continue;
            while (at < line_end && *at == ' ')
                at++;
            at = digits_read(at, line_end, &kibibytes);
            if (at == NULL)
                return -EBADMSG;
            if (__builtin_mul_overflow(kibibytes, 1024U, wanted[i].bytes))
                *wanted[i].bytes = UINT64_MAX;
            wanted[i].found = true;
            found++;
            break;
        }
    }
    out->has_available = wanted[2].found;
    /* All but MemAvailable are as old as the file: without one of them the text is not whole. */
    return found + !out->has_available == wanted_count ? 0 : -EBADMSG;
}

/* "12.34": always two digits after the point, whatever the locale. */
static const char *load_read(const char *at, const char *end, double *load)
{
    uint64_t whole, hundredths;

    at = digits_read(at, end, &whole);
    if (at == NULL || end - at < 4 || *at != '.' || at[3] != ' ')
        return NULL;
    if (digits_read(at + 1, at + 3, &hundredths) != at + 3)
        return NULL;
    *load = (double)whole + (double)hundredths / 100.0;
    return at + 4;
}

/*
 * /proc/loadavg, loadavg_proc_show() in fs/proc/loadavg.c: three averages, runnable/all tasks, the last pid:
 *
 *   0.20 0.18 0.12 1/80 11206\n
 */
int loadavg_parse(const char *text, size_t length, struct loadavg *out)
{
    const char *at = text, *end = text + length;

    at = load_read(at, end, &out->load1);
    if (at != NULL)
        at = load_read(at, end, &out->load5);
    if (at != NULL)
        at = load_read(at, end, &out->load15);
    return at != NULL ? 0 : -EBADMSG;
}

/*
 * /proc/stat, show_stat() in fs/proc/stat.c:
 *
 *   cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0\n
 *   cpu0 1393280 32966 572056 13343292 6130 0 17875 0 23933 0\n
 *   intr ...\n        (long on large machines)
 *   btime 1062191376\n
 *
 * user nice system idle iowait irq softirq steal guest guest_nice. Kernels older than 2.6.11 end before
 * steal; what is missing is 0. The first part of the file is enough for all but btime.
 */
int system_stat_parse(const char *text, size_t length, struct system_stat *out)
{
    uint64_t *columns[] = {&out->user,   &out->nice, &out->system,  &out->idle,
                           &out->iowait, &out->irq,  &out->softirq, &out->steal};
    const char *end = text + length, *line_end, *at, *line;
    size_t count = 0;

    memset(out, 0, sizeof(*out));
    if (length < 5 || memcmp(text, "cpu  ", 5) != 0)
        return -EBADMSG;
    line_end = memchr(text, '\n', length);
    if (line_end == NULL)
        return -EBADMSG;
    for (at = text + 5; count < sizeof(columns) / sizeof(columns[0]); count++) {
        at = digits_read(at, line_end, columns[count]);
        if (at == NULL || (at < line_end && *at != ' '))
            return -EBADMSG;
        if (at++ == line_end) {
            count++;
            break;
        }
    }
    if (count < 4)
        return -EBADMSG;

    for (line = line_end + 1; (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        if (line_end - line > 6 && memcmp(line, "btime ", 6) == 0) {
            if (digits_read(line + 6, line_end, &out->boot_time) != line_end)
                return -EBADMSG;
            break;
        }
    }
    return 0;
}

/* Without blanks around it; false: nothing is left. */
static bool name_copy(const char *at, const char *end, char out[SYSTEM_NAME_SIZE])
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    size_t length = (size_t)(end - at) < SYSTEM_NAME_SIZE ? (size_t)(end - at) : SYSTEM_NAME_SIZE - 1;
    memcpy(out, at, length);
    out[length] = '\0';
    return out[0] != '\0';
}

/* The value of a line "key<blanks>: value" of the first CPU, whose lines end with an empty one. */
static bool cpuinfo_find(const char *text, const char *end, const char *key, char out[SYSTEM_NAME_SIZE])
{
    size_t length = strlen(key);

    for (const char *line = text, *line_end; (line_end = line_end_of(line, end)) != NULL && line_end > line;
         line = line_end + 1) {
        const char *at = line + length;
        if ((size_t)(line_end - line) <= length || memcmp(line, key, length) != 0)
            continue;
        while (at < line_end && (*at == ' ' || *at == '\t'))
            at++;
        if (at < line_end && *at == ':')
            return name_copy(at + 1, line_end, out);
    }
    return false;
}

/*
 * /proc/cpuinfo, arch/ARCH/kernel; each architecture has lines of its own:
 *
 *   model name\t: AMD EPYC 7763 64-Core Processor\n       x86, arm
 *   cpu\t\t: POWER9, altivec supported\n                  powerpc
 *   cpu model\t\t: Loongson-3 V0.4  FPU V0.1\n            mips
 *   Model Name\t\t: Loongson-3A5000\n                     loongarch
 *   uarch\t\t: sifive,u74-mc\n                            riscv
 *   CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n          aarch64
 */
int cpuinfo_parse(const char *text, size_t length, char out[SYSTEM_NAME_SIZE])
{
    static const char *const keys[] = {"model name", "cpu", "cpu model", "Model Name", "uarch"};
    char implementer[SYSTEM_NAME_SIZE], part[SYSTEM_NAME_SIZE];
    const char *end = text + length;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (cpuinfo_find(text, end, keys[i], out))
            return 0;
    if (!cpuinfo_find(text, end, "CPU implementer", implementer) ||
        !cpuinfo_find(text, end, "CPU part", part))
        return -EBADMSG;
    (void)snprintf(out, SYSTEM_NAME_SIZE, "implementer %.32s, part %.32s", implementer, part);
    return 0;
}

/*
 * os-release(5): assignments as a shell reads them, without expansion:
 *
 *   PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n
 */
int os_release_parse(const char *text, size_t length, char out[SYSTEM_NAME_SIZE])
{
    static const char key[] = "PRETTY_NAME=";
    const char *end = text + length;
    char plain[SYSTEM_NAME_SIZE];
    size_t count = 0;

    for (const char *line = text; line < end;) {
        const char *line_end = line_end_of(line, end), *at = line + sizeof(key) - 1;
        line_end = line_end ? line_end : end;
        if ((size_t)(line_end - line) < sizeof(key) || memcmp(line, key, sizeof(key) - 1) != 0) {
            line = line_end < end ? line_end + 1 : end;
            continue;
        }
        const char quote = *at == '"' || *at == '\'' ? *at++ : '\0';
        for (; at < line_end && (!quote || *at != quote) && count < sizeof(plain); at++) {
            if (*at == '\\' && quote != '\'' && at + 1 < line_end)
                at++;
            plain[count++] = *at;
        }
        return name_copy(plain, plain + count, out) ? 0 : -EBADMSG;
    }
    return -EBADMSG;
}
