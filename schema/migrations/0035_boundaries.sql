-- What changed of toolchain or harness where a step lies, when that and no commit is its most probable cause.
-- A culprit that fresh pairs have confirmed, or a person has named, says otherwise and counts more.
ALTER TABLE alerts
    ADD COLUMN boundary_kind text CHECK (boundary_kind IN ('toolchain', 'harness')),
    ADD COLUMN boundary jsonb, -- [{"name", "before", "now"}]
    ADD COLUMN boundary_due boolean NOT NULL DEFAULT false; -- to be asked (again) since it was grouped
CREATE INDEX alerts_boundary_due ON alerts (project_id, id) WHERE boundary_due;

ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check
    CHECK (kind IN ('culprit_confirmed', 'toolchain', 'harness'));
