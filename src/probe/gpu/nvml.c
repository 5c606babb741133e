/*
 * The few declarations of nvml.h that are needed, under our own names, and the calls.
 *
 * Functions are looked for by name: what an older library has not is absent, with that as its reason. Where a
 * function has successors, the newest one that works is used:
 *
 * - Memory: nvmlDeviceGetMemoryInfo_v2 (drivers since 510), whose `used` leaves out what driver and firmware
 *   reserve for themselves, as nvidia-smi does; the first version counts that as used, some hundred MiB on an
 * idle GPU. It is asked only where there is no second one.
 * - Temperature: nvmlDeviceGetTemperatureV (since 565), else nvmlDeviceGetTemperature, which is deprecated.
 *
 * The driver may come and go (an upgrade, a reset): when not even the number of devices can be had,
 * everything is begun anew. A begin that fails may start a helper of the driver's each time, so it is not
 * tried at every tick.
 */
#include "probe/gpu/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define RETRY_NS (30 * NS_PER_SECOND)

/* ---- nvml.h ---- */

typedef struct nvml_device_handle *device_handle; /* nvmlDevice_t */

enum result {                                        /* nvmlReturn_t */
              RESULT_SUCCESS = 0,                    /* NVML_SUCCESS */
              RESULT_NOT_SUPPORTED = 3,              /* NVML_ERROR_NOT_SUPPORTED */
              RESULT_FUNCTION_NOT_FOUND = 13,        /* NVML_ERROR_FUNCTION_NOT_FOUND */
              RESULT_ARGUMENT_VERSION_MISMATCH = 25, /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
};

enum {
    INIT_FLAG_NO_GPUS = 1, /* NVML_INIT_FLAG_NO_GPUS: a machine without one is no error */
    SENSOR_GPU = 0,        /* NVML_TEMPERATURE_GPU */
    MIG_ENABLED = 1,       /* NVML_DEVICE_MIG_ENABLE */
};

struct utilization { /* nvmlUtilization_t: percent */
    unsigned gpu, memory;
};

struct memory { /* nvmlMemory_t: bytes */
    unsigned long long total, free, used;
};

struct memory_v2 { /* nvmlMemory_v2_t: bytes */
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct temperature { /* nvmlTemperature_v1_t */
    unsigned version;
    unsigned sensor;
    int celsius;
};

/* NVML_STRUCT_VERSION: which version of which structure the caller has. */
#define STRUCT_VERSION(type, number) ((unsigned)sizeof(type) | (unsigned)(number) << 24)

struct nvml {
    void *library;
    enum result (*init_with_flags)(unsigned flags);
    enum result (*init)(void);
    enum result (*shutdown)(void);
    const char *(*error_string)(enum result result);
    enum result (*count)(unsigned *count);
    enum result (*handle)(unsigned index, device_handle *device);
    enum result (*mig_mode)(device_handle device, unsigned *current, unsigned *pending);
    enum result (*utilization)(device_handle device, struct utilization *out);
    enum result (*memory_v2)(device_handle device, struct memory_v2 *out);
    enum result (*memory)(device_handle device, struct memory *out);
    enum result (*temperature_v)(device_handle device, struct temperature *out);
    enum result (*temperature)(device_handle device, unsigned sensor, unsigned *celsius);
    enum result (*power)(device_handle device, unsigned *milliwatts);
    enum result (*energy)(device_handle device, unsigned long long *millijoules);

    bool running;               /* it was initialised */
    uint64_t retry_ns;          /* no sooner, if not */
    struct metron_error failed; /* why it is not */
};

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    {"nvmlInitWithFlags", offsetof(struct nvml, init_with_flags)},
    {"nvmlInit_v2", offsetof(struct nvml, init)},
    {"nvmlShutdown", offsetof(struct nvml, shutdown)},
    {"nvmlErrorString", offsetof(struct nvml, error_string)},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml, count)},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, handle)},
    {"nvmlDeviceGetMigMode", offsetof(struct nvml, mig_mode)},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml, utilization)},
    {"nvmlDeviceGetMemoryInfo_v2", offsetof(struct nvml, memory_v2)},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory)},
    {"nvmlDeviceGetTemperatureV", offsetof(struct nvml, temperature_v)},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml, temperature)},
    {"nvmlDeviceGetPowerUsage", offsetof(struct nvml, power)},
    {"nvmlDeviceGetTotalEnergyConsumption", offsetof(struct nvml, energy)},
};

