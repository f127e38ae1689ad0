-- The same columns in a schema of their own: no foreign key, no check, no trigger, no computed column, and of the
-- indexes only what a statement of the script looks something up by.
CREATE SCHEMA bare;
GRANT USAGE ON SCHEMA bare TO weighlock_app;

CREATE TABLE bare.task (LIKE public.task INCLUDING DEFAULTS INCLUDING IDENTITY);
ALTER TABLE bare.task ADD PRIMARY KEY (id);
CREATE INDEX ON bare.task (priority DESC, available_at, id) WHERE state = 'queued';

CREATE TABLE bare.task_event (LIKE public.task_event INCLUDING DEFAULTS);
ALTER TABLE bare.task_event ADD PRIMARY KEY (task_id, seq);

CREATE TABLE bare.repository AS SELECT * FROM public.repository;
ALTER TABLE bare.repository ADD PRIMARY KEY (id);

CREATE TABLE bare.plan_revision (LIKE public.plan_revision INCLUDING DEFAULTS);
CREATE TABLE bare.plan_item (LIKE public.plan_item INCLUDING DEFAULTS);

CREATE TABLE bare.attempt (LIKE public.attempt INCLUDING DEFAULTS);
ALTER TABLE bare.attempt ADD PRIMARY KEY (id);
CREATE UNIQUE INDEX ON bare.attempt (task_id, number);

CREATE TABLE bare.allocation (LIKE public.allocation INCLUDING DEFAULTS);
ALTER TABLE bare.allocation ADD PRIMARY KEY (id);

CREATE TABLE bare.commit_ledger (LIKE public.commit_ledger INCLUDING DEFAULTS INCLUDING IDENTITY);
ALTER TABLE bare.commit_ledger ADD PRIMARY KEY (id);

CREATE TABLE bare.output (LIKE public.output INCLUDING DEFAULTS INCLUDING IDENTITY);
ALTER TABLE bare.output ADD PRIMARY KEY (id);
CREATE UNIQUE INDEX ON bare.output (attempt_id, kind);

CREATE TABLE bare.gate (LIKE public.gate INCLUDING DEFAULTS);
ALTER TABLE bare.gate ADD PRIMARY KEY (id);

GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA bare TO weighlock_app;
