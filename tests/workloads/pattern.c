/*
 * usage: pattern make BYTES | pattern check BYTES
 *
 * make writes BYTES of a stream that never repeats (a counter through a 64-bit mixer) to stdout; check reads
 * stdin and exits 0 if it is exactly that stream, 1 and the first wrong offset on stderr otherwise. A lost,
 * doubled or swapped block is found wherever it is.
 */
#include "workload.h"

#define BLOCK_WORDS 8192

static uint64_t mix(uint64_t counter)
{
    counter = (counter ^ (counter >> 30)) * 0xbf58476d1ce4e5b9u;
    counter = (counter ^ (counter >> 27)) * 0x94d049bb133111ebu;
    return counter ^ (counter >> 31);
}

static void fill(uint64_t block[BLOCK_WORDS], uint64_t offset)
{
    for (size_t i = 0; i < BLOCK_WORDS; i++)
        block[i] = mix(offset / 8 + i + 1);
}

static int make(uint64_t bytes)
{
    static uint64_t block[BLOCK_WORDS];

    for (uint64_t offset = 0; offset < bytes;) {
        size_t length = bytes - offset < sizeof(block) ? (size_t)(bytes - offset) : sizeof(block);
        fill(block, offset);
        for (size_t done = 0; done < length;) {
            ssize_t written = write(1, (char *)block + done, length - done);
            if (written < 0)
                workload_fail("write");
            done += (size_t)written;
        }
        offset += length;
    }
    return 0;
}

static int check(uint64_t bytes)
{
    static uint64_t block[BLOCK_WORDS];
    static char seen[sizeof(block)];
    uint64_t offset = 0;
    size_t length;

    while ((length = fread(seen, 1, sizeof(seen), stdin)) > 0) {
        fill(block, offset);
        for (size_t i = 0; i < length; i++) {
            if (seen[i] != ((char *)block)[i] || offset + i >= bytes) {
                (void)fprintf(stderr, "differs at byte %llu\n", (unsigned long long)(offset + i));
                return 1;
            }
        }
        offset += length;
    }
    if (offset != bytes)
        (void)fprintf(stderr, "%llu bytes instead of %llu\n", (unsigned long long)offset,
                      (unsigned long long)bytes);
    return offset == bytes ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "make") == 0)
        return make((uint64_t)argument_number(argv[2]));
    if (argc == 3 && strcmp(argv[1], "check") == 0)
        return check((uint64_t)argument_number(argv[2]));
    workload_usage("pattern make BYTES | pattern check BYTES");
}
