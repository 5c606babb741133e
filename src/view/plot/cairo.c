#include "view/plot/cairo.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/plot/cairo_page.h"

#define PANEL_LEAST 24.0 /* units */

/* By Okabe and Ito: to be told apart by everyone, on white, and in print. */
static const struct plot_color palette[PLOT_COLOR_COUNT] = {
    {0.00, 0.45, 0.70}, {0.00, 0.62, 0.45}, {0.84, 0.37, 0.00}, {0.67, 0.27, 0.60},
    {0.90, 0.62, 0.00}, {0.34, 0.71, 0.91}, {0.35, 0.35, 0.35},
};
const struct plot_color page_ink = {0.13, 0.13, 0.13}, page_gray = {0.42, 0.42, 0.42},
                        page_grid = {0.90, 0.90, 0.90}, page_red = {0.75, 0.07, 0.13};

struct plot_color page_color(unsigned index)
{
    return palette[index % PLOT_COLOR_COUNT];
}

struct plot_color page_mark_color(enum plot_mark kind)
{
    static const struct plot_color colors[] = {[PLOT_MARK_OOM] = {0.75, 0.07, 0.13},
                                               [PLOT_MARK_KILL] = {0.84, 0.37, 0.00},
                                               [PLOT_MARK_SIGNAL] = {0.72, 0.53, 0.04},
                                               [PLOT_MARK_ANOMALY] = {0.67, 0.27, 0.60},
                                               [PLOT_MARK_SPAWN] = {0.45, 0.50, 0.58}};
    return colors[kind];
}

void page_pen(const struct plot_page *page, struct plot_color color, double alpha, double width)
{
    cairo_set_source_rgba(page->cairo, color.red, color.green, color.blue, alpha);
    cairo_set_line_width(page->cairo, width * page->unit);
}

