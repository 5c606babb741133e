/*
 * Filling a struct metron_error. The text is made printable here, once, because it nearly always quotes
 * something from outside: a command, a path, a setting.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"

int error_set(struct metron_error *error, int code, const char *format, ...)
{
    if (!error)
        return code;

    struct strbuf raw = STRBUF_INIT;
    struct strbuf clean = STRBUF_INIT;
    va_list arguments;

    va_start(arguments, format);
    strbuf_vaddf(&raw, format, arguments);
    va_end(arguments);
    text_printable(&clean, strbuf_text(&raw), raw.length);

    error->code = code;
    if (raw.failed || clean.failed) {
        (void)snprintf(error->message, sizeof(error->message), "out of memory");
    } else {
        size_t length = text_cut(strbuf_text(&clean), sizeof(error->message) - 1);

        memcpy(error->message, strbuf_text(&clean), length);
        error->message[length] = '\0';
    }
    strbuf_fini(&raw);
    strbuf_fini(&clean);
    return code;
}

bool error_is_of_machine(int code)
{
    switch (-code) {
    case EAGAIN: /* of fork: too many processes */
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENODEV: /* of a control group: somebody has removed it */
    case ENOMEM:
    case ENOSPC:
    case EROFS:
        return true;
    default:
        return false;
    }
}
