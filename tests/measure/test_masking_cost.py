"""Masking secrets: the instructions it takes for each byte of a command line, however long and hostile."""

import pytest

from support import instructions
from support.built import unit_program

SIZE = 20_000
ONE_ARGUMENT = 10 * SIZE
LIMIT = 2500  # a line of 2 MB takes about a second
TEXTS = ["a://", "a://b:c", "a://b:c@", "http://discord.com/", "discord.com/api/", "a=", "- ", "--key -/", "--token '-",
         "\"--token\",-", "'", "\\\n", "password - ", "grep password;", "\"key\"]", "\"key\"=[", "curl -u a:b -u ",
         "password 'a", "password \" ", "mysql -p'", "mysql -p\"\\", "pin: ", "--pin 12345", "a:1/", " ", "rg;  a=",
         "-----BEGIN ", "-----BEGIN PRIVATE KEY ", "keyKey", "\"key", "--token ", "eyJeyJeyJeyJeyJeyJ ", "a;pwd="]


def check(text, argument, *added):
    """In the second half of a line: the difference to a shorter one. Work that grows faster than the line would take tens
    of thousands for a byte there."""
    half, whole = (instructions.of_command([unit_program("masker"), size, argument, text, *added], None)
                   for size in (2 * SIZE, 4 * SIZE))
    assert (whole - half) / (2 * SIZE) < LIMIT


@pytest.mark.parametrize("text", TEXTS)
def test_each_byte_of_a_long_argument_takes_few_instructions(text):
    check(text, ONE_ARGUMENT)


@pytest.mark.parametrize("text", ["a", "--token", "a://b:c@d"])
def test_each_byte_of_many_arguments_takes_few_instructions(text):
    check(text, len(text) + 1)


@pytest.mark.parametrize("text", ["acme-12 ", "aaaa"])
def test_names_and_patterns_of_the_user_keep_it_linear(text):
    check(text, ONE_ARGUMENT, "license", "acme-[0-9]{2,4}", "project-id", "a{1,9}")
