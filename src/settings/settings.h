/*
 * The settings in force: defaults, files, environment and command line merged over the one table.
 *
 * A value stays until one from the same or a stronger origin replaces it, so sources may be loaded in any
 * order. Getters borrow; what they return lives until the setting is set again or settings_fini.
 */
#ifndef METRON_SETTINGS_SETTINGS_H
#define METRON_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "settings/table.h"

/* Weakest first. */
enum setting_origin {
    SETTING_ORIGIN_DEFAULT,
    SETTING_ORIGIN_FILE,
    SETTING_ORIGIN_ENVIRONMENT,
    SETTING_ORIGIN_COMMAND_LINE,
};

struct setting_value {
    char *text; /* owned; NULL: absent */
    double real;
    long long integer;
    size_t choice;
    bool flag;
    bool is_auto; /* `real` is what it stands for */
    enum setting_origin origin;
    bool moved;  /* to other settings */
    char *where; /* owned; "/etc/metron/metron.conf:3", "METRON_JOB"; NULL for the others */
};

#define SETTINGS_NOTICES_MAX 4

struct settings {
    unsigned commands; /* whose settings these are: enum command bits */
    struct setting_value values[SETTING_COUNT];
    struct metron_error notices[SETTINGS_NOTICES_MAX]; /* files that were passed over, and why: to be shown */
    size_t notice_count;
};

/* Fills in the defaults. `commands`: bits of the commands whose sections in files are read. 0 or -ENOMEM;
 * settings_fini is safe after either. */
int settings_init(struct settings *settings, unsigned commands);
void settings_fini(struct settings *settings);

/* Sets one setting from text. `name` is the setting's, with - or _, or its alias; `where` (may be NULL, is
 * copied) is for settings_origin_text. -ENOENT: no such setting (the message has the nearest names), -EINVAL:
 * not a value of it, -ENOMEM. */
int settings_set(struct settings *settings, const char *name, const char *value, enum setting_origin origin,
                 const char *where, struct metron_error *error);
/* The same by id, with messages that say only what is wrong with the value: the caller names the setting. */
int settings_set_id(struct settings *settings, enum setting_id id, const char *value,
                    enum setting_origin origin, const char *where, struct metron_error *error);
/* Takes a value away, whatever its origin: not even the default is left. */
void settings_unset(struct settings *settings, enum setting_id id);
/* One setting as `from` has it; there it has no value of its own any more, and counts as the same. */
void settings_move(struct settings *to, struct settings *from, enum setting_id id);
/* What only holds between settings; to be called once all sources are loaded. 0 or -EINVAL. */
int settings_check(const struct settings *settings, struct metron_error *error);

bool settings_has(const struct settings *settings, enum setting_id id);         /* false: absent */
const char *settings_text(const struct settings *settings, enum setting_id id); /* any kind; NULL: absent */
double settings_real(const struct settings *settings, enum setting_id id);
bool settings_is_auto(const struct settings *settings, enum setting_id id);
long long settings_integer(const struct settings *settings, enum setting_id id); /* 0 when absent */
bool settings_flag(const struct settings *settings, enum setting_id id);
size_t settings_choice(const struct settings *settings, enum setting_id id); /* index: enum choice_… */

enum setting_origin settings_origin(const struct settings *settings, enum setting_id id);
/* "default", "/etc/metron/metron.conf:3", "METRON_JOB", "command line" */
const char *settings_origin_text(const struct settings *settings, enum setting_id id);

/* Walks a list: the next item at *cursor, without blanks around it, its length in *length; NULL at the end.
 * Empty items are passed over. A comma inside {} or [] is part of the item, as in a{2,3}. */
const char *settings_list_next(const char **cursor, size_t *length);

#endif
