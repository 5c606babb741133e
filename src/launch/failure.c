/*
 * exec says ENOENT both for a missing program and for one whose interpreter is missing, and EACCES both for a
 * directory and for a file without the x bit. The difference is found here, after the fact, in the parent: it
 * only chooses words and never whether the command runs.
 */
#include "launch/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"

/* The first file of that name along PATH that is no folder, into `path`. A folder on PATH is not a command to
 * a shell, though exec takes it for one that may not be run. */
static bool find_on_path(const char *command, struct strbuf *path)
{
    const char *folders = getenv("PATH");
    struct stat status;

    if (!folders)
        folders = "/bin:/usr/bin"; /* as execvp has it */
    while (*command) {
        size_t length = strcspn(folders, ":");

        strbuf_reset(path);
        strbuf_add(path, folders, length);
        if (length > 0)
            strbuf_addc(path, '/');
        strbuf_adds(path, command);
        if (!path->failed && stat(strbuf_text(path), &status) == 0 && !S_ISDIR(status.st_mode))
            return true;
        if (folders[length] == '\0')
            break;
        folders += length + 1;
    }
    return false;
}

/* The program is there, yet exec found a file missing: the interpreter of a script or the loader of a binary.
 */
static int explain_missing_interpreter(const char *path, const char *name, struct metron_error *error)
{
    char start[256] = "";
    struct strbuf interpreter = STRBUF_INIT;
    int code = -ENOENT;

    /* Only the beginning counts: neither an unreadable nor a longer file is an error. */
    (void)file_read(AT_FDCWD, path, start, sizeof(start));
    if (strncmp(start, "#!", 2) == 0) {
        const char *word = start + 2 + strspn(start + 2, " \t");

        text_printable(&interpreter, word, strcspn(word, " \t\r\n"));
        /* A file with DOS line ends names an interpreter that ends in \r: the commonest cause. */
        error_set(error, code, "'%s': its interpreter '%s' is missing%s", name, strbuf_text(&interpreter),
                  strchr(word, '\r') ? " (the file has DOS line ends)" : "");
    } else {
        error_set(error, code,
                  "'%s': it is there, but the loader it needs is missing: it was built for another system",
                  name);
    }
    strbuf_fini(&interpreter);
    return code;
}

int failure_explain(const char *command, int code, struct metron_error *error)
{
    struct strbuf name = STRBUF_INIT;
    struct strbuf path = STRBUF_INIT;
    struct stat status;
    bool bare = strchr(command, '/') == NULL;
    bool there = bare ? find_on_path(command, &path) : stat(command, &status) == 0;

    text_printable(&name, command, strlen(command));
    if (bare && !there && (code == -ENOENT || code == -EACCES || code == -ENOTDIR))
        code = error_set(error, -ENOENT, "'%s': command not found", strbuf_text(&name));
    else if (code == -ENOENT && there)
        code = explain_missing_interpreter(bare ? strbuf_text(&path) : command, strbuf_text(&name), error);
    else if (code == -EACCES && !bare && there && S_ISDIR(status.st_mode))
        code = error_set(error, -EISDIR, "'%s': %s", strbuf_text(&name), strerror(EISDIR));
    else
        error_set(error, code, "'%s': %s", strbuf_text(&name), strerror(-code));
    strbuf_fini(&path);
    strbuf_fini(&name);
    return code;
}
