-- name: lease_token_insert
-- in: hash text, project_id i64, job_id i64, fence i64, token_id i64, runner text
INSERT INTO lease_tokens (hash, project_id, job_id, fence, token_id, runner)
VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6);

-- name: lease_token_find
-- No row: unknown, older than `seconds`, or the runner's token was revoked. valid_s: seconds until it expires.
-- in: hash text, seconds f64
-- out: hash text, project_id i64, job_id i64, fence i64, token_id i64, runner text, valid_s f64
SELECT l.hash, l.project_id, l.job_id, l.fence, l.token_id, l.runner,
       ($2::float8 - extract(epoch FROM now() - l.issued_at))::float8 AS valid_s
FROM lease_tokens l JOIN tokens t ON t.id = l.token_id
WHERE l.hash = $1 AND t.revoked_at IS NULL AND l.issued_at > now() - make_interval(secs => $2::float8);

-- name: lease_covers
-- Whether all `commits` are the job's, and `branch` (NULL: the project's default) is its branch.
-- in: project_id i64, job_id i64, commits text[], branch text?, any_branch bool
-- value: covers bool
SELECT EXISTS (
    SELECT 1 FROM jobs j JOIN projects p ON p.id = j.project_id
    WHERE j.project_id = $1::bigint AND j.id = $2::bigint
      AND ($5::bool OR coalesce(j.branch, p.branch) = coalesce($4, p.branch))
      AND $3::text[] <@ job_commits(j.sha, j.task)) AS covers;

-- name: lease_tokens_prune
-- Removes tokens that expired a day ago or longer.
-- in: seconds f64
DELETE FROM lease_tokens WHERE issued_at < now() - make_interval(secs => $1::float8, days => 1);