/* ---- loading ---- */

/* C has no conversion from an object's address to a function's; POSIX gives both the same representation. */
static void functions_find(struct nvml *nvml)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *address = dlsym(nvml->library, functions[i].name);

        memcpy((char *)nvml + functions[i].offset, &address, sizeof(address));
    }
}

int nvml_open(struct nvml **out, struct metron_error *error)
{
    struct nvml *nvml = calloc(1, sizeof(*nvml));

    *out = NULL;
    if (!nvml)
        return error_set(error, -ENOMEM, "no memory for NVML");
    nvml->library = dlopen(NVML_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!nvml->library) {
        const char *why = dlerror();
        free(nvml);
        return error_set(error, -ENOENT, "%s", why ? why : "no " NVML_LIBRARY);
    }
    functions_find(nvml);
    if ((!nvml->init && !nvml->init_with_flags) || !nvml->count || !nvml->handle || !nvml->shutdown) {
        (void)dlclose(nvml->library);
        free(nvml);
        return error_set(error, -ENOSYS, "%s is older than driver 319", NVML_LIBRARY);
    }
    *out = nvml;
    return 0;
}

void nvml_close(struct nvml *nvml)
{
    if (nvml->running)
        (void)nvml->shutdown();
    (void)dlclose(nvml->library);
    free(nvml);
}

static const char *reason(const struct nvml *nvml, enum result result)
{
    const char *text = nvml->error_string ? nvml->error_string(result) : NULL;

    return text ? text : "NVML failed";
}

/* ---- one device ---- */

/* Whether the library does not know this version of a call, although the one before may do. */
static bool is_unknown(enum result result)
{
    return result == RESULT_NOT_SUPPORTED || result == RESULT_FUNCTION_NOT_FOUND ||
           result == RESULT_ARGUMENT_VERSION_MISMATCH;
}

/* Takes the value, if the call was there and succeeded. */
static void take(const struct nvml *nvml, bool is_there, enum result result, struct gpu_device *device,
                 enum gpu_field field, double value)
{
    if (is_there && result == RESULT_SUCCESS)
        gpu_device_set(device, field, value);
    else
        gpu_device_lacks(device, field, is_there ? reason(nvml, result) : "too old a driver");
}

static void read_utilization(const struct nvml *nvml, device_handle handle, struct gpu_device *device)
{
    enum result result = RESULT_SUCCESS;
    struct utilization percent = {0};
    unsigned mig = 0, pending = 0;

    /* Some drivers say 0 for a GPU that is divided, instead of that they cannot tell. */
    if (nvml->mig_mode && nvml->mig_mode(handle, &mig, &pending) == RESULT_SUCCESS && mig == MIG_ENABLED) {
        gpu_device_lacks(device, GPU_UTILIZATION, "MIG is on: only its instances have one");
        return;
    }
    if (nvml->utilization)
        result = nvml->utilization(handle, &percent);
    take(nvml, nvml->utilization != NULL, result, device, GPU_UTILIZATION, percent.gpu / 100.0);
    if (percent.gpu > 100)
        gpu_device_lacks(device, GPU_UTILIZATION, "the driver says more than 100 %");
}

static void read_memory(const struct nvml *nvml, device_handle handle, struct gpu_device *device)
{
    enum result result = RESULT_FUNCTION_NOT_FOUND;
    struct memory_v2 bytes = {.version = STRUCT_VERSION(struct memory_v2, 2)};

    if (nvml->memory_v2)
        result = nvml->memory_v2(handle, &bytes);
    if (is_unknown(result) && nvml->memory) {
        struct memory old = {0};
        result = nvml->memory(handle, &old);
        bytes.total = old.total;
        bytes.used = old.used;
    }
    const bool is_there = nvml->memory_v2 || nvml->memory;
    take(nvml, is_there, result, device, GPU_MEMORY_USED, (double)bytes.used);
    take(nvml, is_there, result, device, GPU_MEMORY_TOTAL, (double)bytes.total);
}

