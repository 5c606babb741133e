/*
 * The parser of smaps_rollup, and the question whether two processes share all of it.
 *
 * Whoever reads the file must open it anew each time: a descriptor is bound to the address space that the
 * process had when it was opened (proc_mem_open() in fs/proc/base.c), and reads ESRCH from the next exec on,
 * though the process lives. A zombie, and a process whose first thread has left, have no file: ESRCH as well.
 */
#include "probe/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "probe/breakage.h"
#include "probe/digits.h"

bool smaps_is_shared(pid_t one, pid_t other)
{
    return syscall(SYS_kcmp, one, other, KCMP_VM, 0UL, 0UL) == 0;
}

/*
 * show_smaps_rollup() and __show_smap() in fs/proc/task_mmu.c; " kB" are KiB:
 *
 *   560e21163000-7fff176c5000 ---p 00000000 00:00 0                          [rollup]\n
 *   Rss:                1768 kB\n
 *   Pss:                 504 kB\n
 *   Pss_Dirty:           112 kB\n        (later kernels; so are Pss_Anon, Pss_File, Pss_Shmem)
 *   ...
 *   Private_Clean:        88 kB\n
 *   Private_Dirty:       112 kB\n
 *   ...
 *   Private_Hugetlb:       0 kB\n
 *   Swap:                  0 kB\n
 *   SwapPss:               0 kB\n
 *   Locked:                0 kB\n
 *
 * The five lines that are read here are older than the file itself (Linux 4.14), and stand in this order: a
 * text without one of them is not whole. Neither Rss nor Pss counts hugetlbfs pages. Swap would count a page
 * once for each process that shares it; SwapPss divides it, but knows nothing of swapped-out pages of shared
 * memory (tmpfs, memfd), which belong to a file rather than to a process.
 */
int smaps_parse(const char *text, size_t length, struct smaps *out)
{
    enum { RSS, PSS, PRIVATE_CLEAN, PRIVATE_DIRTY, PRIVATE_HUGETLB, SWAP_PSS, LINE_COUNT };
    static const char *const names[LINE_COUNT] = {
        "Rss:", "Pss:", "Private_Clean:", "Private_Dirty:", "Private_Hugetlb:", "SwapPss:"};
    const char *line = text, *end = text + length, *line_end;
    uint64_t bytes[LINE_COUNT];
    size_t found = 0;

    for (; found < LINE_COUNT && (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        size_t name_length = strlen(names[found]);
        uint64_t kibibytes;

        if ((size_t)(line_end - line) < name_length || memcmp(line, names[found], name_length) != 0)
            continue;
        for (line += name_length; line < line_end && *line == ' ';)
            line++;
        line = digits_read(line, line_end, &kibibytes);
        if (line == NULL || line_end - line != 3 || memcmp(line, " kB", 3) != 0)
            return -EBADMSG;
        if (__builtin_mul_overflow(kibibytes, 1024U, &bytes[found]))
            return -EBADMSG;
        found++;
    }
    if (found < LINE_COUNT)
        return -EBADMSG;
    out->rss_bytes = bytes[RSS];
    out->pss_bytes = bytes[PSS];
    out->swap_bytes = bytes[SWAP_PSS];
    if (__builtin_add_overflow(bytes[PRIVATE_CLEAN], bytes[PRIVATE_DIRTY], &out->uss_bytes) ||
        __builtin_add_overflow(out->uss_bytes, bytes[PRIVATE_HUGETLB], &out->uss_bytes))
        return -EBADMSG;
    return 0;
}

/* Opened just before an exec it is of the memory before it, which is gone: only the second -ESRCH is the
 * process itself. */
int smaps_read(pid_t pid, struct smaps *out)
{
    char path[64], text[SMAPS_SIZE];
    ssize_t length = -ESRCH;

    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    for (int attempt = 0; attempt < 2 && length == -ESRCH; attempt++)
        length = breakage_has("smaps_rollup") ? -EIO : file_read(AT_FDCWD, path, text, sizeof(text));
    return length < 0 ? (int)length : smaps_parse(text, (size_t)length, out);
}
