-- Take the spine away, history included.
DROP TABLE output, merge_attempt, check_result, approval, pause, finding, commit_ledger, attempt, allocation, gate,
  plan_item, plan_revision, task_event, task, worker, repository, noun_edge, task_edge CASCADE;
DROP FUNCTION refuse_change, refuse_identity, keep_noun_edge, lock_task_of_owed, count_owed, guard_new_task,
  guard_task, keep_event;
