#include "view/report/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* metron records 16383 bytes of a command and …; it is shorter where secrets in it were masked. */
#define RECORDED_LEAST 8192

struct report_command report_command_sampled(const char *text)
{
    const bool is_cut = strlen(text) >= RECORDED_LEAST && text_ends_with(text, "…");

    return (struct report_command){text, is_cut};
}

void report_command_free(struct report_command *command, size_t *kept)
{
    if (kept && command->text)
        *kept -= strlen(command->text);
    free((char *)command->text);
    *command = (struct report_command){0};
}

void report_command_keep(struct report_command *command, struct report_command from, size_t *kept)
{
    const bool is_full = kept && *kept >= REPORT_COMMANDS_BYTES;
    struct report_command copy = {.is_truncated = from.is_truncated};

    if (from.text && command->text && strcmp(from.text, command->text) == 0)
        return;
    if (from.text) {
        const size_t length = text_cut(from.text, is_full ? REPORT_COMMAND_SHORT : REPORT_COMMAND_BYTES);
        const bool is_cut = from.text[length] != '\0';
        char *text = malloc(length + sizeof("…"));

        if (text)
            (void)snprintf(text, length + sizeof("…"), "%.*s%s", (int)length, from.text, is_cut ? "…" : "");
        copy.text = text;
        copy.is_truncated |= is_cut;
    }
    report_command_free(command, kept);
    *command = copy;
    if (kept && copy.text)
        *kept += strlen(copy.text);
}

void report_command_cells(struct report_value cells[2], struct report_command command)
{
    cells[0] = report_text(command.text);
    if (command.text && command.is_truncated)
        cells[1] = report_boolean(true);
}
