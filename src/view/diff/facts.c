#include "view/diff/facts.h"

#include <string.h>

#include "base/text.h"
#include "view/text_width.h"

static const size_t fact_room_least = 16, name_widest = 32; /* columns */

/* Where two texts begin to differ, a little before it if they would have to be cut. */
static size_t first_difference(const char *a, const char *b, size_t room)
{
    static const size_t before = 8;
    size_t at = 0;

    while (a[at] && a[at] == b[at])
        at++;
    if ((strlen(a) <= room && strlen(b) <= room) || at <= before)
        return 0;
    at -= before;
    while (at > 0 && ((unsigned char)a[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* From `from` on, in at most `room` columns and an ellipsis. Returns the columns it took. */
static size_t add_cut(struct strbuf *out, const char *text, size_t from, size_t room)
{
    struct strbuf shown = STRBUF_INIT;
    size_t columns = from ? 1 : 0;
    /* No more than can be shown is looked at: a command may be 100 kB long. */
    size_t looked_at = text_cut(text + from, 4 * room);

    text_printable(&shown, text + from, looked_at);
    size_t head = text_head(strbuf_text(&shown), shown.length, room - columns);
    bool cut = head < shown.length || text[from + looked_at];
    if (from)
        strbuf_adds(out, "…");
    strbuf_add(out, strbuf_text(&shown), head);
    if (cut)
        strbuf_adds(out, "…");
    columns += text_width(strbuf_text(&shown), head) + cut;
    strbuf_fini_part(&shown, out);
    return columns;
}

static void add_side(struct strbuf *out, const char *text, size_t from, size_t room)
{
    if (!text)
        strbuf_addc(out, '-');
    else if (!text[0])
        strbuf_adds(out, "(empty)");
    else
        (void)add_cut(out, text, from, room);
}

static void add_fact(struct strbuf *out, const struct comparison_field *field, size_t name_width,
                     size_t width)
{
    size_t used = 2 + name_width + 2 + 5;
    size_t room = width > used + 2 * fact_room_least ? (width - used) / 2 : fact_room_least;
    bool both = field->text_before && field->text_now;

    strbuf_adds(out, "  ");
    for (size_t i = add_cut(out, field->name, 0, name_width); i < name_width + 2; i++)
        strbuf_addc(out, ' ');
    if (field->state == COMPARISON_SAME) {
        add_side(out, field->text_now, 0, 2 * room - 4);
        strbuf_adds(out, " (same)\n");
        return;
    }
    size_t from = both ? first_difference(field->text_before, field->text_now, room) : 0;
    add_side(out, field->text_before, from, room);
    strbuf_adds(out, " → ");
    add_side(out, field->text_now, from, room);
    strbuf_adds(out, field->state == COMPARISON_VARIES ? " (it varied before)\n" : "\n");
}

void diff_facts_print(struct strbuf *out, const struct comparison_field *const *fields, size_t count,
                      size_t width)
{
    size_t name_width = 0;

    for (size_t i = 0; i < count; i++)
        if (strlen(fields[i]->name) > name_width)
            name_width = strlen(fields[i]->name);
    if (name_width > name_widest)
        name_width = name_widest;
    for (size_t i = 0; i < count; i++)
        add_fact(out, fields[i], name_width, width);
}
