/*
 * Lists of objects in info.json: survivors.processes ({pid, command}), peak_memory_methods ({value, source,
 * method, bias}).
 *
 *     recorded_list_begin(&reader, recording, "survivors.processes");
 *     while (recorded_list_next(&reader, &object))
 *         … json_find_number(&object, "pid", &pid) …
 *     json_reader_fini(&reader);
 */
#ifndef METRON_VIEW_RECORDED_LIST_H
#define METRON_VIEW_RECORDED_LIST_H

#include "base/json_reader.h"
#include "schema/recording.h"

/* A list that the recording does not have is empty. */
void recorded_list_begin(struct json_reader *reader, const struct recording *recording, const char *field);
/* Passes over what is no object. */
bool recorded_list_next(struct json_reader *reader, struct json_text *object);

#endif
