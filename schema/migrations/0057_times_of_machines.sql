-- When a machine measured, per project: the time of an upload says nothing about that. Migration 0022 dropped an index of
-- machines alone, which only counted runs.
CREATE INDEX runs_by_machine ON runs (machine_id, project_id, started_at);
