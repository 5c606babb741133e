#include "probe/error_names.h"

#include <stdio.h>
#include <string.h>

/* include/linux/errno.h */
static const struct {
    int number;
    const char *name;
} of_the_kernel[] = {{512, "ERESTARTSYS"},
                     {513, "ERESTARTNOINTR"},
                     {514, "ERESTARTNOHAND"},
                     {516, "ERESTART_RESTARTBLOCK"},
                     {524, "ENOTSUPP"}};

static const char *name_of(int number)
{
    for (size_t i = 0; i < sizeof(of_the_kernel) / sizeof(of_the_kernel[0]); i++)
        if (of_the_kernel[i].number == number)
            return of_the_kernel[i].name;
    return number > 0 ? strerrorname_np(number) : NULL;
}

const char *error_name(int number, char out[ERROR_NAME_SIZE])
{
    const char *name = name_of(number);

    if (name)
        return name;
    (void)snprintf(out, ERROR_NAME_SIZE, "%d", number);
    return out;
}

int error_number_named(const char *name, size_t length)
{
    enum { LAST_NAMED = 600 };

    for (int number = 1; number < LAST_NAMED; number++) {
        const char *known = name_of(number);
        if (known && strlen(known) == length && memcmp(known, name, length) == 0)
            return number;
    }
    return 0;
}
