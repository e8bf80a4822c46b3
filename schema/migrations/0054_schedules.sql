-- Schedules of the service: when which branch is measured, and the nights that they started.

-- cron, zone: core/schedule. branch NULL: the project's. next_at NULL: disabled, or it could not be computed (trouble says
-- why; tried again after planned_at + 10 minutes). last_at: the newest due time that was worked on.
CREATE TABLE schedules (
    project_id  bigint NOT NULL REFERENCES projects (id),
    id          bigint GENERATED ALWAYS AS IDENTITY,
    name        text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    cron        text NOT NULL,
    zone        text NOT NULL,
    branch      text,
    suite       text,
    backends    text[] NOT NULL DEFAULT '{}',
    labels      jsonb NOT NULL DEFAULT '{}',
    max_commits int NOT NULL CHECK (max_commits BETWEEN 1 AND 254),
    budget_s    float8 NOT NULL CHECK (budget_s BETWEEN 1 AND 86400),
    enabled     boolean NOT NULL DEFAULT true,
    next_at     timestamptz,
    last_at     timestamptz,
    planned_at  timestamptz NOT NULL DEFAULT now(),
    trouble     text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, name)
);
CREATE INDEX schedules_due ON schedules (next_at) WHERE enabled;

-- state nothing: the branch had no new commit. skipped: an earlier night was running. due_at: when it was due; NULL: a
-- person started it. job_id: measures it; NULL: none. left_out: new commits beyond the schedule's limit.
CREATE TABLE nights (
    project_id  bigint NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    schedule_id bigint NOT NULL,
    due_at      timestamptz,
    actor       text NOT NULL,
    state       text NOT NULL CHECK (state IN ('running', 'done', 'failed', 'skipped', 'nothing')),
    reason      text NOT NULL DEFAULT '',
    job_id      bigint,
    head        text CHECK (head ~ '^[0-9a-f]{40}$'),
    base        text CHECK (base ~ '^[0-9a-f]{40}$'),
    commits     int NOT NULL DEFAULT 0,
    left_out    int NOT NULL DEFAULT 0,
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, schedule_id) REFERENCES schedules (project_id, id) ON DELETE CASCADE
);
CREATE INDEX nights_of_schedule ON nights (project_id, schedule_id, id);
CREATE INDEX nights_running ON nights (project_id, job_id) WHERE state = 'running';

-- A push of a branch tells its new head.
ALTER TABLE webhook_deliveries ADD COLUMN branch text;

-- A role of the server changes these tables, and removes schedules with their nights.
DO $$
DECLARE
    old     text := pg_get_functiondef('server_rights(text)'::regprocedure);
    changed text := '''{forge_links,webhook_deliveries,pulls,';
    deleted text := '''{forge_links,webhook_deliveries,browser_sessions';
BEGIN
    IF strpos(old, changed) = 0 OR strpos(old, deleted) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0052';
    END IF;
    old := replace(old, changed, '''{schedules,nights,forge_links,webhook_deliveries,pulls,');
    EXECUTE replace(old, deleted, '''{schedules,nights,forge_links,webhook_deliveries,browser_sessions');
END $$;
