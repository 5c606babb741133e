"""The JSON reader beside Python's: the same texts are JSON, and a number is the same double."""

import json
import os
import pathlib
import random
import struct
import subprocess

import pytest

BASE = pathlib.Path(__file__).resolve().parents[2] / "src" / "base"

# Reads a value a line: "no", or "yes" and, of a number, its bits.
PROGRAM = r"""
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/json_reader.h"
static void read_value(struct json_reader *reader)
{
    struct json_text text;
    double number;
    uint64_t bits;
    bool truth, top = reader->depth == 0;
    switch (json_peek(reader)) {
    case JSON_OBJECT: if (json_enter_object(reader)) while (json_next_key(reader, &text)) read_value(reader); break;
    case JSON_ARRAY: if (json_enter_array(reader)) while (json_next_item(reader)) read_value(reader); break;
    case JSON_STRING: if (json_read_text(reader, &text) && top) {
        printf("text ");
        for (size_t i = 0; i < text.length; i++) printf("%02x", (unsigned char)text.bytes[i]);
        printf(" ");
    } break;
    case JSON_NUMBER: if (json_read_number(reader, &number) && top) {
        memcpy(&bits, &number, sizeof(bits));
        printf("%016" PRIx64 " ", bits);
    } break;
    case JSON_BOOLEAN: json_read_boolean(reader, &truth); break;
    default: json_skip(reader);
    }
}
int main(void)
{
    static char line[1 << 20];
    struct json_reader reader;
    json_reader_init(&reader, "", 0);
    while (fgets(line, sizeof(line), stdin)) {
        json_reader_reset(&reader, line, strcspn(line, "\n"));
        read_value(&reader);
        puts(json_reader_end(&reader, NULL) == 0 ? "yes" : "no");
    }
    json_reader_fini(&reader);
    return 0;
}
"""


@pytest.fixture(scope="module")
def read_lines(tmp_path_factory):
    """read_lines(texts) -> what the reader says of each."""
    folder = tmp_path_factory.mktemp("json-reader")
    (folder / "program.c").write_text(PROGRAM)
    sources = [BASE / name for name in ("json_reader.c", "json_number.c", "array.c", "strbuf.c", "error.c", "text.c")]
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-I", BASE.parent,
                    "-I", BASE.parents[1] / "include", folder / "program.c", *sources, "-o", folder / "program", "-lm"], check=True)

    def read(texts):
        given = "".join(f"{text}\n" for text in texts).encode()
        done = subprocess.run([folder / "program"], input=given, capture_output=True, check=True)
        answers = done.stdout.decode().split("\n")[:-1]
        assert len(answers) == len(texts)
        return answers

    return read


def refuse(word):
    raise ValueError(word)


def python_takes(text):
    """Whether it is JSON to Python, which takes NaN too, but not an integer of 5,000 digits."""
    try:
        json.loads(text, parse_constant=refuse, parse_int=str)
    except ValueError:
        return False
    return True


def random_text(random_, depth=0):
    kind = random_.randrange(8 if depth < 6 else 6)
    if kind < 2:
        return random_number(random_)
    if kind < 4:
        return random_string(random_)
    if kind < 6:
        return random_.choice(["true", "false", "null"])
    blank = random_.choice(["", " ", "\t ", "\r"])
    items = [random_text(random_, depth + 1) for _ in range(random_.randrange(4))]
    if kind == 6:
        return "[" + blank + f"{blank},{blank}".join(items) + blank + "]"
    return "{" + f",{blank}".join(f"{random_string(random_)}{blank}:{blank}{item}" for item in items) + "}"


def random_string(random_):
    parts = ["a", "key", "\\n", "\\\"", "\\\\", "\\/", "\\u00e4", "\\ud83d\\ude00", "\\ud83d", "\\u0000", "ä", "€", "😀",
             "\x7f", "\u2028", "12345678", "/", "[", "{", "}"]
    return '"' + "".join(random_.choice(parts) for _ in range(random_.randrange(6))) + '"'


def random_number(random_):
    kind = random_.randrange(7)
    if kind == 0:
        return str(random_.randrange(-1000, 1000))
    if kind == 1:
        return repr(random_.uniform(-1e6, 1e6))
    if kind == 2:
        value = struct.unpack("<d", random_.randbytes(8))[0]
        return repr(value) if abs(value) < float("inf") else "-0.0"
    if kind == 3:
        return str(random_.randrange(2**52, 2**66))
    if kind == 4:
        return f"{random_.randrange(10**random_.randrange(1, 25))}e{random_.randrange(-345, 300)}"
    if kind == 5:
        return f"{random_.randrange(10**5)}.{random_.randrange(10**random_.randrange(1, 30)):05}"
    # Half way between two doubles, and a bit off it: what a hasty reader rounds wrongly.
    whole = random_.randrange(2**52, 2**53) * 2 + 1
    return f"{whole}{random_.choice(['', '.0', '.5', '.' + '0' * 30 + '1'])}e{random_.randrange(-3, 20)}"


def damage(random_, text):
    odd = ['"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "+", " ", "t", "\x01", "\t", "u", "x", "N"]
    at = random_.randrange(len(text) + 1)
    kind = random_.randrange(3)
    if kind == 0:
        return text[:at] + random_.choice(odd) + text[at:]
    if kind == 1:
        return text[:at] + text[at + 1:]
    return text[:at] + random_.choice(odd) + text[at + 1:]


def test_numbers_are_the_doubles_of_python(read_lines):
    random_ = random.Random(5)
    texts = [random_number(random_) for _ in range(60_000)]
    texts += ["0", "-0", "-0.0", "1e22", "1e23", "1E+22", "9007199254740993", "4.9e-324", "2e-324", "1e-400", "0e9999",
              "1.7976931348623157e308", "0." + "0" * 400 + "1", "1" + "0" * 300, "8.5e22"]
    for text, answer in zip(texts, read_lines(texts)):
        number = float(text)
        if abs(number) == float("inf"):
            assert answer == "no", text
        else:
            assert answer == struct.pack(">d", number).hex() + " yes", text


def test_texts_are_those_of_python(read_lines):
    random_ = random.Random(6)
    texts = [random_string(random_) for _ in range(20_000)]
    for text, answer in zip(texts, read_lines(texts)):
        # A lone surrogate and NUL, which UTF-8 text cannot hold, are U+FFFD here.
        expected = json.loads(text).replace("\0", "\ufffd")
        expected = "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in expected)
        assert answer == f"text {expected.encode().hex()} yes", text


def test_what_is_json_to_python_is_json_here_and_nothing_else(read_lines):
    random_ = random.Random(7)
    texts = [random_text(random_) for _ in range(20_000)]
    for _ in range(3):
        texts += [damage(random_, text) for text in texts[:20_000]]
    texts = [text for text in texts if "\n" not in text and "\0" not in text]
    taken = 0
    for text, answer in zip(texts, read_lines(texts)):
        good = python_takes(text)
        taken += good
        if good and answer.endswith("no"):
            # The one difference: what no double holds is refused here.
            assert "inf" in repr(json.loads(text)), text
        else:
            assert answer.endswith("yes") == good, text
    assert 20_000 < taken < len(texts) - 20_000
