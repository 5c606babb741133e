# metron.3 from metron.h, so that there is one text. A comment becomes paragraphs; the declarations that follow it
# stand above them, as in every page of section 3.
#
#     awk -v version=0.1.0 -f header_to_man.awk include/metron.h > metron.3

function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/)
        text = "\\&" text
    return text
}

# What was gathered: the declarations, then their comment.
function flush_block() {
    if (code != "")
        printf ".PP\n.nf\n%s.fi\n", code
    if (words != "")
        printf ".RS 4\n%s.RE\n", words
    code = words = ""
}

# A line of a comment, its marks taken off. One that begins with blanks is shown as it is.
function add_words(line) {
    if (line ~ /^ *$/)
        add(in_example ? ".fi\n.PP\n" : ".PP\n", 0)
    else if (line ~ /^    /)
        add((in_example ? "" : ".nf\n") roff(line) "\n", 1)
    else
        add((in_example ? ".fi\n" : "") roff(line) "\n", 0)
}

function add(text, example) {
    words = words text
    in_example = example
}

BEGIN {
    printf ".TH METRON 3 \"\" \"metron %s\" \"metron library\"\n", version
    print ".SH NAME\nlibmetron \\- measure commands and running processes, and ask the daemon, from a C program"
    print ".SH SYNOPSIS\n.nf\n#include <metron.h>\n\ncc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs metron)\n.fi"
    print ".SH DESCRIPTION"
}

# The comment at the top is the description.
NR == 1 { in_top = 1; next }
in_top && /^ \*\// {
    in_top = 0
    printf "%s%s", words, (in_example ? ".fi\n" : "")
    words = ""
    in_example = 0
    next
}
in_top {
    sub(/^ \* ?/, "")
    if (sub(/^metron\.h: /, ""))
        $0 = toupper(substr($0, 1, 1)) substr($0, 2)
    add_words($0)
    next
}

/^\/\* ---- .* ---- \*\/$/ {
    flush_block()
    gsub(/^\/\* ---- | ---- \*\/$/, "")
    printf ".SH %s\n", toupper($0)
    next
}
/^#|^}$|^extern "C"/ { next }
/^$/ { flush_block(); next }
/^\/\*/ || in_comment {
    if (code != "")
        flush_block()
    in_comment = $0 !~ /\*\/ *$/
    sub(/ ?\*\/ *$/, "")
    sub(/^\/\* ?/, "")
    sub(/^ \* ?/, "")
    if ($0 != "")
        add_words($0)
    next
}
{
    if (sub(/^METRON_API /, ""))
        shift = "           "
    else if (/^ / && shift != "")
        sub("^" shift, "") # it stood below its bracket
    else
        shift = ""
    code = code roff($0) "\n"
}

END {
    flush_block()
    print ".SH SEE ALSO\nmetron\\-run(1), metron\\-attach(1), metron\\-daemon(1), docs/library.md"
}