void page_font(const struct plot_page *page, double size, bool bold)
{
    cairo_select_font_face(page->cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(page->cairo, size * page->unit);
}

void page_line(const struct plot_page *page, double x, double y, double to_x, double to_y)
{
    cairo_move_to(page->cairo, x, y);
    cairo_line_to(page->cairo, to_x, to_y);
    cairo_stroke(page->cairo);
}

void page_fill(const struct plot_page *page, double x, double y, double width, double height)
{
    cairo_rectangle(page->cairo, x, y, width, height);
    cairo_fill(page->cairo);
}

double page_text_width(const struct plot_page *page, const char *text)
{
    cairo_text_extents_t extents;

    cairo_text_extents(page->cairo, text, &extents);
    return extents.x_advance;
}

void page_text(const struct plot_page *page, double x, double y, enum page_align align, const char *text)
{
    static const double shares[] = {[PAGE_LEFT] = 0, [PAGE_CENTER] = 0.5, [PAGE_RIGHT] = 1};

    cairo_move_to(page->cairo, x - shares[align] * page_text_width(page, text), y);
    cairo_show_text(page->cairo, text);
}

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

double page_text_cut(const struct plot_page *page, double x, double y, double width, const char *text)
{
    static const char ellipsis[] = "…";
    char cut[512];
    size_t length = strlen(text);
    double needed;

    if (length < sizeof(cut) - sizeof(ellipsis) && (needed = page_text_width(page, text)) <= width) {
        page_text(page, x, y, PAGE_LEFT, text);
        return needed;
    }
    if (length > sizeof(cut) - sizeof(ellipsis))
        length = sizeof(cut) - sizeof(ellipsis);
    do {
        while (length > 0 && !begins_character(text[length]))
            length--;
        (void)snprintf(cut, sizeof(cut), "%.*s%s", (int)length, text, ellipsis);
        needed = page_text_width(page, cut);
    } while (needed > width && length-- > 0);
    page_text(page, x, y, PAGE_LEFT, cut);
    return needed;
}

double page_x(const struct plot_page *page, double seconds)
{
    return page->left + plot_scale_place(&page->time, seconds) * (page->right - page->left);
}

/* The widest label of all y axes decides where all panels begin. */
static void place_panels(struct plot_page *page, const struct plot *plot, const struct plot_scale *values)
{
    double widest = 0;
    char label[PLOT_LABEL_SIZE];

    page_font(page, PAGE_SMALL, false);
    for (size_t i = 0; i < plot->panel_count; i++)
        for (size_t j = 0; j < values[i].tick_count; j++)
            widest = fmax(widest, page_text_width(page, plot_scale_label(&values[i], j, label)));
    page->left = 46 * page->unit + widest;
    page->right = page->width - 26 * page->unit;
    const double room = (page->right - page->left) / (95 * page->unit);
    plot_scale_init(&page->time, UNIT_SECONDS, 0, plot->end, room < 2 ? 2 : (size_t)room);
}

static double draw_titles(const struct plot_page *page, const struct plot *plot)
{
    const double x = 18 * page->unit, width = page->width - 2 * x;

    page_pen(page, page_ink, 1, 1);
    page_font(page, PAGE_TITLE, true);
    (void)page_text_cut(page, x, 29 * page->unit, width, plot->command);
    page_pen(page, page_gray, 1, 1);
    page_font(page, PAGE_SMALL + 1, false);
    size_t i = 0;
    while (i + 1 < PLOT_DETAILS_COUNT &&
           page_text_width(page, plot->cause) + page_text_width(page, plot->details[i]) > width)
        i++;
    const double kept = page_text_width(page, plot->details[i]);
    const double used = page_text_cut(page, x, 49 * page->unit, fmax(width - kept, 0), plot->cause);
    page_text(page, x + used, 49 * page->unit, PAGE_LEFT, plot->details[i]);
    return 62 * page->unit;
}

static void draw_time_axis(const struct plot_page *page, double y)
{
    char label[PLOT_LABEL_SIZE], title[64];

    page_font(page, PAGE_SMALL, false);
    for (size_t i = 0; i < page->time.tick_count; i++) {
        const double x = page_x(page, plot_scale_tick(&page->time, i));
        page_pen(page, page_gray, 1, 1);
        page_line(page, x, y, x, y + 5 * page->unit);
        page_text(page, x, y + 19 * page->unit, PAGE_CENTER, plot_scale_label(&page->time, i, label));
    }
    (void)snprintf(title, sizeof(title), "time since the start (%s)", page->time.unit);
    page_pen(page, page_ink, 1, 1);
    page_text(page, (page->left + page->right) / 2, y + 39 * page->unit, PAGE_CENTER, title);
}

/* False: there is no room for the panels. */
static bool draw_page(struct plot_page *page, struct plot *plot)
{
    struct plot_scale values[PLOT_PANELS_MAX];
    double legends = 0;

    cairo_set_source_rgb(page->cairo, 1, 1, 1);
    cairo_paint(page->cairo);
    cairo_set_line_join(page->cairo, CAIRO_LINE_JOIN_ROUND);
    double y = draw_titles(page, plot);
    const double lane = lane_height(page, plot);
    const double rough = (page->height - y - lane) / (double)plot->panel_count - 40 * page->unit;
    for (size_t i = 0; i < plot->panel_count; i++)
        plot_scale_init(&values[i], plot->panels[i]->unit, plot->panels[i]->low, plot->panels[i]->high,
                        (size_t)fmin(fmax(rough / (38 * page->unit), 2), 10));
    place_panels(page, plot, values);
    for (size_t i = 0; i < plot->panel_count; i++)
        legends += panel_legend(page, plot->panels[i], 0, false) + 10 * page->unit;
    const double bottom = page->height - 50 * page->unit;
    const double height = (bottom - lane - y - legends) / (double)plot->panel_count;
    if (height < PANEL_LEAST * page->unit || page->right - page->left < 3 * PANEL_LEAST * page->unit)
        return false;
    for (size_t i = 0; i < plot->panel_count; i++) {
        const double begin = y + panel_legend(page, plot->panels[i], 0, false);
        const struct plot_box box = {page->left, begin, page->right, begin + height};
        panel_draw(page, plot, plot->panels[i], &values[i], box);
        y = box.bottom + 10 * page->unit;
    }
    const struct plot_box lane_box = {page->left, y - 10 * page->unit, page->right,
                                      y - 10 * page->unit + lane};
    lane_draw(page, plot, lane_box);
    draw_time_axis(page, lane_box.bottom);
    return true;
}

static cairo_status_t take_bytes(void *context, const unsigned char *bytes, unsigned length)
{
    struct strbuf *out = context;

    strbuf_add(out, bytes, length);
    return out->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static void add_xml(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            strbuf_adds(out, "&lt;");
        else if (*text == '>')
            strbuf_adds(out, "&gt;");
        else if (*text == '&')
            strbuf_adds(out, "&amp;");
        else
            strbuf_addc(out, *text);
    }
}

/* Cairo writes letters as outlines: what a picture says is told once more in words, for those who search or
 * cannot see it. Goes behind the opening tag. */
static void add_words(struct strbuf *out, size_t begin, const struct plot *plot)
{
    const char *tag = memmem(out->data + begin, out->length - begin, "<svg", 4);
    const char *end = tag ? strchr(tag, '>') : NULL;
    struct strbuf rest = STRBUF_INIT;

    if (!end)
        return;
    const size_t kept = (size_t)(end + 1 - out->data);
    strbuf_add(&rest, out->data + kept, out->length - kept);
    out->length = kept;
    strbuf_adds(out, "\n<title>");
    add_xml(out, plot->command);
    strbuf_adds(out, "</title>\n<desc>");
    add_xml(out, plot->cause);
    add_xml(out, plot->details[PLOT_DETAILS_ALL]);
    for (size_t i = 0; i < plot->panel_count; i++) {
        const struct plot_panel *panel = plot->panels[i];
        strbuf_addc(out, '\n');
        add_xml(out, panel->title);
        strbuf_addc(out, ':');
        if (panel->note)
            strbuf_addf(out, " %s:", panel->note);
        for (size_t j = 0; j < panel->line_count; j++)
            if (panel->lines[j].label) {
                strbuf_addc(out, ' ');
                add_xml(out, panel->lines[j].label);
            }
        for (size_t j = 0; j < panel->group_count; j++) {
            strbuf_addc(out, ' ');
            add_xml(out, panel->groups[j].name);
        }
    }
    strbuf_adds(out, "</desc>");
    strbuf_add(out, strbuf_text(&rest), rest.length);
    strbuf_fini_part(&rest, out);
}

static cairo_surface_t *new_surface(enum plot_format format, double width, double height, struct strbuf *out)
{
    if (format == PLOT_PNG)
        return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    if (format == PLOT_PDF)
        return cairo_pdf_surface_create_for_stream(take_bytes, out, width, height);
    return cairo_svg_surface_create_for_stream(take_bytes, out, width, height);
}

int plot_cairo_draw(struct plot *plot, enum plot_format format, unsigned width, unsigned height,
                    struct strbuf *out, struct metron_error *error)
{
    const size_t begin = out->length;
    cairo_surface_t *surface = new_surface(format, width, height, out);
    struct plot_page page = {.cairo = cairo_create(surface),
                             .width = width,
                             .height = height,
                             .unit = sqrt(width * (double)height / 960000)};

    if (page.unit < 0.55)
        page.unit = 0.55; /* smaller letters cannot be read */
    if (format == PLOT_PDF)
        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, plot->command);
    const bool has_room = draw_page(&page, plot);
    cairo_status_t status = cairo_status(page.cairo);
    cairo_destroy(page.cairo);
    if (status == CAIRO_STATUS_SUCCESS && format == PLOT_PNG)
        status = cairo_surface_write_to_png_stream(surface, take_bytes, out);
    cairo_surface_finish(surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    if (status == CAIRO_STATUS_SUCCESS && format == PLOT_SVG)
        add_words(out, begin, plot);
    if (!has_room)
        return error_set(error, -ENOSPC,
                         "%ux%u is too small for %zu panel%s and their legends; --size makes it larger",
                         width, height, plot->panel_count, plot->panel_count == 1 ? "" : "s");
    if (status == CAIRO_STATUS_NO_MEMORY || out->failed)
        return error_set(error, -ENOMEM, "out of memory for a picture of %u x %u", width, height);
    if (status != CAIRO_STATUS_SUCCESS)
        return error_set(error, -EIO, "the picture cannot be drawn: %s", cairo_status_to_string(status));
    return 0;
}
