"""What the rows must say once everything is quiet: each law with the query that lists who breaks it."""

from typing import Final

# Where a task was killed, cut off or woken too late, these hold after recovery as they did before.
ALWAYS: Final = {
    "history has no gap, and each line begins where the last one ended": """
        SELECT task_id, seq, event FROM (
          SELECT task_id, seq, event, source,
                 lag(seq, 1, 0) OVER line AS before, lag(dest, 1, '') OVER line AS stood
          FROM task_event WINDOW line AS (PARTITION BY task_id ORDER BY seq)) AS line
        WHERE seq <> before + 1 OR source <> stood""",
    "the epoch rises by one at claim and take_over, and never else": """
        SELECT task_id, seq, event FROM (
          SELECT task_id, seq, event, epoch, lag(epoch, 1, 0) OVER (PARTITION BY task_id ORDER BY seq) AS before
          FROM task_event) AS line
        WHERE epoch <> before + (event IN ('claim', 'take_over'))::int""",
    "every line is an edge of the lifecycle": """
        SELECT task_id, seq, event FROM task_event
        WHERE NOT EXISTS (SELECT FROM task_edge edge WHERE (edge.event, edge.source, edge.dest)
                          = (task_event.event, task_event.source, task_event.dest))""",
    "a task is where its last line says": """
        SELECT id, state, seq FROM task
        WHERE (seq, state, lease_epoch) IS DISTINCT FROM (
          SELECT (seq, dest, epoch) FROM task_event WHERE task_id = task.id ORDER BY seq DESC LIMIT 1)""",
    "what is owed is what is open": """
        SELECT id, owed_findings, owed_pauses FROM task
        WHERE owed_findings <> (SELECT count(*) FROM finding WHERE task_id = task.id AND state = 'open')
           OR owed_pauses <> (SELECT count(*) FROM pause WHERE task_id = task.id AND state = 'open')""",
    "what is owed stands where a person meets it": """
        SELECT id, state FROM task
        WHERE owed_findings > 0 AND state NOT IN ('needs_human', 'merging', 'merged', 'cancelled', 'running')
           OR owed_pauses > 0 AND state NOT IN ('needs_amendment', 'needs_human', 'cancelled')""",
    "who waits has one open gate, and nobody else has any": """
        SELECT id, state FROM task
        WHERE (SELECT array_agg(id) FROM gate WHERE task_id = task.id AND state = 'open')
          IS DISTINCT FROM CASE WHEN gate_id IS NOT NULL THEN ARRAY[gate_id] END""",
    "the end of an attempt has one line of history": """
        SELECT task_id, number, state FROM attempt
        WHERE (SELECT count(*) FROM task_event WHERE attempt_id = attempt.id) <> (ended_at IS NOT NULL)::int""",
    "attempts are numbered without a gap": """
        SELECT task_id, number FROM (
          SELECT task_id, number, row_number() OVER (PARTITION BY task_id ORDER BY number) AS nth FROM attempt) AS row
        WHERE number <> nth""",
    "a writing attempt is in the ledger once if it completed, and otherwise not": """
        SELECT task_id, number, state FROM attempt
        WHERE (SELECT count(*) FROM commit_ledger WHERE attempt_id = attempt.id)
          <> (state = 'completed' AND item_id IS NOT NULL)::int""",
    "each live commit stands on the one before it": """
        SELECT task_id, item_id, parent FROM (
          SELECT ledger.*, coalesce(
            (SELECT commit FROM commit_ledger AS before WHERE before.task_id = ledger.task_id AND before.id < ledger.id
             AND before.state = 'live' AND before.commit IS NOT NULL ORDER BY id DESC LIMIT 1), task.base) AS head
          FROM commit_ledger AS ledger JOIN task ON task.id = ledger.task_id WHERE ledger.state = 'live') AS row
        WHERE parent <> head""",
    "the head is the last live commit": """
        SELECT id, head FROM task WHERE head <> coalesce(
          (SELECT commit FROM commit_ledger WHERE task_id = task.id AND state = 'live' AND commit IS NOT NULL
           ORDER BY id DESC LIMIT 1), base)""",
    "an item is done once": """
        SELECT task_id, item_id FROM commit_ledger WHERE state = 'live' GROUP BY 1, 2 HAVING count(*) > 1""",
    "a line about a finding comes with one": """
        SELECT task_id, seq FROM task_event WHERE event = 'raise_finding'
          AND NOT EXISTS (SELECT FROM finding WHERE task_id = task_event.task_id)""",
    "a task is merged as often as a merge says so, or its target held it already": """
        SELECT id, state FROM task
        WHERE (SELECT count(*) FROM merge_attempt WHERE task_id = task.id AND state = 'merged')
            > (state = 'merged')::int""",
}

# Nobody works any more, and recovery had its turn.
AT_REST: Final = {
    "every task is where a person or a worker can act": """
        SELECT id, state FROM task WHERE state IN ('running', 'merging')""",
    "no attempt is active": """
        SELECT task_id, number, state FROM attempt WHERE ended_at IS NULL""",
    "no workspace is held by nobody": """
        SELECT task_id, id, state FROM allocation WHERE state IN ('reserved', 'ready', 'retired')""",
    "no merge is under way": """
        SELECT task_id, id FROM merge_attempt WHERE state = 'submitting'""",
}
