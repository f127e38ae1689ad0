#!/usr/bin/env python3
"""The smallest agent there is: append a line to every file it was told to edit, and make every file it may add.

    tasks run plan.yaml --repo PATH --agent '/path/to/agent.py'

A real agent reads the same file and thinks in between.
"""

import os
import re
from pathlib import Path

prompt = Path(os.environ["TASKS_PROMPT_FILE"]).read_text(encoding="utf-8")
print(f"working on item {os.environ['TASKS_ITEM']} of task {os.environ['TASKS_TASK']}")

for name in re.findall(r"(?m)^- (?:edit|add) `([^`*?\n]+[^`*?/\n])`$", prompt):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("A line from the smallest agent.\n")
    print(f"wrote {path}")
