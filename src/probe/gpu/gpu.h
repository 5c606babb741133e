/*
 * The GPUs of the machine: from NVIDIA's library NVML where it can be loaded, else from the program
 * nvidia-smi.
 *
 * What of a device could not be read is absent, with the reason: of one with MIG on, say, the utilization,
 * which only its instances have. A device that can no longer be asked at all (fallen off the bus) is still
 * one of them, with nothing but its index.
 */
#ifndef METRON_PROBE_GPU_GPU_H
#define METRON_PROBE_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

#define GPU_DEVICES_MAX 64 /* more in one machine are left out */
#define GPU_REASON_SIZE 64

enum gpu_field {
    GPU_UTILIZATION,  /* 1: a kernel ran all the time, over the driver's last period (up to 1 s) */
    GPU_MEMORY_USED,  /* bytes, as nvidia-smi has it, see nvml.c */
    GPU_MEMORY_TOTAL, /* bytes */
    GPU_TEMPERATURE,  /* degrees Celsius */
    GPU_POWER,        /* watts */
    GPU_ENERGY,       /* joules since the driver was loaded */
    GPU_FIELD_COUNT,
};
#define GPU_FIELD_BIT(field) (UINT64_C(1) << (field))
#define GPU_FIELDS_ALL       (GPU_FIELD_BIT(GPU_FIELD_COUNT) - 1)

struct gpu_device {
    unsigned index; /* the driver's */
    bool has[GPU_FIELD_COUNT];
    double values[GPU_FIELD_COUNT];
    char why_not[GPU_FIELD_COUNT][GPU_REASON_SIZE]; /* of a field that it lacks; "": nobody asked for it */
};

struct gpu_list {
    struct gpu_device devices[GPU_DEVICES_MAX]; /* by index */
    size_t count;
};

/* For people; NULL: the field is missing together with the one before. */
const char *gpu_field_name(enum gpu_field field);
void gpu_device_set(struct gpu_device *device, enum gpu_field field, double value);
/* Says that the device lacks this field, and why. */
void gpu_device_lacks(struct gpu_device *device, enum gpu_field field, const char *why);

/* Why nothing at all could be read of it; NULL: something could. */
const char *gpu_device_lost(const struct gpu_device *device);
/* Appends which device lacks what: "GPU 1 without temperature (Not Supported)". */
void gpu_list_absences(struct strbuf *out, const struct gpu_list *list);

struct gpu_source;

/* Finds out who can be asked, and asks nobody: no driver is woken. `may_run_program`: nvidia-smi will do.
 * Else a machine without the driver's device file has no GPU (-ENODEV): the library might start a program in
 * order to load the driver. -ENOENT: neither the library nor the program can be found. */
int gpu_source_open(struct gpu_source **out, bool may_run_program, struct metron_error *error);
const char *gpu_source_name(const struct gpu_source *source); /* "libnvidia-ml.so.1", or the program's path */
/* Seconds that should lie between two readings, at least. */
double gpu_source_period(const struct gpu_source *source);
/* The devices as they are now, with the `wanted` fields (a bit each). May block: for milliseconds mostly, for
 * seconds when the driver is in trouble. */
int gpu_source_read(struct gpu_source *source, uint64_t wanted, struct gpu_list *out,
                    struct metron_error *error);
/* May block likewise. NULL is allowed. */
void gpu_source_close(struct gpu_source *source);

#endif
