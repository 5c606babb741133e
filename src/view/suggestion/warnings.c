/* What to be careful about in a suggestion. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "view/suggestion/text.h"

enum { JOB_SHOWN = 64 }; /* bytes */

static void add_warning_of_memory(struct strbuf *out, const struct suggestion *suggestion)
{
    size_t killed = suggestion->ended[PAST_OUT_OF_MEMORY];

    if (!killed)
        return;
    strbuf_addf(out, "%zu run%s killed for want of memory", killed, killed == 1 ? " was" : "s were");
    if (suggestion->killed_limit > 0)
        unit_add(out, killed == 1 ? " at a limit of " : " at limits of up to ", UNIT_BYTES,
                 suggestion->killed_limit, "");
    strbuf_addf(out, ": how much more %s would have needed is not known%s\n", killed == 1 ? "it" : "they",
                suggestion->memory.raised ? "; see how the next run does with what is suggested"
                                          : ", but the suggestion is well above");
}

/* A word of it that a regular expression of --filter can find; NULL: none, or it would need quoting. */
static const char *word_to_filter(const char *work)
{
    const char *blank = strrchr(work, ' '), *word = blank ? blank + 1 : work;

    for (const char *at = word; *at; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
              strchr("._-/", *at)))
            return NULL;
    return strlen(word) > 2 ? word : NULL;
}

static void add_warning_of_work(struct strbuf *out, const struct suggestion *suggestion)
{
    if (suggestion->work_count < 2)
        return;
    const char *word = word_to_filter(suggestion->work[0]);
    strbuf_adds(out, "these runs look like different work (");
    for (size_t i = 0; i < suggestion->work_count; i++) {
        strbuf_adds(out, i ? "; " : "");
        text_printable(out, suggestion->work[i], strlen(suggestion->work[i]));
    }
    strbuf_addf(
        out,
        "%s): what suits the largest is too much for the others; --filter takes some of them: --filter "
        "\"command =~ '%s'\"\n",
        suggestion->more_work ? "; and more" : "", word ? word : "...");
}

/* What the peaks do not have in them. The margin stays as it was asked for: nothing tells how much it is. */
static void add_warnings_of_peaks(struct strbuf *out, const struct suggestion *suggestion)
{
    size_t sampled = suggestion->memory_sampled, of_one = suggestion->memory_of_one;

    if (suggestion->memory.raised) /* they did not decide */
        return;
    if (sampled)
        strbuf_addf(out,
                    "%zu peak%s sampled: what was held only between two samples is not in %s, nor in the "
                    "suggestion\n",
                    sampled, sampled == 1 ? " was" : "s were", sampled == 1 ? "it" : "them");
    if (of_one)
        strbuf_addf(out,
                    "%zu peak%s of the largest single process: together they may have held more, and the "
                    "margin is not meant for that\n",
                    of_one, of_one == 1 ? " is that" : "s are those");
}

/* What follows from that runs used less CPU than they could. */
static void add_what_follows(struct strbuf *out, const struct suggestion *suggestion)
{
    strbuf_adds(out, suggestion->cpus_are_lower_bound
                         ? ": the CPUs are a lower bound; run it where CPUs are free, and suggest again\n"
                         : ": what they could use is not known, and they do not count for the CPUs\n");
}

