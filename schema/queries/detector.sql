-- name: detector_get
-- The newest version; no row when there is none.
-- in: project_id i64
-- out: version i64, document json, actor text, created_at f64
-- plan: generic
SELECT version, document::text AS document, actor, extract(epoch FROM created_at)::float8 AS created_at
FROM detector_configs WHERE project_id = $1::bigint ORDER BY version DESC LIMIT 1;

-- name: detector_lock
-- Serialises new versions.
-- in: project_id i64
-- out: id i64
SELECT id FROM projects WHERE id = $1::bigint FOR NO KEY UPDATE;

-- name: detector_put
-- in: project_id i64, document json, actor text
-- value: version i64
INSERT INTO detector_configs (project_id, version, document, actor)
SELECT $1::bigint, 1 + coalesce(max(version), 0), $2::jsonb, $3 FROM detector_configs
WHERE project_id = $1::bigint
RETURNING version;

-- name: detector_branches
-- The branches that have series.
-- in: project_id i64
-- out: branch text
SELECT DISTINCT branch FROM series WHERE project_id = $1::bigint ORDER BY branch;
