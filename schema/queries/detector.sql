-- name: detector_get
-- $1 project_id  -> version, document, actor, created_at of the newest, when there is one
SELECT version, document::text AS document, actor, extract(epoch FROM created_at)::float8 AS created_at
FROM detector_configs WHERE project_id = $1::bigint ORDER BY version DESC LIMIT 1;

-- name: detector_lock
-- $1 project_id: one new version at a time
SELECT id FROM projects WHERE id = $1::bigint FOR NO KEY UPDATE;

-- name: detector_put
-- $1 project_id, $2 document, $3 actor  -> version
INSERT INTO detector_configs (project_id, version, document, actor)
SELECT $1::bigint, 1 + coalesce(max(version), 0), $2::jsonb, $3 FROM detector_configs
WHERE project_id = $1::bigint
RETURNING version;

-- name: detector_branches
-- $1 project_id  -> branches that have series
SELECT DISTINCT branch FROM series WHERE project_id = $1::bigint ORDER BY branch;
