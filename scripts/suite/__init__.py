"""Modules used by scripts/test."""
