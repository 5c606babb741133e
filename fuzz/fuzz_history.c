/* A history whose file holds any bytes: all that is read of it can be sent and shown. */
#include "history_use.h"

#include "store/history/schema.h"

#define HEAP_MAX (64L << 20) /* bytes; SQL of a hostile file can ask for any number */

enum { JOURNAL_MODES = 18 }; /* two bytes of the header of SQLite; 1: no write-ahead log */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct history_reader *reader = NULL;
    struct metron_error error = {0};
    sqlite3 *database = NULL;

    (void)sqlite3_hard_heap_limit64(HEAP_MAX);
    check(sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
          SQLITE_OK);
    unsigned char *image = sqlite3_malloc64(size + 1);
    check(image != NULL);
    memcpy(image, data, size);
    if (size > JOURNAL_MODES + 1)
        image[JOURNAL_MODES] = image[JOURNAL_MODES + 1] = 1;
    check(sqlite3_deserialize(database, "main", image, (sqlite3_int64)size, (sqlite3_int64)size,
                              SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE) == SQLITE_OK);
    history_limit(database);
    /* As the daemon does when it starts; the seeds are of an older version sooner or later. */
    if (schema_check(database, "monitor.db", SCHEMA_VERSION, NULL) == 0)
        (void)schema_migrate(database, "monitor.db", schema_steps, SCHEMA_VERSION, all_columns(), NULL, NULL);
    int code = reader_over(database, "monitor.db", &reader, &error);
    check((code == 0) == (reader != NULL) && (code == 0) == (error.message[0] == '\0'));
    if (reader)
        use_history(reader);
    history_reader_close(reader);
    return 0;
}
