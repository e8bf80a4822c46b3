-- A drift is many small losses, none of which is a step: its range of commits is the time it took.
ALTER TABLE change_points ADD COLUMN kind text NOT NULL DEFAULT 'step'
    CHECK (kind IN ('step', 'drift'));
CREATE INDEX change_points_drift ON change_points (project_id, series_id) WHERE kind = 'drift';
