"""Lifecycles as tables, and the decisions made from them; pure."""

__project__ = "weighlock"
