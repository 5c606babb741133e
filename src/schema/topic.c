#include "schema/topic.h"

#include <string.h>

static const char *const names[TOPIC_COUNT] = {
    [TOPIC_OTHER] = "other",
    [TOPIC_CPU] = "cpu",
    [TOPIC_CPU_USER] = "cpu.user",
    [TOPIC_CPU_SYSTEM] = "cpu.system",
    [TOPIC_CPU_PART] = "cpu.part",
    [TOPIC_CPU_THROTTLED] = "cpu.throttled",
    [TOPIC_MEMORY] = "memory",
    [TOPIC_MEMORY_MARK] = "memory.mark",
    [TOPIC_MEMORY_PART] = "memory.part",
    [TOPIC_MEMORY_SWAP] = "memory.swap",
    [TOPIC_MEMORY_LIMIT] = "memory.limit",
    [TOPIC_IO] = "io",
    [TOPIC_IO_READ] = "io.read",
    [TOPIC_IO_WRITE] = "io.write",
    [TOPIC_IO_READ_CALLS] = "io.read.calls",
    [TOPIC_IO_WRITE_CALLS] = "io.write.calls",
    [TOPIC_STALL] = "stall",
    [TOPIC_STALL_CPU] = "stall.cpu",
    [TOPIC_STALL_MEMORY] = "stall.memory",
    [TOPIC_STALL_IO] = "stall.io",
    [TOPIC_STALL_MACHINE] = "stall.machine",
    [TOPIC_STALL_MACHINE_CPU] = "stall.machine.cpu",
    [TOPIC_STALL_MACHINE_MEMORY] = "stall.machine.memory",
    [TOPIC_STALL_MACHINE_IO] = "stall.machine.io",
    [TOPIC_FAULT] = "fault",
    [TOPIC_FAULT_MAJOR] = "fault.major",
    [TOPIC_SWITCH] = "switch",
    [TOPIC_PROCESS] = "process",
    [TOPIC_PROCESS_ZOMBIES] = "process.zombies",
    [TOPIC_PROCESS_OOM_KILLS] = "process.oom_kills",
    [TOPIC_PROCESS_COMMAND] = "process.command",
    [TOPIC_PROCESS_START] = "process.start",
    [TOPIC_PROCESS_AGE] = "process.age",
    [TOPIC_THREAD] = "thread",
    [TOPIC_FILE] = "file",
    [TOPIC_SYSCALL] = "syscall",
    [TOPIC_SYSCALL_ERRORS] = "syscall.errors",
    [TOPIC_SYSCALL_ERROR_NAMES] = "syscall.errors.names",
    [TOPIC_GPU] = "gpu",
    [TOPIC_MACHINE] = "machine",
    [TOPIC_MACHINE_CPU] = "machine.cpu",
    [TOPIC_SELF] = "self",
    [TOPIC_SELF_CPU] = "self.cpu",
    [TOPIC_SELF_MEMORY] = "self.memory",
    [TOPIC_SELF_SAMPLES] = "self.samples",
    [TOPIC_SELF_MISSED] = "self.missed",
};

const char *topic_name(enum topic topic)
{
    return names[topic];
}

enum topic topic_named(const char *name, size_t length)
{
    int topic = 0;

    while (topic < TOPIC_COUNT && (strlen(names[topic]) != length || memcmp(names[topic], name, length) != 0))
        topic++;
    return (enum topic)topic;
}

enum topic topic_group(enum topic topic)
{
    while (strchr(names[topic], '.'))
        topic--;
    return topic;
}

bool topic_is_of_machine(enum topic topic)
{
    return (topic >= TOPIC_STALL_MACHINE && topic <= TOPIC_STALL_MACHINE_IO) ||
           topic_group(topic) == TOPIC_MACHINE;
}
