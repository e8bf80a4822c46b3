-- How a project wants its series judged, and how far a series' history is settled.

-- The newest version holds; the older ones say what held when.
CREATE TABLE detector_configs (
    project_id bigint NOT NULL REFERENCES projects (id),
    version    bigint NOT NULL,
    document   jsonb NOT NULL,
    actor      text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, version)
);

-- Enough of a change to open an alert: settled, or clear with the points there are.
ALTER TABLE change_points ADD COLUMN firm boolean NOT NULL DEFAULT false;
UPDATE change_points SET firm = confirmed;

-- The first settled_points points are judged for good, from what lay up to settled_position;
-- detection starts at point anchor_points, the first at anchor_position. 0: nothing is settled.
-- watching: newest points that may be a new level; detectable_rel: smallest step that is likely to
-- be confirmed by five points; judged: false when the configuration leaves it out.
ALTER TABLE series ADD COLUMN settled_points bigint NOT NULL DEFAULT 0,
                   ADD COLUMN settled_position bigint NOT NULL DEFAULT 0,
                   ADD COLUMN anchor_points bigint NOT NULL DEFAULT 0,
                   ADD COLUMN anchor_position bigint NOT NULL DEFAULT 0,
                   ADD COLUMN watching bigint NOT NULL DEFAULT 0,
                   ADD COLUMN detectable_rel float8,
                   ADD COLUMN judged boolean NOT NULL DEFAULT true;
