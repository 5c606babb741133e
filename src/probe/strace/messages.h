/*
 * What strace says on its stderr while it attaches:
 *
 *   strace: Process 7588 attached
 *   strace: Process 7588 attached with 3 threads
 *   strace: attach: ptrace(PTRACE_SEIZE, 7588): Operation not permitted
 *
 * (before 4.20 without "strace: " in the first ones; as PTRACE_ATTACH where the kernel is old).
 */
#ifndef METRON_PROBE_STRACE_MESSAGES_H
#define METRON_PROBE_STRACE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum strace_refusal { STRACE_NO_PROCESS, STRACE_NOT_PERMITTED, STRACE_OTHER_REFUSAL };

struct strace_messages {
    pid_t *pids; /* those asked for; owned */
    bool *answered;
    size_t count;
    size_t waiting;              /* not answered yet */
    bool attached, refused;      /* the first of them */
    enum strace_refusal refusal; /* of the first */
    char last[256];              /* the last message that tells of trouble, without "strace: "; or "" */
    char line[256];              /* inner: what has come of a line so far; the rest of a longer one is lost */
    size_t line_length;
};

/* 0 or -ENOMEM. Ends with strace_messages_fini, also what was only zeroed. */
int strace_messages_init(struct strace_messages *messages, const pid_t *pids, size_t count);
void strace_messages_fini(struct strace_messages *messages);
/* Bytes as they come. Before strace_messages_init only the last message is kept. */
void strace_messages_add(struct strace_messages *messages, const char *bytes, size_t length);

#endif
