-- The spine: every table, and everything the database keeps by itself.

-- ---------------------------------------------------------------- vocabulary
CREATE TABLE task_edge (
  event  text NOT NULL,
  source text NOT NULL,
  dest   text NOT NULL,
  who    text[] NOT NULL,
  CONSTRAINT task_edge_pkey PRIMARY KEY (event, source, dest)
);

CREATE TABLE noun_edge (
  noun   text NOT NULL,
  source text NOT NULL,
  dest   text NOT NULL,
  CONSTRAINT noun_edge_pkey PRIMARY KEY (noun, source, dest)
);

-- ---------------------------------------------------------------- rows without a lifecycle of a task
CREATE TABLE repository (
  id             bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT repository_pkey PRIMARY KEY,
  runner         uuid NOT NULL CONSTRAINT repository_runner_key UNIQUE,
  name           text NOT NULL CONSTRAINT repository_name_key UNIQUE,
  source         text NOT NULL,
  target         text NOT NULL,
  object_format  text NOT NULL,
  raw_attributes boolean NOT NULL DEFAULT false,
  policy         jsonb NOT NULL DEFAULT '{}',
  policy_version integer NOT NULL DEFAULT 1,
  added_by       text NOT NULL,
  added_at       timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT repository_name_length CHECK (length(name) BETWEEN 1 AND 200),
  CONSTRAINT repository_object_format CHECK (object_format IN ('sha1', 'sha256'))
);
-- A path may be longer than an index entry: the digest is what is unique.
CREATE UNIQUE INDEX repository_source_key ON repository (md5(source));

CREATE TABLE worker (
  id           bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT worker_pkey PRIMARY KEY,
  name         text NOT NULL,
  host         text NOT NULL,
  boot_id      text NOT NULL,
  pid          integer NOT NULL,
  started      text NOT NULL,
  kinds        text[] NOT NULL,
  executors    text[] NOT NULL,
  slots        integer NOT NULL,
  state        text NOT NULL DEFAULT 'active',
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  since        timestamptz NOT NULL DEFAULT now(),
  gone_at      timestamptz,
  CONSTRAINT worker_slots CHECK (slots >= 1)
);
CREATE INDEX worker_present ON worker (host, id) WHERE state <> 'gone';

-- ---------------------------------------------------------------- the task and its history
CREATE TABLE task (
  id               bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT task_pkey PRIMARY KEY,
  repository_id    bigint NOT NULL CONSTRAINT task_repository_fkey REFERENCES repository (id),
  title            text NOT NULL,
  author           text NOT NULL,
  added_at         timestamptz NOT NULL DEFAULT now(),
  state            text NOT NULL,
  seq              integer NOT NULL DEFAULT 1,
  version          integer NOT NULL DEFAULT 1,
  context          integer NOT NULL DEFAULT 1,
  priority         integer NOT NULL DEFAULT 0,
  available_at     timestamptz NOT NULL DEFAULT now(),
  next_kind        text NOT NULL DEFAULT 'execute',
  executor         text NOT NULL,
  revision         integer NOT NULL DEFAULT 1,
  base             text NOT NULL,
  head             text NOT NULL,
  target           text NOT NULL,
  budget           interval,
  spent            interval NOT NULL DEFAULT '0',
  running_since    timestamptz,
  failures         integer NOT NULL DEFAULT 0,
  retries          integer,
  losses           integer NOT NULL DEFAULT 0,
  guidance         text NOT NULL DEFAULT '',
  lease_worker     bigint CONSTRAINT task_lease_worker_fkey REFERENCES worker (id),
  lease_epoch      integer NOT NULL DEFAULT 0,
  lease_expires    timestamptz,
  owed_findings    integer NOT NULL DEFAULT 0,
  owed_pauses      integer NOT NULL DEFAULT 0,
  gate_id          uuid,
  stop_reason      text,
  stop_by          text,
  cancel_requested boolean NOT NULL DEFAULT false,
  running_epoch    integer GENERATED ALWAYS AS (CASE WHEN state = 'running' THEN lease_epoch END) STORED,
  CONSTRAINT task_gate_key UNIQUE (id, gate_id),
  CONSTRAINT task_running_key UNIQUE (id, running_epoch),
  CONSTRAINT task_owed_findings_nonneg CHECK (owed_findings >= 0),
  CONSTRAINT task_owed_pauses_nonneg CHECK (owed_pauses >= 0),
  CONSTRAINT task_next_kind CHECK (next_kind IN ('execute', 'fix', 'check', 'review')),
  CONSTRAINT task_stop_reason CHECK (stop_reason IN ('user', 'shutdown', 'stale', 'time_limit')),
  CONSTRAINT task_counters CHECK (failures >= 0 AND losses >= 0 AND (retries IS NULL OR retries >= 0)),
  CONSTRAINT task_lease CHECK (
    (state = 'running') = (lease_worker IS NOT NULL)
    AND (lease_worker IS NULL) = (lease_expires IS NULL)
    AND (lease_worker IS NULL) = (running_since IS NULL)),
  CONSTRAINT task_stop_is_of_a_run CHECK (
    state = 'running' OR (stop_reason IS NULL AND (NOT cancel_requested OR state = 'cancelled'))),
  CONSTRAINT task_finding_owed CHECK (
    owed_findings = 0
    OR state IN ('needs_human', 'merging', 'merged', 'cancelled')
    OR (state = 'running' AND stop_reason IS NOT NULL)),
  CONSTRAINT task_pause_owed CHECK (
    owed_pauses = 0 OR state IN ('needs_amendment', 'needs_human', 'cancelled')),
  CONSTRAINT task_gate CHECK (
    (state IN ('needs_human', 'needs_amendment', 'needs_approval', 'possibly_fixed', 'in_review'))
    = (gate_id IS NOT NULL))
);
CREATE INDEX task_claim ON task (priority DESC, available_at, id) WHERE state = 'queued';
CREATE INDEX task_held ON task (id) WHERE state = 'running';
CREATE INDEX task_exhausted ON task (id) WHERE state = 'queued' AND budget IS NOT NULL AND spent >= budget;
CREATE INDEX task_by_repository ON task (repository_id, id);
CREATE INDEX task_open ON task (repository_id, id) WHERE state NOT IN ('merged', 'cancelled');

