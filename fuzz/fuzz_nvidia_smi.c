/* What nvidia-smi prints: any bytes; numbers are such as a GPU has, and what is absent has a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/gpu/nvidia_smi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gpu_list list;
    struct metron_error error = {0};

    if (nvidia_smi_parse((const char *)data, size, &list, &error) < 0) {
        if (error.message[0] == '\0')
            abort();
        return 0;
    }
    if (list.count > GPU_DEVICES_MAX)
        abort();
    for (size_t i = 0; i < list.count; i++) {
        const struct gpu_device *device = &list.devices[i];

        const double utilization = device->values[GPU_UTILIZATION];
        if (device->has[GPU_UTILIZATION] && !(utilization >= 0 && utilization <= 1))
            abort();
        for (int field = 0; field <= GPU_TEMPERATURE; field++)
            if (device->has[field] == (device->why_not[field][0] != '\0') ||
                !memchr(device->why_not[field], '\0', GPU_REASON_SIZE))
                abort();
    }
    return 0;
}