static void read_temperature(const struct nvml *nvml, device_handle handle, struct gpu_device *device)
{
    enum result result = RESULT_FUNCTION_NOT_FOUND;
    struct temperature reading = {.version = STRUCT_VERSION(struct temperature, 1), .sensor = SENSOR_GPU};

    if (nvml->temperature_v)
        result = nvml->temperature_v(handle, &reading);
    if (is_unknown(result) && nvml->temperature) {
        unsigned celsius = 0;
        result = nvml->temperature(handle, SENSOR_GPU, &celsius);
        reading.celsius = (int)celsius;
    }
    take(nvml, nvml->temperature_v || nvml->temperature, result, device, GPU_TEMPERATURE, reading.celsius);
}

static void read_power(const struct nvml *nvml, device_handle handle, struct gpu_device *device)
{
    unsigned milliwatts = 0;
    enum result result = nvml->power ? nvml->power(handle, &milliwatts) : RESULT_SUCCESS;

    take(nvml, nvml->power != NULL, result, device, GPU_POWER, milliwatts / 1000.0);
}

static void read_energy(const struct nvml *nvml, device_handle handle, struct gpu_device *device)
{
    unsigned long long millijoules = 0;
    enum result result = nvml->energy ? nvml->energy(handle, &millijoules) : RESULT_SUCCESS;

    take(nvml, nvml->energy != NULL, result, device, GPU_ENERGY, (double)millijoules / 1000);
}

static void read_device(const struct nvml *nvml, unsigned index, uint64_t wanted, struct gpu_device *device)
{
    static const struct {
        void (*read)(const struct nvml *nvml, device_handle handle, struct gpu_device *device);
        uint64_t fields;
    } readers[] = {
        {read_utilization, GPU_FIELD_BIT(GPU_UTILIZATION)},
        {read_memory, GPU_FIELD_BIT(GPU_MEMORY_USED) | GPU_FIELD_BIT(GPU_MEMORY_TOTAL)},
        {read_temperature, GPU_FIELD_BIT(GPU_TEMPERATURE)},
        {read_power, GPU_FIELD_BIT(GPU_POWER)},
        {read_energy, GPU_FIELD_BIT(GPU_ENERGY)},
    };
    device_handle handle = NULL;
    enum result result = nvml->handle(index, &handle);

    *device = (struct gpu_device){.index = index};
    for (int field = 0; field < GPU_FIELD_COUNT && result != RESULT_SUCCESS; field++)
        gpu_device_lacks(device, (enum gpu_field)field, reason(nvml, result));
    if (result != RESULT_SUCCESS)
        return;
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        if (wanted & readers[i].fields)
            readers[i].read(nvml, handle, device);
}

/* ---- all of them ---- */

static int begin(struct nvml *nvml)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (nvml->running)
        return 0;
    if (now_ns < nvml->retry_ns)
        return -EIO;
    enum result result = nvml->init_with_flags ? nvml->init_with_flags(INIT_FLAG_NO_GPUS) : nvml->init();
    nvml->running = result == RESULT_SUCCESS;
    nvml->retry_ns = clock_monotonic_ns() + RETRY_NS;
    return nvml->running ? 0 : error_set(&nvml->failed, -EIO, "the NVIDIA driver: %s", reason(nvml, result));
}

int nvml_read(struct nvml *nvml, uint64_t wanted, struct gpu_list *out, struct metron_error *error)
{
    unsigned count = 0;

    if (begin(nvml) < 0)
        return error_set(error, -EIO, "%s", nvml->failed.message);
    enum result result = nvml->count(&count);
    if (result != RESULT_SUCCESS) {
        (void)error_set(&nvml->failed, -EIO, "the number of GPUs: %s", reason(nvml, result));
        (void)nvml->shutdown();
        nvml->running = false;
        return error_set(error, -EIO, "%s", nvml->failed.message);
    }
    out->count = count < GPU_DEVICES_MAX ? count : GPU_DEVICES_MAX;
    for (unsigned i = 0; i < out->count; i++)
        read_device(nvml, i, wanted, &out->devices[i]);
    return 0;
}