CREATE TABLE task_event (
  task_id    bigint NOT NULL CONSTRAINT task_event_task_fkey REFERENCES task (id),
  seq        integer NOT NULL,
  event      text NOT NULL,
  source     text NOT NULL,
  dest       text NOT NULL,
  epoch      integer NOT NULL,
  actor      text NOT NULL,
  role       text NOT NULL DEFAULT current_user,
  at         timestamptz NOT NULL DEFAULT now(),
  attempt_id uuid,
  reason     text NOT NULL DEFAULT '',
  prev       integer GENERATED ALWAYS AS (nullif(seq - 1, 0)) STORED,
  prev_epoch integer GENERATED ALWAYS AS (
    CASE WHEN event IN ('claim', 'take_over') THEN epoch - 1 ELSE epoch END) STORED,
  CONSTRAINT task_event_pkey PRIMARY KEY (task_id, seq),
  CONSTRAINT task_event_end UNIQUE (task_id, seq, dest, epoch),
  CONSTRAINT task_event_begin CHECK (seq >= 1 AND (seq = 1) = (source = '') AND (seq > 1 OR epoch = 0)),
  CONSTRAINT task_event_edge FOREIGN KEY (event, source, dest) REFERENCES task_edge (event, source, dest),
  CONSTRAINT task_event_chain FOREIGN KEY (task_id, prev, source, prev_epoch)
    REFERENCES task_event (task_id, seq, dest, epoch)
);
ALTER TABLE task ADD CONSTRAINT task_is_its_last_line FOREIGN KEY (id, seq, state, lease_epoch)
  REFERENCES task_event (task_id, seq, dest, epoch) DEFERRABLE INITIALLY DEFERRED;

-- ---------------------------------------------------------------- plans
CREATE TABLE plan_revision (
  task_id  bigint NOT NULL CONSTRAINT plan_revision_task_fkey REFERENCES task (id),
  number   integer NOT NULL,
  document jsonb NOT NULL,
  cause    text NOT NULL,
  made_by  text NOT NULL,
  made_at  timestamptz NOT NULL DEFAULT now(),
  made_in  text NOT NULL,
  CONSTRAINT plan_revision_pkey PRIMARY KEY (task_id, number),
  CONSTRAINT plan_revision_number CHECK (number >= 1),
  CONSTRAINT plan_revision_cause CHECK (cause IN ('add', 'amend', 'scope', 'request_changes'))
);
ALTER TABLE task ADD CONSTRAINT task_revision_fkey FOREIGN KEY (id, revision)
  REFERENCES plan_revision (task_id, number);

CREATE TABLE plan_item (
  task_id  bigint NOT NULL,
  revision integer NOT NULL,
  item_id  text NOT NULL,
  position integer NOT NULL,
  kind     text NOT NULL,
  title    text NOT NULL,
  approval text NOT NULL,
  retries  integer NOT NULL,
  digest   text NOT NULL,
  CONSTRAINT plan_item_pkey PRIMARY KEY (task_id, revision, item_id),
  CONSTRAINT plan_item_position_key UNIQUE (task_id, revision, position),
  CONSTRAINT plan_item_revision_fkey FOREIGN KEY (task_id, revision) REFERENCES plan_revision (task_id, number),
  CONSTRAINT plan_item_kind CHECK (kind IN ('execute', 'fix')),
  CONSTRAINT plan_item_approval CHECK (approval IN ('none', 'before'))
);

