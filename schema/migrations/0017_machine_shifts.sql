-- A machine that became slower in most of what it measures, at one place of the history: one event
-- instead of a regression for every series. Numbered with the events of moved canaries, since both are
-- listed together. Commits are as of the first finding; the loss is relative, 0.06 is 6 % slower.
CREATE TABLE machine_shifts (
    project_id        bigint NOT NULL REFERENCES projects (id),
    id                bigint NOT NULL DEFAULT nextval('environment_events_id_seq'),
    branch            text NOT NULL,
    machine_id        bigint NOT NULL REFERENCES machines (id), -- as it is at the new level
    machine_before_id bigint NOT NULL REFERENCES machines (id), -- ... and was at the old one
    whole_class       boolean NOT NULL, -- every machine of the class moved
    first_run_id      bigint NOT NULL,  -- the first measured at the new level
    last_run_id       bigint NOT NULL,  -- the newest at the old one
    commit_id         bigint NOT NULL,
    commit_low_id     bigint NOT NULL,
    commit_high_id    bigint NOT NULL,
    loss              float8 NOT NULL,
    loss_low          float8 NOT NULL,
    loss_high         float8 NOT NULL,
    series            bigint NOT NULL, -- regressions that it explains
    moved             bigint NOT NULL, -- series of the machine that moved, of those judged
    judged            bigint NOT NULL,
    reasons           text[] NOT NULL,
    cause             text NOT NULL DEFAULT '', -- what of the machine changed there; '': nothing known
    opened_at         timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now(),
    closed_at         timestamptz,
    dismissed_at      timestamptz, -- a person said that it is no machine's
    dismissed_by      text,
    dismissed_reason  text NOT NULL DEFAULT '',
    PRIMARY KEY (project_id, id)
);
CREATE INDEX machine_shifts_of_machine ON machine_shifts (project_id, machine_id);

-- The event that explains an alert; its state says what became of it.
ALTER TABLE alerts ADD COLUMN event_id bigint;
CREATE INDEX alerts_of_event ON alerts (project_id, event_id) WHERE event_id IS NOT NULL;