static void add_warnings_of_shortage(struct strbuf *out, const struct suggestion *suggestion)
{
    size_t waited = suggestion->waited, throttled = suggestion->throttled;
    size_t perhaps = suggestion->waited_perhaps, runs = suggestion->counted;
    double lowest = round(100 * suggestion->wait_lowest), highest = round(100 * suggestion->wait_highest);
    const char *ending = runs == 1 ? "" : "s";

    if (waited) {
        strbuf_addf(out, "%zu of %zu run%s waited for a CPU for ", waited, runs, ending);
        if (lowest < highest)
            strbuf_addf(out, "%.0f to ", lowest);
        strbuf_addf(out, "%.0f %% of %s time", highest, waited == 1 ? "its" : "their");
        add_what_follows(out, suggestion);
    }
    if (throttled) {
        strbuf_addf(out, "%zu of %zu run%s %s held back by a CPU quota", throttled, runs, ending,
                    throttled == 1 ? "was" : "were");
        add_what_follows(out, suggestion);
    }
    if (perhaps) {
        strbuf_addf(out, "%zu of %zu run%s ran on busy CPUs and may have waited for one", perhaps, runs,
                    ending);
        add_what_follows(out, suggestion);
    }
    if (suggestion->bursts)
        strbuf_addf(
            out,
            "%zu of %zu run%s ha%s records too long to show bursts, in which up to %.1f cores were busy: "
            "record more often (metron run --report-interval 1), and suggest again\n",
            suggestion->bursts, runs, ending, suggestion->bursts == 1 ? "s" : "ve", suggestion->burst);
}

/* Ranks: a request is for the job, a recording of one of them. */
static void add_warning_of_ranks(struct strbuf *out, const struct suggestion *suggestion)
{
    const struct together *together = &suggestion->together;
    double runs = (double)together->runs;
    const char *separator = " need ";

    if (together->runs < 2)
        return;
    strbuf_addf(out, "%zu runs of job '", together->runs);
    text_printable(out, together->job, text_cut(together->job, JOB_SHOWN));
    strbuf_addf(out, "' ran at the same time: these are the numbers of one of them; all %zu together",
                together->runs);
    if (suggestion->memory.has) {
        strbuf_adds(out, separator);
        suggestion_memory(out, runs * suggestion->memory.value);
        separator = ", ";
    }
    if (suggestion->cpus.has)
        strbuf_addf(out, "%s%.0f CPUs", separator, runs * suggestion->cpus.value);
    if (together->memory_bytes > 0) {
        unit_add(out, " (they held up to ", UNIT_BYTES, together->memory_bytes, " and used ");
        strbuf_addf(out, "%.2f CPUs)", together->cpus);
    }
    strbuf_addc(out, '\n');
}

void suggestion_warnings(struct strbuf *out, const struct suggestion *suggestion)
{
    size_t lost = suggestion->ended[PAST_LOST], timed_out = suggestion->ended[PAST_OUT_OF_TIME];
    size_t signalled = suggestion->ended[PAST_SIGNALLED];

    if (suggestion->counted == 1)
        strbuf_adds(out, "this rests on one run only: others may need more\n");
    if (suggestion->none_succeeded && suggestion->counted)
        strbuf_adds(out, "no run has succeeded: those that ended otherwise were counted, and all numbers are "
                         "lower bounds\n");
    add_warning_of_ranks(out, suggestion);
    add_warning_of_memory(out, suggestion);
    add_warnings_of_peaks(out, suggestion);
    add_warnings_of_shortage(out, suggestion);
    if (timed_out)
        strbuf_addf(out, "%zu run%s out of the time requested: how long %s would have taken is not known\n",
                    timed_out, timed_out == 1 ? " ran" : "s ran", timed_out == 1 ? "it" : "they");
    if (signalled)
        strbuf_addf(out,
                    "%zu run%s ended by a signal, and why is not told: if it was a limit, %s peak%s only "
                    "a lower bound\n",
                    signalled, signalled == 1 ? " was" : "s were", signalled == 1 ? "its" : "their",
                    signalled == 1 ? " is" : "s are");
    if (lost)
        strbuf_addf(out,
                    "%zu run%s lost: %s may have reached a limit of memory or time, at which schedulers kill "
                    "metron as well\n",
                    lost, lost == 1 ? " is" : "s are", lost == 1 ? "it" : "they");
    if (suggestion->failed_peak > 0)
        unit_add(out, "a failed run held more than is suggested: ", UNIT_BYTES, suggestion->failed_peak,
                 "\n");
    add_warning_of_work(out, suggestion);
}
