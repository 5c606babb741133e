/* What someone who comes from con-duct has set up for it, and metron does not read. */
#ifndef METRON_CMD_DUCT_HINTS_H
#define METRON_CMD_DUCT_HINTS_H

#include "settings/settings.h"

/* Says once, in one line, which variables of con-duct's have another name here, and that its .env is not
 * read. Nothing where metron's own variable is set. */
void duct_hints_give(enum command command);

#endif
