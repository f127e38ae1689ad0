"""Rows and verbs: the only floor that talks to PostgreSQL."""
