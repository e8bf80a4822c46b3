-- name: notice_put
-- $1 project_id, $2 kind, $3 alert_id, $4 sha, $5 text; the same is said once
INSERT INTO notices (project_id, kind, alert_id, sha, text)
VALUES ($1::bigint, $2, $3::bigint, $4, $5)
ON CONFLICT (project_id, alert_id, kind, sha) DO NOTHING;

-- name: notices_open
-- $1 project_id, $2 cursor, $3 limit; NULL: any  -> the oldest first
SELECT n.id, p.name AS project, n.kind, n.alert_id, n.sha AS commit, c.subject, c.author, n.text,
       extract(epoch FROM n.created_at)::float8 AS created_at
FROM notices n JOIN projects p ON p.id = n.project_id
LEFT JOIN commits c ON c.project_id = n.project_id AND c.sha = n.sha
WHERE n.done_at IS NULL AND ($1::bigint IS NULL OR n.project_id = $1)
  AND ($2::bigint IS NULL OR n.id > $2)
ORDER BY n.id LIMIT $3::int;

-- name: notice_project
-- $1 id
SELECT project_id FROM notices WHERE id = $1::bigint;

-- name: notice_done
-- $1 id, $2 actor; done is done
UPDATE notices SET done_at = now(), done_by = $2 WHERE id = $1::bigint AND done_at IS NULL;
