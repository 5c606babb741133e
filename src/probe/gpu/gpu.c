#include "probe/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/breakage.h"
#include "probe/gpu/nvidia_smi.h"
#include "probe/gpu/nvml.h"

/* The library takes milliseconds for a reading. The program is a process each time, and takes a tenth of a
 * second or more. */
#define LIBRARY_PERIOD_SECONDS 0.1
#define PROGRAM_PERIOD_SECONDS 1.0

struct gpu_source {
    struct nvml *nvml; /* NULL: the program */
    struct nvidia_smi program;
};

const char *gpu_field_name(enum gpu_field field)
{
    static const char *const names[GPU_FIELD_COUNT] = {[GPU_UTILIZATION] = "utilization",
                                                       [GPU_MEMORY_USED] = "memory",
                                                       [GPU_TEMPERATURE] = "temperature",
                                                       [GPU_POWER] = "power",
                                                       [GPU_ENERGY] = "energy"};

    return names[field];
}

void gpu_device_set(struct gpu_device *device, enum gpu_field field, double value)
{
    device->has[field] = true;
    device->values[field] = value;
}

void gpu_device_lacks(struct gpu_device *device, enum gpu_field field, const char *why)
{
    device->has[field] = false;
    (void)snprintf(device->why_not[field], GPU_REASON_SIZE, "%s", why);
}

const char *gpu_device_lost(const struct gpu_device *device)
{
    const char *why = NULL;

    for (int field = 0; field < GPU_FIELD_COUNT; field++) {
        if (device->has[field])
            return NULL;
        if (!why && device->why_not[field][0])
            why = device->why_not[field];
    }
    return why;
}

void gpu_list_absences(struct strbuf *out, const struct gpu_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct gpu_device *device = &list->devices[i];
        const char *lost = gpu_device_lost(device);

        if (lost) {
            strbuf_addf(out, "%sGPU %u cannot be read (%s)", out->length ? ", " : "", device->index, lost);
            continue;
        }
        for (int field = 0; field < GPU_FIELD_COUNT; field++)
            if (device->why_not[field][0] && gpu_field_name((enum gpu_field)field))
                strbuf_addf(out, "%sGPU %u without %s (%s)", out->length ? ", " : "", device->index,
                            gpu_field_name((enum gpu_field)field), device->why_not[field]);
    }
}

/* The driver has made its device file: on Linux, or on Windows for the Linux on it. */
static bool has_device_file(void)
{
    const char *test = getenv("METRON_TEST_GPU_DEVICE"); /* stands for it in tests */

    return access(test ? test : "/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

int gpu_source_open(struct gpu_source **out, bool may_run_program, struct metron_error *error)
{
    struct gpu_source *source = calloc(1, sizeof(*source));
    struct metron_error why = {0};

    *out = NULL;
    if (!source)
        return error_set(error, -ENOMEM, "no memory to look at GPUs");
    int code = 0;
    if (breakage_has("gpu") || (!may_run_program && !has_device_file()))
        code = error_set(error, -ENODEV, "no NVIDIA driver is loaded: there is no /dev/nvidiactl");
    else if (nvml_open(&source->nvml, &why) < 0 && !may_run_program)
        code = error_set(error, why.code, "%s", why.message);
    else if (!source->nvml && nvidia_smi_find(&source->program) < 0)
        code = error_set(error, -ENOENT, "%s, and there is no nvidia-smi in PATH", why.message);
    if (code < 0)
        free(source);
    else
        *out = source;
    return code;
}

const char *gpu_source_name(const struct gpu_source *source)
{
    return source->nvml ? NVML_LIBRARY : source->program.path;
}

double gpu_source_period(const struct gpu_source *source)
{
    return source->nvml ? LIBRARY_PERIOD_SECONDS : PROGRAM_PERIOD_SECONDS;
}

int gpu_source_read(struct gpu_source *source, uint64_t wanted, struct gpu_list *out,
                    struct metron_error *error)
{
    out->count = 0;
    return source->nvml ? nvml_read(source->nvml, wanted, out, error)
                        : nvidia_smi_run(&source->program, out, error);
}

void gpu_source_close(struct gpu_source *source)
{
    if (!source)
        return;
    if (source->nvml)
        nvml_close(source->nvml);
    else
        nvidia_smi_fini(&source->program);
    free(source);
}
