"""Masking secrets: the instructions it takes for each byte of a command line, however long and hostile."""

import functools

import pytest

from support import instructions
from support.built import unit_program

# One worker runs them all: it counts those with the same secrets in one go.
pytestmark = pytest.mark.xdist_group("masking")

SIZE = 10_000
ONE_ARGUMENT = 10 * SIZE
LIMIT = 2500  # a line of 2 MB takes about a second
TEXTS = ["a://", "a://b:c", "a://b:c@", "http://discord.com/", "discord.com/api/", "a=", "- ", "--key -/", "--token '-",
         "\"--token\",-", "'", "\\\n", "password - ", "grep password;", "\"key\"]", "\"key\"=[", "curl -u a:b -u ",
         "password 'a", "password \" ", "mysql -p'", "mysql -p\"\\", "pin: ", "--pin 12345", "a:1/", " ", "rg;  a=",
         "-----BEGIN ", "-----BEGIN PRIVATE KEY ", "keyKey", "\"key", "--token ", "eyJeyJeyJeyJeyJeyJ ", "a;pwd="]
SHORT_TEXTS = ["a", "--token", "a://b:c@d"]
LINES = [(ONE_ARGUMENT, text) for text in TEXTS] + [(len(text) + 1, text) for text in SHORT_TEXTS]
USER_SECRETS = "license", "acme-[0-9]{2,4}", "project-id", "a{1,9}"
USER_LINES = [(ONE_ARGUMENT, text) for text in ("acme-12 ", "aaaa")]


@functools.lru_cache
def costs(lines, secrets):
    """{line: instructions for each byte in the second half of a command line}: the difference to a shorter one. Work that
    grows faster than the line would take tens of thousands for a byte there."""
    data = "".join(f"{size}\0{argument}\0{text}\0" for argument, text in lines for size in (2 * SIZE, 4 * SIZE))
    counts = instructions.of_children([unit_program("masker"), *secrets], data)
    assert len(counts) == 2 * len(lines)
    return {line: (whole - half) / (2 * SIZE) for line, half, whole in zip(lines, counts[::2], counts[1::2])}


@pytest.mark.parametrize("text", TEXTS)
def test_each_byte_of_a_long_argument_takes_few_instructions(text):
    assert 0 < costs(tuple(LINES), ())[ONE_ARGUMENT, text] < LIMIT


@pytest.mark.parametrize("text", SHORT_TEXTS)
def test_each_byte_of_many_arguments_takes_few_instructions(text):
    assert 0 < costs(tuple(LINES), ())[len(text) + 1, text] < LIMIT


@pytest.mark.parametrize("text", [text for _, text in USER_LINES])
def test_names_and_patterns_of_the_user_keep_it_linear(text):
    assert 0 < costs(tuple(USER_LINES), USER_SECRETS)[ONE_ARGUMENT, text] < LIMIT
