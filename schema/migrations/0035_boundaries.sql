-- The change of toolchain or harness at a step, when that change and no commit is the most probable cause.
-- A culprit that new interleaved pairs confirmed, or that a user named, takes precedence.
ALTER TABLE alerts
    ADD COLUMN boundary_kind text CHECK (boundary_kind IN ('toolchain', 'harness')),
    ADD COLUMN boundary jsonb, -- [{"name", "before", "now"}]
    ADD COLUMN boundary_due boolean NOT NULL DEFAULT false; -- to be asked (again) since it was grouped
CREATE INDEX alerts_boundary_due ON alerts (project_id, id) WHERE boundary_due;

ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check
    CHECK (kind IN ('culprit_confirmed', 'toolchain', 'harness'));
