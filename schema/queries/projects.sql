-- name: projects_list
-- $1 project_id or NULL, $2 name or NULL, $3 cursor or NULL, $4 limit
SELECT p.id, p.name, p.branch, p.repo_url,
       (SELECT coalesce(sum(t.n), 0)::bigint FROM tallies t
        WHERE t.project_id = p.id AND t.what = 'commits') AS commits,
       (SELECT coalesce(sum(t.n), 0)::bigint FROM tallies t
        WHERE t.project_id = p.id AND t.what = 'runs') AS runs,
       (SELECT count(*) FROM alerts a WHERE a.project_id = p.id
        AND a.state IN ('untriaged', 'acknowledged', 'investigating')) AS alerts_open,
       (SELECT extract(epoch FROM r.received_at)::float8 FROM runs r WHERE r.project_id = p.id
        ORDER BY r.id DESC LIMIT 1) AS last_run_at,
       extract(epoch FROM p.created_at)::float8 AS created_at
FROM projects p
WHERE ($1::bigint IS NULL OR p.id = $1) AND ($2::text IS NULL OR p.name = $2)
  AND ($3::bigint IS NULL OR p.id > $3)
ORDER BY p.id LIMIT $4::int;

-- name: project_insert
-- $1 name, $2 branch, $3 repo_url  -> id, when it is new
INSERT INTO projects (name, branch, repo_url) VALUES ($1, coalesce($2, 'main'), $3)
ON CONFLICT (name) DO NOTHING RETURNING id;

-- name: project_id
-- $1 name  -> id
SELECT id FROM projects WHERE name = $1;

-- name: project_branch
-- $1 project_id  -> name, branch
SELECT name, branch FROM projects WHERE id = $1::bigint;

-- name: project_lock
-- $1 name  -> id, leased jobs of runners, leased jobs of the server itself
SELECT p.id,
       (SELECT count(*) FROM jobs j WHERE j.project_id = p.id AND j.state = 'leased'
        AND j.kind NOT IN ('detect', 'notify')) AS leased,
       (SELECT count(*) FROM jobs j WHERE j.project_id = p.id AND j.state = 'leased'
        AND j.kind IN ('detect', 'notify')) AS own
FROM projects p WHERE p.name = $1 FOR UPDATE;

-- name: project_cancel_jobs
-- $1 project_id
UPDATE jobs SET state = 'cancelled', finished_at = now(), reason = 'the project is deleted'
WHERE project_id = $1::bigint AND state = 'queued';

-- name: project_retire
-- $1 project_id, $2 name: frees its old name
UPDATE projects SET name = $2 WHERE id = $1::bigint;

-- name: project_clear
-- $1 project_id, $2 rows at most  -> rows removed; 0: the project is gone
SELECT project_clear($1::bigint, $2::int) AS removed;
