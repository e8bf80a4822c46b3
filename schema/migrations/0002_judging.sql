-- Results of the detector beside the change itself: whether the level came back, which alerts share a
-- cause, that a level was accepted, and that the machine, not the code, changed.

-- The first commit after which the level was back where it had been; NULL: it was not.
ALTER TABLE change_points ADD COLUMN undone_commit_id bigint;

-- Alerts of one group may have one commit as their cause. The summary is as of the last grouping;
-- `regroup` asks for the next.
CREATE SEQUENCE alert_group_ids;
ALTER TABLE alerts ADD COLUMN group_id bigint,
                   ADD COLUMN group_series int NOT NULL DEFAULT 1,
                   ADD COLUMN group_measured int NOT NULL DEFAULT 1,
                   ADD COLUMN group_summary text NOT NULL DEFAULT '',
                   ADD COLUMN regroup boolean NOT NULL DEFAULT true,
                   ADD COLUMN accepted_at timestamptz;
CREATE INDEX alerts_to_group ON alerts (project_id, series_id) WHERE regroup;

-- From the first run of a machine whose canary had moved to the last one before it stood still again.
CREATE TABLE environment_events (
    project_id   bigint NOT NULL REFERENCES projects (id),
    id           bigint GENERATED ALWAYS AS IDENTITY,
    machine_id   bigint NOT NULL REFERENCES machines (id),
    first_run_id bigint NOT NULL,
    last_run_id  bigint NOT NULL,
    runs         bigint NOT NULL DEFAULT 1,
    opened_at    timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    closed_at    timestamptz,
    PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX environment_events_open ON environment_events (project_id, machine_id)
    WHERE closed_at IS NULL;
