"""The steps of scripts/bench."""
