"""Plan files as people write them, YAML or JSON, with the line of every mistake."""
