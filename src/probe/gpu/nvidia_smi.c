#include "probe/gpu/nvidia_smi.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/digits.h"

#define COLUMNS           "index,utilization.gpu,memory.used,memory.total,temperature.gpu"
#define OUTPUT_BYTES_MAX  ((size_t)1 << 20)
#define LIMIT_NS          (10 * NS_PER_SECOND)
#define KILLED_ENDS_IN_NS (NS_PER_SECOND / 10)
#define NO_DEVICES        "No devices were found"

/* ---- what it prints ---- */

struct word {
    const char *text;
    size_t length;
};

/* The next word up to a comma, without blanks around it; false: there is none. */
static bool word_take(const char **at, const char *end, struct word *out)
{
    if (*at > end)
        return false;
    const char *begin = *at, *comma = memchr(begin, ',', (size_t)(end - begin));
    const char *stop = comma ? comma : end;

    *at = stop + 1; /* past the end after the last one */
    while (begin < stop && (*begin == ' ' || *begin == '\t'))
        begin++;
    while (begin < stop && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r'))
        stop--;
    *out = (struct word){begin, (size_t)(stop - begin)};
    return true;
}

static bool word_number(const struct word *word, uint64_t *value)
{
    const char *end = word->text + word->length;

    return digits_read(word->text, end, value) == end && *value < UINT64_MAX;
}

/* A word that should have been a number is the reason why there is none: "[N/A]", "[GPU is lost]". */
static void field_take(const struct word *word, uint64_t most, double factor, struct gpu_device *device,
                       enum gpu_field field)
{
    char why[GPU_REASON_SIZE];
    uint64_t value = 0;

    if (word_number(word, &value) && value <= most) {
        gpu_device_set(device, field, (double)value * factor);
        return;
    }
    (void)snprintf(why, sizeof(why), "nvidia-smi says %.*s", (int)(word->length < 40 ? word->length : 40),
                   word->text);
    gpu_device_lacks(device, field, why);
}

/*
 * The columns of COLUMNS: percent, MiB, MiB, degrees; a value that cannot be had in brackets, or plainly N/A:
 *
 *   "0, 37, 12034, 143771, 41"
 *   "1, [N/A], 87, 40960, 30"
 */
int nvidia_smi_line_parse(const char *line, size_t length, struct gpu_device *out)
{
    const char *at = line, *end = line + length;
    struct word index, percent, used, total, celsius, more;
    const double mebibyte = 1024.0 * 1024;
    uint64_t number = 0;

    if (!word_take(&at, end, &index) || !word_take(&at, end, &percent) || !word_take(&at, end, &used) ||
        !word_take(&at, end, &total) || !word_take(&at, end, &celsius) || word_take(&at, end, &more))
        return -EBADMSG;
    if (!word_number(&index, &number) || number > INT32_MAX)
        return -EBADMSG;
    *out = (struct gpu_device){.index = (unsigned)number};
    field_take(&percent, 100, 0.01, out, GPU_UTILIZATION);
    field_take(&used, UINT64_MAX >> 20, mebibyte, out, GPU_MEMORY_USED);
    field_take(&total, UINT64_MAX >> 20, mebibyte, out, GPU_MEMORY_TOTAL);
    if (out->has[GPU_MEMORY_USED] != out->has[GPU_MEMORY_TOTAL]) { /* one without the other says little */
        bool has_used = out->has[GPU_MEMORY_USED];
        gpu_device_lacks(out, has_used ? GPU_MEMORY_USED : GPU_MEMORY_TOTAL,
                         out->why_not[has_used ? GPU_MEMORY_TOTAL : GPU_MEMORY_USED]);
    }
    field_take(&celsius, 1000, 1, out, GPU_TEMPERATURE);
    return 0;
}

int nvidia_smi_parse(const char *text, size_t length, struct gpu_list *out, struct metron_error *error)
{
    const char *line = text, *end = text + length;
    struct word other = {"it printed nothing", sizeof("it printed nothing") - 1};
    bool any_other = false;

    out->count = 0;
    while (line < end && out->count < GPU_DEVICES_MAX) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t bytes = (size_t)((newline ? newline : end) - line);

        if (nvidia_smi_line_parse(line, bytes, &out->devices[out->count]) == 0) {
            out->count++;
        } else if (!any_other && bytes > 0) {
            any_other = true;
            other = (struct word){line, bytes < 200 ? bytes : 200};
        }
        line += bytes + 1;
    }
    const size_t none = sizeof(NO_DEVICES) - 1;
    if (out->count > 0 || (other.length >= none && memcmp(other.text, NO_DEVICES, none) == 0))
        return 0;
    return error_set(error, -EIO, "nvidia-smi: %.*s", (int)other.length, other.text);
}

/* ---- running it ---- */

int nvidia_smi_find(struct nvidia_smi *program)
{
    *program = (struct nvidia_smi){.left_behind = 0};
    return program_find("nvidia-smi", program->path);
}

void nvidia_smi_fini(struct nvidia_smi *program)
{
    strbuf_fini(&program->output);
}

/* Waits for one that has closed its output, or was killed. */
static void end_run(struct nvidia_smi *program, pid_t pid)
{
    if (program_wait(pid, clock_monotonic_ns() + KILLED_ENDS_IN_NS, NULL, NULL) != -ETIME)
        return;
    (void)kill(pid, SIGKILL);
    if (program_wait(pid, clock_monotonic_ns() + KILLED_ENDS_IN_NS, NULL, NULL) == -ETIME)
        program->left_behind = pid;
}

int nvidia_smi_run(struct nvidia_smi *program, struct gpu_list *out, struct metron_error *error)
{
    char *const argv[] = {"nvidia-smi", "--query-gpu=" COLUMNS, "--format=csv,noheader,nounits", NULL};
    pid_t pid = 0;
    int output = -1;

    if (program->left_behind && program_wait(program->left_behind, 0, NULL, NULL) == -ETIME)
        return error_set(error, -EBUSY, "an earlier nvidia-smi does not end");
    program->left_behind = 0;
    strbuf_reset(&program->output);
    /* It finds the driver's library by the same variables as its user does. */
    int code = program_start(program->path, argv, environ, &pid, &output);
    if (code < 0)
        return error_set(error, code, "%s: %s", program->path, strerror(-code));
    code = program_read(output, clock_monotonic_ns() + LIMIT_NS, OUTPUT_BYTES_MAX, &program->output);
    (void)close(output);
    if (code < 0)
        (void)kill(pid, SIGKILL);
    end_run(program, pid);
    if (code < 0)
        return error_set(error, code, "nvidia-smi: %s", strerror(-code));
    return nvidia_smi_parse(strbuf_text(&program->output), program->output.length, out, error);
}
