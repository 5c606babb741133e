/*
 * A listing for programs: JSON, JSON lines, CSV (RFC 4180, but lines end in LF) and YAML. Numbers are exact,
 * in bytes, seconds and percent; what a run does not have is left out (in CSV: empty). Beside a value that
 * was got by a method NAME stand NAME_source and, where there is something to know, NAME_note.
 */
#ifndef METRON_VIEW_LIST_TEXT_H
#define METRON_VIEW_LIST_TEXT_H

#include "base/strbuf.h"
#include "view/list/listing.h"

void run_list_json(struct strbuf *out, const struct run_listing *listing);
void run_list_jsonl(struct strbuf *out, const struct run_listing *listing);
void run_list_csv(struct strbuf *out, const struct run_listing *listing);
void run_list_yaml(struct strbuf *out, const struct run_listing *listing);

#endif
