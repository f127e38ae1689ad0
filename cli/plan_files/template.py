"""The plan file `tasks plan init` writes."""

from typing import Final

TEMPLATE: Final = """\
# A plan: small items, run in order, each allowed to touch only the files it declares.
# Check it with `tasks plan check THIS_FILE --repo PATH` before you add it.

title: Say what this task is for    # at most 120 characters
base: main                          # branch, tag or commit the work starts from
target: main                        # branch a merge goes to
# agent: claude                     # name of an agent, or a command; `--agent` does the same
# approval: before                  # ask a person before the first item runs; default none
# budget: 2h                        # time the whole task may run: 90s, 10m, 2h, 1h30m

# Commands that must pass on the final result before it goes to review; no shell unless you name one.
# checks:
#   - pytest -q
# check_retries: 0                  # how often failed checks run again

items:                              # 1 to 30
  - id: P1
    title: Describe the first step
    intent: |
      Tell the agent what to do and how you will judge it.
    files:                          # 1 to 40 entries; anything else it changes stops the task for you to decide
      - edit: README.md             # content, mode or type of a file that exists
      # - add: docs/new.md          # a file that does not exist yet
      # - delete: docs/old.md
      # - rename: docs/guide.md     # the new path
      #   renamed_from: docs/manual.md
      # - edit: src/                # a folder: everything beneath it
      # - add: src/retry/**/*.py    # a glob: `*` within a name, `**` across folders, `?`, `[a-c]`;
      #                             # `[[]` is the character `[` itself
      # - edit: current             # one exact path that is a symlink, or may become one
      #   link: true
    # time_limit: 10m               # the agent's own limit; past it the attempt fails
    # retries: 1                    # how often a failed attempt runs again
    # approval: before              # ask a person before this item runs

  # - id: P2
  #   title: Describe the next step
  #   depends_on: [P1]              # items above this one; order is the order of the list
  #   files:
  #     - edit: docs/
"""