-- ---------------------------------------------------------------- nouns of a task
CREATE TABLE gate (
  id         uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT gate_pkey PRIMARY KEY,
  task_id    bigint NOT NULL CONSTRAINT gate_task_fkey REFERENCES task (id),
  kind       text NOT NULL,
  reason     text NOT NULL DEFAULT '',
  subjects   jsonb NOT NULL DEFAULT '[]',
  head       text NOT NULL,
  state      text NOT NULL DEFAULT 'open',
  opened_at  timestamptz NOT NULL DEFAULT now(),
  decided_at timestamptz,
  decided_by text,
  comment    text NOT NULL DEFAULT '',
  open_task  bigint GENERATED ALWAYS AS (CASE WHEN state = 'open' THEN task_id END) STORED,
  CONSTRAINT gate_one_open UNIQUE (open_task),
  CONSTRAINT gate_open_key UNIQUE (id, open_task),
  CONSTRAINT gate_kind CHECK (kind IN ('finding', 'limit', 'failure', 'scope', 'approval', 'fixed', 'review')),
  CONSTRAINT gate_decided CHECK ((state = 'open') = (decided_at IS NULL) AND (state = 'open') = (decided_by IS NULL)),
  CONSTRAINT gate_is_its_tasks FOREIGN KEY (open_task, id) REFERENCES task (id, gate_id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX gate_by_task ON gate (task_id, opened_at);
ALTER TABLE task ADD CONSTRAINT task_gate_is_open FOREIGN KEY (gate_id, id)
  REFERENCES gate (id, open_task) DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE allocation (
  id              uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT allocation_pkey PRIMARY KEY,
  task_id         bigint NOT NULL CONSTRAINT allocation_task_fkey REFERENCES task (id),
  epoch           integer NOT NULL,
  host            text NOT NULL,
  executor        text NOT NULL,
  executor_target text NOT NULL DEFAULT '',
  state           text NOT NULL DEFAULT 'reserved',
  generation      integer NOT NULL DEFAULT 1,
  path            text,
  base            text,
  baseline        text,
  handles         jsonb NOT NULL DEFAULT '{}',
  materialised_by uuid NOT NULL,
  reserved_at     timestamptz NOT NULL DEFAULT now(),
  ready_at        timestamptz,
  ended_at        timestamptz,
  reason          text NOT NULL DEFAULT '',
  unjudged        boolean NOT NULL DEFAULT false,
  CONSTRAINT allocation_executor CHECK (executor IN ('local', 'sandbox', 'docker', 'ssh')),
  CONSTRAINT allocation_judged CHECK (NOT unjudged OR state = 'quarantined'),
  CONSTRAINT allocation_ready CHECK (
    state <> 'ready'
    OR (base IS NOT NULL
        AND (path IS NOT NULL OR executor = 'ssh')
        AND (baseline IS NOT NULL OR executor <> 'local')))
);
CREATE UNIQUE INDEX allocation_one_live ON allocation (task_id, state) WHERE state IN ('reserved', 'ready');
CREATE INDEX allocation_by_task ON allocation (task_id, reserved_at);
CREATE INDEX allocation_kept ON allocation (host, state) WHERE state <> 'released';
CREATE INDEX allocation_live ON allocation (host, id) WHERE state IN ('reserved', 'ready');
CREATE INDEX allocation_unjudged ON allocation (host, id) WHERE unjudged;

CREATE TABLE attempt (
  id                uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT attempt_pkey PRIMARY KEY,
  task_id           bigint NOT NULL CONSTRAINT attempt_task_fkey REFERENCES task (id),
  number            integer NOT NULL,
  epoch             integer NOT NULL,
  kind              text NOT NULL,
  item_id           text,
  revision          integer NOT NULL,
  context           integer NOT NULL,
  policy_version    integer NOT NULL,
  base              text NOT NULL,
  executor          text NOT NULL,
  worker_id         bigint NOT NULL CONSTRAINT attempt_worker_fkey REFERENCES worker (id),
  allocation_id     uuid CONSTRAINT attempt_allocation_fkey REFERENCES allocation (id),
  state             text NOT NULL DEFAULT 'pending',
  first_reason      text,
  admitted_at       timestamptz NOT NULL DEFAULT now(),
  started_at        timestamptz,
  ended_at          timestamptz,
  handle            jsonb,
  links_digest      text,
  exit_code         integer,
  isolation_failure text,
  failure_code      text,
  failure           text NOT NULL DEFAULT '',
  manifest_digest   text,
  outcome           text,
  commit            text,
  evidence          jsonb NOT NULL DEFAULT '{}',
  active_task       bigint GENERATED ALWAYS AS (CASE WHEN state IN ('pending', 'running') THEN task_id END) STORED,
  CONSTRAINT attempt_number_key UNIQUE (task_id, number),
  CONSTRAINT attempt_one_active UNIQUE (active_task),
  CONSTRAINT attempt_item_fkey FOREIGN KEY (task_id, revision, item_id)
    REFERENCES plan_item (task_id, revision, item_id),
  CONSTRAINT attempt_active_needs_lease FOREIGN KEY (active_task, epoch)
    REFERENCES task (id, running_epoch) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT attempt_kind CHECK (kind IN ('execute', 'fix', 'check', 'review')),
  CONSTRAINT attempt_item CHECK ((kind IN ('execute', 'fix')) = (item_id IS NOT NULL)),
  CONSTRAINT attempt_first_reason CHECK (first_reason IN ('user', 'shutdown', 'stale', 'time_limit')),
  CONSTRAINT attempt_outcome CHECK (
    (outcome IS NULL OR outcome IN ('commit', 'unchanged')) AND (outcome IS NOT DISTINCT FROM 'commit') = (commit IS NOT NULL)),
  CONSTRAINT attempt_ended CHECK ((state IN ('pending', 'running')) = (ended_at IS NULL)),
  CONSTRAINT attempt_completed CHECK (
    state <> 'completed' OR started_at IS NOT NULL AND (outcome IS NOT NULL OR item_id IS NULL))
);

CREATE TABLE commit_ledger (
  id               bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT commit_ledger_pkey PRIMARY KEY,
  task_id          bigint NOT NULL CONSTRAINT commit_ledger_task_fkey REFERENCES task (id),
  item_id          text NOT NULL,
  revision         integer NOT NULL,
  attempt_id       uuid NOT NULL CONSTRAINT commit_ledger_attempt_fkey REFERENCES attempt (id),
  outcome          text NOT NULL,
  parent           text NOT NULL,
  commit           text,
  state            text NOT NULL DEFAULT 'live',
  recorded_at      timestamptz NOT NULL DEFAULT now(),
  discarded_at     timestamptz,
  discarded_by     text,
  discarded_reason text,
  CONSTRAINT commit_ledger_outcome CHECK (
    outcome IN ('commit', 'unchanged') AND (outcome = 'commit') = (commit IS NOT NULL)),
  CONSTRAINT commit_ledger_commit CHECK (
    commit IS NULL OR (commit <> parent AND commit ~ '^([0-9a-f]{40}|[0-9a-f]{64})$')),
  CONSTRAINT commit_ledger_discarded CHECK ((state = 'discarded') = (discarded_by IS NOT NULL))
);
CREATE UNIQUE INDEX commit_ledger_one_live ON commit_ledger (task_id, item_id) WHERE state = 'live';
CREATE INDEX commit_ledger_by_task ON commit_ledger (task_id, id);

CREATE TABLE finding (
  id          bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT finding_pkey PRIMARY KEY,
  task_id     bigint NOT NULL CONSTRAINT finding_task_fkey REFERENCES task (id),
  attempt_id  uuid CONSTRAINT finding_attempt_fkey REFERENCES attempt (id),
  item_id     text,
  kind        text NOT NULL,
  summary     text NOT NULL,
  evidence    jsonb NOT NULL DEFAULT '{}',
  fingerprint text NOT NULL,
  late        boolean NOT NULL DEFAULT false,
  recorded_by text NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  state       text NOT NULL DEFAULT 'open',
  permit      boolean NOT NULL DEFAULT false,
  decided_at  timestamptz,
  decided_by  text,
  reason      text,
  CONSTRAINT finding_summary CHECK (length(summary) BETWEEN 1 AND 4000),
  CONSTRAINT finding_fingerprint CHECK (fingerprint ~ '^[0-9a-f]{64}$'),
  CONSTRAINT finding_decided CHECK (
    (state = 'open') = (decided_at IS NULL)
    AND (state = 'open') = (decided_by IS NULL)
    AND (state = 'open') = (reason IS NULL)),
  CONSTRAINT finding_permit CHECK (NOT permit OR state = 'dismissed'),
  CONSTRAINT finding_reason CHECK (reason IS NULL OR length(btrim(reason)) > 0)
);
CREATE UNIQUE INDEX finding_one_open ON finding (task_id, fingerprint) WHERE state = 'open';
CREATE INDEX finding_by_task ON finding (task_id, id);
CREATE INDEX finding_owed ON finding (recorded_at) WHERE state = 'open';

CREATE TABLE pause (
  id           bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pause_pkey PRIMARY KEY,
  task_id      bigint NOT NULL CONSTRAINT pause_task_fkey REFERENCES task (id),
  attempt_id   uuid NOT NULL CONSTRAINT pause_attempt_fkey REFERENCES attempt (id),
  revision     integer NOT NULL,
  item_id      text NOT NULL,
  head         text NOT NULL,
  tree         text NOT NULL,
  done         text[] NOT NULL,
  out_of_scope jsonb NOT NULL,
  state        text NOT NULL DEFAULT 'open',
  opened_at    timestamptz NOT NULL DEFAULT now(),
  decided_at   timestamptz,
  decided_by   text,
  CONSTRAINT pause_decided CHECK (
    (state = 'open') = (decided_at IS NULL) AND (state = 'open') = (decided_by IS NULL)),
  CONSTRAINT pause_out_of_scope CHECK (
    CASE WHEN jsonb_typeof(out_of_scope) = 'array' THEN jsonb_array_length(out_of_scope) > 0 ELSE false END)
);
CREATE UNIQUE INDEX pause_one_open ON pause (task_id) WHERE state = 'open';
CREATE INDEX pause_by_task ON pause (task_id, id);

CREATE TABLE approval (
  id       bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT approval_pkey PRIMARY KEY,
  task_id  bigint NOT NULL CONSTRAINT approval_task_fkey REFERENCES task (id),
  kind     text NOT NULL,
  gate_id  uuid CONSTRAINT approval_gate_fkey REFERENCES gate (id),
  revision integer,
  item_id  text,
  digest   text,
  base     text,
  head     text,
  target   text,
  actor    text NOT NULL,
  role     text NOT NULL DEFAULT current_user,
  at       timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT approval_subject CHECK (CASE kind
    WHEN 'plan' THEN revision IS NOT NULL
    WHEN 'item' THEN item_id IS NOT NULL AND digest IS NOT NULL
    WHEN 'fixed' THEN base IS NOT NULL
    WHEN 'review' THEN head IS NOT NULL AND base IS NOT NULL AND target IS NOT NULL
    ELSE false END)
);
CREATE INDEX approval_by_task ON approval (task_id, kind, id);

CREATE TABLE check_result (
  id         bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT check_result_pkey PRIMARY KEY,
  task_id    bigint NOT NULL CONSTRAINT check_result_task_fkey REFERENCES task (id),
  attempt_id uuid NOT NULL CONSTRAINT check_result_attempt_fkey REFERENCES attempt (id),
  head       text NOT NULL,
  command    text NOT NULL,
  exit_code  integer,
  passed     boolean NOT NULL,
  tail       text NOT NULL DEFAULT '',
  at         timestamptz NOT NULL DEFAULT now(),
  voided_at  timestamptz
);
CREATE INDEX check_result_by_head ON check_result (task_id, head, id);

CREATE TABLE merge_attempt (
  id            uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT merge_attempt_pkey PRIMARY KEY,
  task_id       bigint NOT NULL CONSTRAINT merge_attempt_task_fkey REFERENCES task (id),
  state         text NOT NULL DEFAULT 'submitting',
  strategy      text NOT NULL,
  target        text NOT NULL,
  branch        text NOT NULL,
  old_tip       text,
  head          text NOT NULL,
  commit        text NOT NULL,
  actor         text NOT NULL,
  host          text NOT NULL,
  begun_at      timestamptz NOT NULL DEFAULT now(),
  lease_expires timestamptz NOT NULL,
  pushing_at    timestamptz,
  ended_at      timestamptz,
  reason        text NOT NULL DEFAULT '',
  CONSTRAINT merge_attempt_strategy CHECK (strategy IN ('ff', 'merge', 'squash')),
  CONSTRAINT merge_attempt_ended CHECK ((state = 'submitting') = (ended_at IS NULL))
);
CREATE UNIQUE INDEX merge_attempt_one ON merge_attempt (task_id) WHERE state = 'submitting';
CREATE INDEX merge_attempt_by_task ON merge_attempt (task_id, begun_at);

CREATE TABLE output (
  id         bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT output_pkey PRIMARY KEY,
  attempt_id uuid NOT NULL CONSTRAINT output_attempt_fkey REFERENCES attempt (id),
  kind       text NOT NULL,
  host       text NOT NULL,
  path       text NOT NULL,
  size       bigint NOT NULL,
  sha256     text NOT NULL,
  truncated  boolean NOT NULL DEFAULT false,
  tail       text NOT NULL DEFAULT '',
  saved_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT output_kind CHECK (kind IN ('log', 'diff', 'manifest')),
  CONSTRAINT output_once UNIQUE (attempt_id, kind)
);

-- ---------------------------------------------------------------- refusals that need a function
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = '23514', CONSTRAINT = 'append_only';
END $$;

CREATE FUNCTION refuse_identity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'what a row of % is about never changes', TG_TABLE_NAME
    USING ERRCODE = '23514', CONSTRAINT = 'noun_identity';
END $$;

CREATE FUNCTION keep_noun_edge() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  came_from text := '';
BEGIN
  IF TG_OP = 'UPDATE' THEN
    came_from := OLD.state;
    IF NEW.state = OLD.state
       AND EXISTS (SELECT FROM noun_edge WHERE noun = TG_ARGV[0] AND source = came_from) THEN
      RETURN NEW;
    END IF;
  END IF;
  IF NOT EXISTS (SELECT FROM noun_edge WHERE noun = TG_ARGV[0] AND source = came_from AND dest = NEW.state) THEN
    RAISE EXCEPTION '%: no edge % -> %', TG_ARGV[0], quote_literal(came_from), quote_literal(NEW.state)
      USING ERRCODE = '23514', CONSTRAINT = 'noun_edge';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION lock_task_of_owed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM FROM task WHERE id = NEW.task_id FOR UPDATE;
  RETURN NEW;
END $$;

CREATE FUNCTION count_owed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  change int := (NEW.state = 'open')::int;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    change := change - (OLD.state = 'open')::int;
  END IF;
  IF change = 0 THEN
    RETURN NULL;
  ELSIF TG_ARGV[0] = 'finding' THEN
    UPDATE task SET owed_findings = owed_findings + change WHERE id = NEW.task_id;
  ELSE
    UPDATE task SET owed_pauses = owed_pauses + change WHERE id = NEW.task_id;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION guard_new_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.seq <> 1 OR NEW.lease_epoch <> 0 THEN
    RAISE EXCEPTION 'a task begins at its first line' USING ERRCODE = '23514', CONSTRAINT = 'task_seq';
  END IF;
  IF (NEW.owed_findings, NEW.owed_pauses) <> (0, 0) THEN
    RAISE EXCEPTION 'owed counters are kept by triggers' USING ERRCODE = '23514', CONSTRAINT = 'task_owed_by_trigger';
  END IF;
  PERFORM pg_notify('weighlock_queued', NEW.id::text);
  RETURN NEW;
END $$;

-- The hints for workers that wait are given here: a trigger of their own would cost every statement 12 microseconds to
-- read its condition. None is given between a claim and a submission, for a notification takes a lock of the server.
CREATE FUNCTION guard_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.owed_findings, NEW.owed_pauses) IS DISTINCT FROM (OLD.owed_findings, OLD.owed_pauses)
     AND pg_trigger_depth() < 2 THEN
    RAISE EXCEPTION 'owed counters are kept by triggers' USING ERRCODE = '23514', CONSTRAINT = 'task_owed_by_trigger';
  END IF;
  IF NEW.id <> OLD.id OR NEW.repository_id <> OLD.repository_id
     OR NOT (NEW.seq = OLD.seq + 1 OR (NEW.seq = OLD.seq AND NEW.state = OLD.state)) THEN
    RAISE EXCEPTION 'seq moves by one with a line, or not at all' USING ERRCODE = '23514', CONSTRAINT = 'task_seq';
  END IF;
  IF NEW.lease_epoch <> OLD.lease_epoch
     AND NOT (NEW.lease_epoch = OLD.lease_epoch + 1 AND NEW.state = 'running' AND NEW.seq = OLD.seq + 1) THEN
    RAISE EXCEPTION 'the epoch rises at claim and take_over only' USING ERRCODE = '23514', CONSTRAINT = 'task_epoch';
  END IF;
  IF NEW.state = 'queued' AND OLD.state <> 'queued' THEN
    PERFORM pg_notify('weighlock_queued', NEW.id::text);
  ELSIF NEW.state = 'running' AND ((NEW.stop_reason IS NOT NULL AND OLD.stop_reason IS NULL)
                                OR (NEW.cancel_requested AND NOT OLD.cancel_requested)) THEN
    PERFORM pg_notify('weighlock_stop', NEW.id::text);
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION keep_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  bad record;
BEGIN
  SELECT line.task_id, line.seq INTO bad
  FROM line LEFT JOIN task ON task.id = line.task_id AND task.seq >= line.seq
  WHERE task.id IS NULL LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'line % of task % moves no task', bad.seq, bad.task_id
      USING ERRCODE = '23514', CONSTRAINT = 'task_event_moves';
  END IF;
  -- Roles are optional: without them the single user of the server holds every one of them.
  IF to_regrole('weighlock_worker') IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT line.event INTO bad
  FROM line JOIN task_edge edge USING (event, source, dest)
  WHERE NOT EXISTS (
    SELECT FROM unnest(edge.who) AS word
    WHERE to_regrole('weighlock_' || word) IS NOT NULL AND pg_has_role('weighlock_' || word, 'member'))
  LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% may not write %', current_user, bad.event
      USING ERRCODE = '42501', CONSTRAINT = 'task_event_who';
  END IF;
  RETURN NULL;
END $$;

-- ---------------------------------------------------------------- triggers
CREATE TRIGGER task_begin BEFORE INSERT ON task FOR EACH ROW EXECUTE FUNCTION guard_new_task();
CREATE TRIGGER task_guard BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION guard_task();
CREATE TRIGGER task_kept BEFORE DELETE ON task FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER task_kept_whole BEFORE TRUNCATE ON task FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER task_event_kept BEFORE UPDATE OR DELETE ON task_event FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER task_event_kept_whole BEFORE TRUNCATE ON task_event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER task_event_moves AFTER INSERT ON task_event REFERENCING NEW TABLE AS line
  FOR EACH STATEMENT EXECUTE FUNCTION keep_event();

CREATE TRIGGER a_finding_lock BEFORE INSERT OR UPDATE ON finding FOR EACH ROW EXECUTE FUNCTION lock_task_of_owed();
CREATE TRIGGER a_pause_lock BEFORE INSERT OR UPDATE ON pause FOR EACH ROW EXECUTE FUNCTION lock_task_of_owed();
CREATE TRIGGER finding_count AFTER INSERT OR UPDATE OF state ON finding
  FOR EACH ROW EXECUTE FUNCTION count_owed('finding');
CREATE TRIGGER pause_count AFTER INSERT OR UPDATE OF state ON pause
  FOR EACH ROW EXECUTE FUNCTION count_owed('pause');

CREATE TRIGGER finding_edge BEFORE INSERT OR UPDATE ON finding FOR EACH ROW EXECUTE FUNCTION keep_noun_edge('finding');
CREATE TRIGGER pause_edge BEFORE INSERT OR UPDATE ON pause FOR EACH ROW EXECUTE FUNCTION keep_noun_edge('pause');
CREATE TRIGGER gate_edge BEFORE INSERT OR UPDATE ON gate FOR EACH ROW EXECUTE FUNCTION keep_noun_edge('gate');
CREATE TRIGGER attempt_edge BEFORE INSERT OR UPDATE ON attempt FOR EACH ROW EXECUTE FUNCTION keep_noun_edge('attempt');
CREATE TRIGGER allocation_edge BEFORE INSERT OR UPDATE ON allocation
  FOR EACH ROW EXECUTE FUNCTION keep_noun_edge('allocation');
CREATE TRIGGER merge_attempt_edge BEFORE INSERT OR UPDATE ON merge_attempt
  FOR EACH ROW EXECUTE FUNCTION keep_noun_edge('merge');
CREATE TRIGGER commit_ledger_edge BEFORE INSERT OR UPDATE ON commit_ledger
  FOR EACH ROW EXECUTE FUNCTION keep_noun_edge('ledger');
CREATE TRIGGER worker_edge BEFORE INSERT OR UPDATE ON worker FOR EACH ROW EXECUTE FUNCTION keep_noun_edge('worker');

CREATE TRIGGER finding_identity BEFORE UPDATE OF
  id, task_id, attempt_id, item_id, kind, summary, evidence, fingerprint, late, recorded_by, recorded_at
  ON finding FOR EACH ROW EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER pause_identity BEFORE UPDATE OF
  id, task_id, attempt_id, revision, item_id, head, tree, done, out_of_scope, opened_at
  ON pause FOR EACH ROW EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER gate_identity BEFORE UPDATE OF id, task_id, kind, head, opened_at
  ON gate FOR EACH ROW EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER attempt_identity BEFORE UPDATE OF
  id, task_id, number, kind, item_id, revision, context, policy_version, base, executor, admitted_at
  ON attempt FOR EACH ROW EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER allocation_identity BEFORE UPDATE OF id, task_id, host, executor, executor_target, materialised_by, reserved_at
  ON allocation FOR EACH ROW EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER merge_attempt_identity BEFORE UPDATE OF
  id, task_id, strategy, target, branch, old_tip, head, commit, actor, begun_at
  ON merge_attempt FOR EACH ROW EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER commit_ledger_identity BEFORE UPDATE OF
  id, task_id, item_id, revision, attempt_id, outcome, parent, commit, recorded_at
  ON commit_ledger FOR EACH ROW EXECUTE FUNCTION refuse_identity();

CREATE TRIGGER approval_frozen BEFORE UPDATE ON approval FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER plan_revision_frozen BEFORE UPDATE ON plan_revision FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER plan_item_frozen BEFORE UPDATE ON plan_item FOR EACH ROW EXECUTE FUNCTION refuse_change();

DO $$
DECLARE
  kept text;
BEGIN
  FOREACH kept IN ARRAY ARRAY['plan_revision', 'plan_item', 'finding', 'pause', 'gate', 'approval', 'attempt',
                              'allocation', 'commit_ledger', 'check_result', 'merge_attempt'] LOOP
    EXECUTE format('CREATE TRIGGER %1$s_kept BEFORE DELETE ON %1$I FOR EACH ROW EXECUTE FUNCTION refuse_change()', kept);
    EXECUTE format('CREATE TRIGGER %1$s_kept_whole BEFORE TRUNCATE ON %1$I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', kept);
  END LOOP;
END $$;

-- ---------------------------------------------------------------- seeds
INSERT INTO task_edge (event, source, dest, who) VALUES
  ('add',                  '',                'queued',          '{author}'),
  ('claim',                'queued',          'running',         '{worker}'),
  ('take_over',            'running',         'running',         '{recovery}'),
  ('settle',               'running',         'running',         '{worker}'),
  ('release',              'running',         'queued',          '{worker}'),
  ('requeue',              'running',         'queued',          '{recovery}'),
  ('await_approval',       'running',         'needs_approval',  '{worker}'),
  ('suspect_fixed',        'running',         'possibly_fixed',  '{worker}'),
  ('pause',                'running',         'needs_amendment', '{worker,recovery}'),
  ('raise_finding',        'queued',          'needs_human',     '{worker,recovery,reviewer}'),
  ('raise_finding',        'running',         'needs_human',     '{worker,recovery,reviewer}'),
  ('raise_finding',        'in_review',       'needs_human',     '{worker,recovery,reviewer}'),
  ('raise_finding',        'approved',        'needs_human',     '{worker,recovery,reviewer}'),
  ('raise_finding',        'merge_blocked',   'needs_human',     '{worker,recovery,reviewer}'),
  ('raise_finding',        'needs_human',     'needs_human',     '{worker,recovery,reviewer}'),
  ('raise_finding',        'needs_amendment', 'needs_human',     '{worker,recovery,reviewer}'),
  ('raise_finding',        'needs_approval',  'needs_human',     '{worker,recovery,reviewer}'),
  ('raise_finding',        'possibly_fixed',  'needs_human',     '{worker,recovery,reviewer}'),
  ('hit_limit',            'queued',          'needs_human',     '{worker,recovery}'),
  ('hit_limit',            'running',         'needs_human',     '{worker,recovery}'),
  ('halt',                 'running',         'needs_human',     '{worker,recovery}'),
  ('give_up',              'running',         'needs_human',     '{worker,recovery}'),
  ('submit',               'running',         'in_review',       '{worker}'),
  ('approve_start',        'needs_approval',  'queued',          '{reviewer}'),
  ('continue_anyway',      'possibly_fixed',  'queued',          '{reviewer}'),
  ('approve_continuation', 'needs_amendment', 'queued',          '{reviewer}'),
  ('discard_item',         'needs_amendment', 'queued',          '{reviewer}'),
  ('discard_item',         'needs_human',     'queued',          '{reviewer}'),
  ('retry',                'needs_human',     'queued',          '{reviewer}'),
  ('resume_pause',         'needs_human',     'needs_amendment', '{reviewer}'),
  ('accept_result',        'needs_human',     'in_review',       '{reviewer}'),
  ('approve',              'in_review',       'approved',        '{reviewer}'),
  ('request_changes',      'in_review',       'queued',          '{reviewer}'),
  ('request_changes',      'approved',        'queued',          '{reviewer}'),
  ('request_changes',      'merge_blocked',   'queued',          '{reviewer}'),
  ('request_changes',      'needs_human',     'queued',          '{reviewer}'),
  ('amend',                'queued',          'queued',          '{author,reviewer}'),
  ('amend',                'in_review',       'queued',          '{author,reviewer}'),
  ('amend',                'approved',        'queued',          '{author,reviewer}'),
  ('amend',                'merge_blocked',   'queued',          '{author,reviewer}'),
  ('recheck',              'in_review',       'queued',          '{reviewer}'),
  ('recheck',              'approved',        'queued',          '{reviewer}'),
  ('recheck',              'merge_blocked',   'queued',          '{reviewer}'),
  ('lapse_approval',       'approved',        'in_review',       '{reviewer,merge}'),
  ('lapse_approval',       'merge_blocked',   'in_review',       '{reviewer,merge}'),
  ('begin_merge',          'approved',        'merging',         '{merge}'),
  ('begin_merge',          'merge_blocked',   'merging',         '{merge}'),
  ('confirm_merge',        'merging',         'merged',          '{merge,recovery}'),
  ('confirm_merge',        'approved',        'merged',          '{merge,recovery}'),
  ('confirm_merge',        'merge_blocked',   'merged',          '{merge,recovery}'),
  ('fail_merge',           'merging',         'merge_blocked',   '{merge,recovery}'),
  ('fail_merge',           'merging',         'needs_human',     '{merge,recovery}'),
  ('cancel',               'queued',          'cancelled',       '{author,reviewer,worker,recovery}'),
  ('cancel',               'running',         'cancelled',       '{author,reviewer,worker,recovery}'),
  ('cancel',               'in_review',       'cancelled',       '{author,reviewer,worker,recovery}'),
  ('cancel',               'approved',        'cancelled',       '{author,reviewer,worker,recovery}'),
  ('cancel',               'merge_blocked',   'cancelled',       '{author,reviewer,worker,recovery}'),
  ('cancel',               'needs_human',     'cancelled',       '{author,reviewer,worker,recovery}'),
  ('cancel',               'needs_amendment', 'cancelled',       '{author,reviewer,worker,recovery}'),
  ('cancel',               'needs_approval',  'cancelled',       '{author,reviewer,worker,recovery}'),
  ('cancel',               'possibly_fixed',  'cancelled',       '{author,reviewer,worker,recovery}');

INSERT INTO noun_edge (noun, source, dest) VALUES
  ('attempt', '', 'pending'),
  ('attempt', 'pending', 'running'),
  ('attempt', 'pending', 'failed'),
  ('attempt', 'pending', 'cancelled'),
  ('attempt', 'pending', 'stale'),
  ('attempt', 'pending', 'stopped'),
  ('attempt', 'pending', 'interrupted'),
  ('attempt', 'running', 'completed'),
  ('attempt', 'running', 'failed'),
  ('attempt', 'running', 'cancelled'),
  ('attempt', 'running', 'stale'),
  ('attempt', 'running', 'stopped'),
  ('attempt', 'running', 'interrupted'),
  ('finding', '', 'open'),
  ('finding', 'open', 'accepted'),
  ('finding', 'open', 'dismissed'),
  ('pause', '', 'open'),
  ('pause', 'open', 'continued'),
  ('pause', 'open', 'discarded'),
  ('pause', 'open', 'withdrawn'),
  ('gate', '', 'open'),
  ('gate', 'open', 'approved'),
  ('gate', 'open', 'rejected'),
  ('gate', 'open', 'superseded'),
  ('gate', 'open', 'withdrawn'),
  ('allocation', '', 'reserved'),
  ('allocation', 'reserved', 'ready'),
  ('allocation', 'reserved', 'failed'),
  ('allocation', 'reserved', 'quarantined'),
  ('allocation', 'ready', 'retired'),
  ('allocation', 'ready', 'quarantined'),
  ('allocation', 'ready', 'released'),
  ('allocation', 'retired', 'released'),
  ('allocation', 'quarantined', 'released'),
  ('allocation', 'failed', 'released'),
  ('merge', '', 'submitting'),
  ('merge', 'submitting', 'merged'),
  ('merge', 'submitting', 'failed'),
  ('ledger', '', 'live'),
  ('ledger', 'live', 'discarded'),
  ('worker', '', 'active'),
  ('worker', 'active', 'draining'),
  ('worker', 'active', 'gone'),
  ('worker', 'draining', 'gone');

-- The vocabulary is part of the schema: a later migration may change it, a statement may not.
CREATE TRIGGER task_edge_kept BEFORE INSERT OR UPDATE OR DELETE ON task_edge
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER noun_edge_kept BEFORE INSERT OR UPDATE OR DELETE ON noun_edge
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
