/*
 * Small helpers over file descriptors. All return 0 or a count, or a negative errno; EINTR is retried. A
 * relative path begins at the folder `dir_fd`, which may be AT_FDCWD.
 */
#ifndef METRON_BASE_FILE_H
#define METRON_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Closes *fd if it is open, and sets it to -1. */
void file_close(int *fd);
/* Writes all bytes or fails. */
int file_write_all(int fd, const void *bytes, size_t length);
/* Reads a whole small file, NUL-terminated, at most capacity-1 bytes; returns the length. -E2BIG: it is
 * longer (the first capacity-1 bytes are there). */
ssize_t file_read(int dir_fd, const char *path, char *buffer, size_t capacity);
/* The same from an open descriptor, from offset 0 (pread). One read of what the kernel gives at once is
 * followed by others until end of file. */
ssize_t file_read_fd(int fd, char *buffer, size_t capacity);
/* Opens a regular file for reading. What is none is -EINVAL, and a pipe is not waited for; the error names
 * the file. Returns the descriptor. */
int file_open_regular(const char *path, struct stat *status, struct metron_error *error);
/* Reads a whole file of any size up to `limit` bytes into `out` (appended). -EFBIG past the limit. */
int file_read_all(int dir_fd, const char *path, size_t limit, struct strbuf *out);
/* The same from an open descriptor, from where it stands. */
int file_read_all_fd(int fd, size_t limit, struct strbuf *out);
/* Makes `path` with all its bytes at once. -EEXIST: there is one already, and it stays as it is. */
int file_create(int dir_fd, const char *path, const void *bytes, size_t length, mode_t mode);
/* Replaces `path` atomically: a temporary file beside it with `mode`, then rename. The old file stays on
 * failure. */
int file_replace(int dir_fd, const char *path, const void *bytes, size_t length, mode_t mode);
/* Appends the name of such a temporary file: beside `path`, so that it can be renamed to it. -EISDIR: the
 * path ends in a folder. */
int file_temporary_name(const char *path, struct strbuf *out);
/* Makes and opens such a file, for writing, under a name that was free: in `name`. Returns the descriptor. */
int file_open_temporary(int dir_fd, const char *path, mode_t mode, struct strbuf *name);
/* Gives `from` the name `to`. -EEXIST: that is taken. */
int file_rename_new(int dir_fd, const char *from, const char *to);
/* A file for writing in the folder of `path` that has no name yet, so that nothing is left of it if it gets
 * none. -EOPNOTSUPP, -EISDIR or another negative errno where the file system has no such files. */
int file_open_nameless(int dir_fd, const char *path, mode_t mode);
/* Gives it its name. -EEXIST: that is taken. */
int file_give_name(int fd, int dir_fd, const char *path);
/* The same with space for so many bytes: they can be written even if the disk is full by then. */
int file_reserve(int dir_fd, const char *path, size_t bytes, mode_t mode);
/* Replaces `path` by a file from file_reserve, which has nothing in it yet. */
int file_replace_reserved(int fd, int dir_fd, const char *path, const void *bytes, size_t length);
/* Whether both paths (NULL: none) are there and lead to one file, be it by links. */
bool file_is_same(const char *a, const char *b);
/* Whether `path` is a name of the file that is open: not of another one, nor of a link to it. */
bool file_is_at(int fd, const char *path);
/* Makes every missing folder on the way to `path`'s last '/', mode 0700. What follows the last '/' is not
 * made. -EACCES: one of them is a link that another user has put into a folder that everybody can write. */
int file_make_folders(const char *path, struct metron_error *error);
/* The same for a name that metron chose, and not its user. Returns a descriptor of the last folder (O_PATH),
 * to open what follows the last '/' relative to it: the path may lead elsewhere a moment later, where another
 * user can write to a folder on the way. -EACCES: a folder on the way, or a link to it, belongs to neither
 * the caller nor root. */
int file_open_own_folder(const char *path, struct metron_error *error);

#endif
