-- Kinds of alert beside step and drift: a benchmark that is broken since a commit, and a change that
-- came with another compiler or another harness. A broken benchmark has no values: before, after and what is
-- derived from them are NaN there, and `reason` says what is wrong.
ALTER TABLE change_points DROP CONSTRAINT change_points_kind_check,
    ADD CONSTRAINT change_points_kind_check CHECK (kind IN ('step', 'drift', 'broken', 'toolchain', 'harness')),
    ADD COLUMN reason text;
CREATE INDEX unmeasured_broken ON unmeasured (project_id, benchmark, backend) WHERE broken;
