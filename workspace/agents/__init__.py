"""The agent's process: its environment, its prompt, its launch, its output, its end."""
