"""The `tasks` command: parse, call one verb, show."""
