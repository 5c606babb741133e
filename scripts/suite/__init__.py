"""The parts of scripts/test. Python only: what they start is in scripts/test's own table of parts."""
