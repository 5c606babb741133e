#include "probe/user_name.h"

#include <pwd.h>
#include <stdio.h>

bool user_name_find(uid_t uid, char out[USER_NAME_SIZE])
{
    FILE *file = fopen("/etc/passwd", "re");
    struct passwd entry = {0}, *found = NULL;
    char text[1024];
    bool known = false;

    out[0] = '\0';
    while (!known && file && fgetpwent_r(file, &entry, text, sizeof(text), &found) == 0)
        if (entry.pw_uid == uid)
            known = snprintf(out, USER_NAME_SIZE, "%s", entry.pw_name) < USER_NAME_SIZE;
    if (file)
        (void)fclose(file);
    return known;
}
