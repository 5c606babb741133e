/*
 * Runs a fuzz target without a fuzzer: every seed of a corpus folder, then hundreds or thousands of mutations
 * of them.
 *
 * Mutations come from a generator with a fixed start, so a failure seen once is seen by everybody, with any
 * compiler; the sanitised build of the test suite is where it pays. Each input lies in a heap block of
 * exactly its size, so that AddressSanitizer sees a read of one byte too many. With `--keep FILE` each input
 * is written there before it is fed: after a crash the file holds the one that did it.
 *
 *     replay_NAME [--keep FILE] CORPUS_FOLDER
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef MUTATIONS
#define MUTATIONS 4000
#endif

enum {
    EDITS_MAX = 8,
    SEED_BYTES_MAX = 1 << 20,
    MUTANT_BYTES_MAX = 1 << 16,
};

struct seed {
    uint8_t *bytes;
    size_t size;
};

static const char *keep_path;

/* xorshift64*: good enough to edit bytes, and the same everywhere. */
static uint64_t random_state = 0x9E3779B97F4A7C15ULL;

static uint64_t random_next(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545F4914F6CDD1DULL;
}

static size_t random_below(size_t limit)
{
    return limit == 0 ? 0 : (size_t)(random_next() % limit);
}

static void *allocate(size_t size)
{
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) {
        perror("replay: malloc");
        exit(1);
    }
    return memory;
}

static void keep(const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(keep_path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(keep_path);
        exit(1);
    }
}

static void feed(const uint8_t *bytes, size_t size)
{
    /* malloc(0) may give a block of one byte or more; the sanitiser still knows its size. */
    uint8_t *exact = allocate(size);
    if (size > 0)
        memcpy(exact, bytes, size);
    if (keep_path != NULL)
        keep(exact, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static struct seed seed_read(const char *folder, const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path) {
        fprintf(stderr, "replay: %s/%s: name too long\n", folder, name);
        exit(1);
    }
    FILE *file = fopen(path, "rb");
    struct seed seed = {.bytes = allocate(SEED_BYTES_MAX)};
    if (file != NULL)
        seed.size = fread(seed.bytes, 1, SEED_BYTES_MAX, file);
    if (file == NULL || ferror(file)) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fclose(file);
    return seed;
}

/* One edit of the kinds that break parsers: a flipped bit, an odd byte, a cut, a doubled part, digits grown.
 */
static size_t mutate(uint8_t *bytes, size_t size)
{
    static const uint8_t odd[] = {0, '\n', ' ', ')', '(', '-', '9', ':', '"', '\\', '=', 0x7F, 0x80, 0xFF};
    size_t at = random_below(size);
    switch (random_next() % 6) {
    case 0:
        if (size > 0)
            bytes[at] = (uint8_t)(bytes[at] ^ (1U << (random_next() % 8)));
        return size;
    case 1:
        if (size > 0)
            bytes[at] = odd[random_below(sizeof odd)];
        return size;
    case 2:
        return at;
    case 3: { /* cut a part out of the middle */
        size_t length = random_below(size - at + 1);
        memmove(bytes + at, bytes + at + length, size - at - length);
        return size - length;
    }
    case 4: { /* double a part */
        size_t length = random_below(size - at + 1);
        if (size + length > MUTANT_BYTES_MAX)
            return size;
        memmove(bytes + at + length, bytes + at, size - at);
        return size + length;
    }
    default: { /* a run of one odd byte: numbers past 64 bits, names past any buffer */
        size_t length = random_below(300);
        if (size + length > MUTANT_BYTES_MAX)
            return size;
        memmove(bytes + at + length, bytes + at, size - at);
        memset(bytes + at, odd[random_below(sizeof odd)], length);
        return size + length;
    }
    }
}

static void replay_mutations(const struct seed *seeds, size_t seed_count)
{
    uint8_t *mutant = allocate(MUTANT_BYTES_MAX);
    for (int round = 0; round < MUTATIONS; round++) {
        const struct seed *seed = &seeds[random_below(seed_count)];
        size_t size = seed->size < MUTANT_BYTES_MAX ? seed->size : MUTANT_BYTES_MAX;
        memcpy(mutant, seed->bytes, size);
        for (size_t edits = 1 + random_below(EDITS_MAX); edits > 0; edits--)
            size = mutate(mutant, size);
        feed(mutant, size);
    }
    free(mutant);
}

static int is_seed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--keep") == 0)
        keep_path = argv[2];
    else if (argc != 2) {
        fprintf(stderr, "usage: %s [--keep FILE] CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    const char *folder = argv[argc - 1];

    /* Sorted, so that the mutations do not depend on the file system's order. */
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_seed, alphasort);
    if (count <= 0) {
        fprintf(stderr, "replay: %s: %s\n", folder, count < 0 ? strerror(errno) : "no seeds in it");
        return 1;
    }
    struct seed *seeds = allocate((size_t)count * sizeof *seeds);
    feed((const uint8_t *)"", 0);
    for (int i = 0; i < count; i++) {
        seeds[i] = seed_read(folder, entries[i]->d_name);
        feed(seeds[i].bytes, seeds[i].size);
        free(entries[i]);
    }
    free(entries);
    replay_mutations(seeds, (size_t)count);
    printf("%d seeds, %d mutations\n", count, MUTATIONS);
    for (int i = 0; i < count; i++)
        free(seeds[i].bytes);
    free(seeds);
    return 0;
}
