#include "probe/strace/messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/digits.h"

int strace_messages_init(struct strace_messages *messages, const pid_t *pids, size_t count)
{
    strace_messages_fini(messages);
    messages->pids = calloc(count ? count : 1, sizeof(*messages->pids));
    messages->answered = calloc(count ? count : 1, sizeof(*messages->answered));
    if (!messages->pids || !messages->answered) {
        strace_messages_fini(messages);
        return -ENOMEM;
    }
    memcpy(messages->pids, pids, count * sizeof(*pids));
    messages->count = messages->waiting = count;
    return 0;
}

void strace_messages_fini(struct strace_messages *messages)
{
    free(messages->pids);
    free(messages->answered);
    *messages = (struct strace_messages){.count = 0};
}

/* The number that follows `before` in the text, and what follows it; NULL if there is none. */
static const char *number_after(const char *text, const char *before, uint64_t *number)
{
    const char *at = strstr(text, before);

    if (!at)
        return NULL;
    at += strlen(before);
    return digits_read(at, at + strlen(at), number);
}

static void answer_take(struct strace_messages *messages, uint64_t pid, bool attached, const char *reason)
{
    for (size_t i = 0; i < messages->count; i++) {
        if ((uint64_t)messages->pids[i] != pid || messages->answered[i])
            continue;
        messages->answered[i] = true;
        messages->waiting--;
        if (i > 0)
            continue;
        messages->attached = attached;
        messages->refused = !attached;
        if (strstr(reason, "No such process"))
            messages->refusal = STRACE_NO_PROCESS;
        else if (strstr(reason, "not permitted") || strstr(reason, "Permission denied"))
            messages->refusal = STRACE_NOT_PERMITTED;
        else
            messages->refusal = STRACE_OTHER_REFUSAL;
    }
}

static void line_take(struct strace_messages *messages)
{
    const char *line = messages->line, *rest;
    uint64_t pid;

    rest = number_after(line, "Process ", &pid);
    if (rest && strncmp(rest, " attached", strlen(" attached")) == 0) {
        answer_take(messages, pid, true, "");
        return;
    }
    if (rest && strncmp(rest, " detached", strlen(" detached")) == 0)
        return;
    const char *call = strstr(line, "ptrace(PTRACE_");
    rest = call ? number_after(call, ", ", &pid) : NULL;
    if (rest && *rest == ')')
        answer_take(messages, pid, false, rest);
    (void)snprintf(messages->last, sizeof(messages->last), "%s",
                   strncmp(line, "strace: ", 8) == 0 ? line + 8 : line);
}

void strace_messages_add(struct strace_messages *messages, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            messages->line[messages->line_length] = '\0';
            line_take(messages);
            messages->line_length = 0;
        } else if (bytes[i] != '\0' && messages->line_length + 1 < sizeof(messages->line)) {
            messages->line[messages->line_length++] = bytes[i];
        }
    }
}
