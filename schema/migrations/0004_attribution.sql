-- Bisections that the service runs itself, on its runners: the request, the range, and every step
-- before and after its measurement. A row with mode `report` was posted by a local `perfci bisect`.

ALTER TABLE bisections ALTER COLUMN verdict DROP NOT NULL,
    ADD COLUMN mode text NOT NULL DEFAULT 'report' CHECK (mode IN ('report', 'remote')),
    ADD COLUMN state text NOT NULL DEFAULT 'done'
        CHECK (state IN ('running', 'done', 'cancelled')),
    ADD COLUMN reason text NOT NULL DEFAULT '',
    ADD COLUMN branch text,
    ADD COLUMN machine_class text,
    ADD COLUMN higher_is_better boolean,
    ADD COLUMN exact boolean NOT NULL DEFAULT false,
    ADD COLUMN options jsonb NOT NULL DEFAULT '{}',
    -- The commits searched, the good commit first, with the planner's prior and posterior for each.
    ADD COLUMN line text[] NOT NULL DEFAULT '{}',
    ADD COLUMN prior float8[],
    ADD COLUMN posterior float8[],
    ADD COLUMN expected_runs float8,
    ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN finished_at timestamptz,
    ADD CHECK (verdict IS NOT NULL OR state <> 'done');
CREATE INDEX bisections_running ON bisections (id) WHERE state = 'running';

-- The measurements that a bisection requested or took from storage, in the planner's order. `place` is
-- an index into the commits. A step and its job are inserted in one transaction: no crash requests twice.
CREATE TABLE bisection_steps (
    project_id   bigint NOT NULL,
    bisection_id bigint NOT NULL,
    n            int NOT NULL,
    place        int NOT NULL,
    layout       int NOT NULL DEFAULT 0,
    state        text NOT NULL CHECK (state IN ('asked', 'measured', 'broken', 'failed', 'timed_out')),
    job_id       bigint, -- NULL: the run was stored before
    run_id       bigint,
    value        float8,
    reason       text NOT NULL DEFAULT '',
    asked_at     timestamptz NOT NULL DEFAULT now(),
    ended_at     timestamptz,
    PRIMARY KEY (project_id, bisection_id, n),
    FOREIGN KEY (project_id, bisection_id) REFERENCES bisections (project_id, id),
    CHECK ((state = 'measured') = (value IS NOT NULL))
);

-- Details of a job: {"layout", "benchmark", "backend", "metric", "launches"}.
-- avoid_runner: the runner that measured before, so that another machine confirms; for a limited time.
ALTER TABLE jobs ADD COLUMN task jsonb NOT NULL DEFAULT '{}', ADD COLUMN avoid_runner text;
