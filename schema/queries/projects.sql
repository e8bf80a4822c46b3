-- name: projects_list
-- groups_open: groups of the open alerts.
-- also: once
-- in: project_id id, name text?, cursor id, limit i64
-- out: id i64, name text, branch text, repo_url text, commits i64, runs i64, alerts_open i64, groups_open i64,
--    last_run_at f64, created_at f64, rerun json
SELECT p.id, p.name, p.branch, p.repo_url,
       (SELECT coalesce(sum(t.n), 0)::bigint FROM tallies t
        WHERE t.project_id = p.id AND t.what = 'commits') AS commits,
       (SELECT coalesce(sum(t.n), 0)::bigint FROM tallies t
        WHERE t.project_id = p.id AND t.what = 'runs') AS runs,
       o.alerts_open, o.groups_open,
       (SELECT extract(epoch FROM r.received_at)::float8 FROM runs r WHERE r.project_id = p.id
        ORDER BY r.id DESC LIMIT 1) AS last_run_at,
       extract(epoch FROM p.created_at)::float8 AS created_at, coalesce(p.rerun_rules, '[]')::text AS rerun
FROM projects p
CROSS JOIN LATERAL (
    SELECT count(*) AS alerts_open, count(DISTINCT coalesce(a.group_id, -a.id)) AS groups_open FROM alerts a
    WHERE a.project_id = p.id AND a.state IN ('untriaged', 'acknowledged', 'investigating')
      AND a.suppressed_by IS NULL) o
WHERE ($1::bigint IS NULL OR p.id = $1) AND ($2::text IS NULL OR p.name = $2)
  AND ($3::bigint IS NULL OR p.id > $3)
ORDER BY p.id LIMIT $4::int;

-- name: project_insert
-- No row when the project exists.
-- in: name text, branch text?, repo_url text?
-- value: id i64
INSERT INTO projects (name, branch, repo_url) VALUES ($1, coalesce($2, 'main'), $3)
ON CONFLICT (name) DO NOTHING RETURNING id;

-- name: project_repository
-- repo_url NULL: none is registered. before: the one until now.
-- in: name text, repo_url text?
-- out: id i64, before text
UPDATE projects p SET repo_url = $2
FROM (SELECT id, repo_url FROM projects WHERE name = $1 FOR UPDATE) old
WHERE p.id = old.id RETURNING p.id, old.repo_url AS before;

-- name: project_id
-- in: name text
-- value: id i64
SELECT id FROM projects WHERE name = $1;

-- name: project_branch
-- in: project_id i64
-- out: name text, branch text
SELECT name, branch FROM projects WHERE id = $1::bigint;

-- name: project_lock
-- leased: leased jobs of runners; own: leased jobs of the server itself.
-- in: name text
-- out: id i64, leased i64, own i64
SELECT p.id,
       (SELECT count(*) FROM jobs j WHERE j.project_id = p.id AND j.state = 'leased'
        AND j.kind NOT IN ('detect', 'notify')) AS leased,
       (SELECT count(*) FROM jobs j WHERE j.project_id = p.id AND j.state = 'leased'
        AND j.kind IN ('detect', 'notify')) AS own
FROM projects p WHERE p.name = $1 FOR UPDATE;

-- name: project_cancel_jobs
-- in: project_id i64
UPDATE jobs SET state = 'cancelled', finished_at = now(), reason = 'the project is deleted'
WHERE project_id = $1::bigint AND state = 'queued';

-- name: project_retire
-- Frees the project's name.
-- in: project_id i64, name text
UPDATE projects SET name = $2 WHERE id = $1::bigint;

-- name: project_clear
-- The number of removed rows; 0: the project is removed.
-- in: project_id i64, limit i64
-- value: removed i64
SELECT project_clear($1::bigint, $2::int) AS removed;

-- name: project_standing
-- One row: open alerts by kind and by group, headline series by their newest change. A change whose alert a person has
-- closed (accepted, noise, fixed) is settled; a change without an alert is still watched. since_night: a night is known,
-- the newest session or nightly job of the newest 1,000 jobs; else `fresh` and the broken jobs count from 24 hours ago.
-- fresh: groups without an open alert from before. broken_builds: commits that the newest session could not measure, and
-- those of jobs that ended as broken since and have no result. suppressed: alerts that rules hide. silent:
-- runners that sent no request for 5 minutes, and one within 30 days.
-- in: project_id i64
-- out: open i64, groups i64, fresh i64, regressions i64, broken i64, drifts i64, toolchain i64, harness i64,
--    since_night bool, broken_builds i64, suppressed i64, silent i64, headline i64, regressed i64, watching i64,
--    improved i64
WITH newest_session AS MATERIALIZED (
    SELECT id, started_at FROM sessions WHERE project_id = $1::bigint ORDER BY number DESC LIMIT 1),
recent_jobs AS MATERIALIZED (
    SELECT kind, state, sha, reason, created_at, finished_at FROM jobs
    WHERE project_id = $1::bigint ORDER BY id DESC LIMIT 1000),
night AS MATERIALIZED (
    SELECT greatest((SELECT started_at FROM newest_session),
                    (SELECT max(created_at) FROM recent_jobs WHERE kind = 'nightly')) AS at),
waiting AS MATERIALIZED (
    SELECT coalesce(a.group_id, -a.id) AS group_id, a.created_at, x.kind, x.regression FROM alerts a
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    WHERE a.project_id = $1::bigint AND a.state IN ('untriaged', 'acknowledged', 'investigating')
      AND a.suppressed_by IS NULL),
grouped AS (SELECT group_id, min(created_at) AS created_at FROM waiting GROUP BY group_id),
unbuilt AS (
    SELECT c.sha FROM newest_session n
    JOIN session_commits x ON x.project_id = $1::bigint AND x.session_id = n.id AND x.status = 'broken'
    JOIN commits c ON c.project_id = x.project_id AND c.id = x.commit_id
    UNION
    SELECT j.sha FROM recent_jobs j
    WHERE j.state = 'failed' AND starts_with(j.reason, 'broken: ') AND j.kind IN ('measure', 'nightly', 'backfill')
      AND j.finished_at >= coalesce((SELECT at FROM night), now() - interval '24 hours')
      AND NOT EXISTS (SELECT 1 FROM commits c JOIN runs r ON r.project_id = c.project_id AND r.commit_id = c.id
                      WHERE c.project_id = $1::bigint AND c.sha = j.sha)),
newest AS (
    SELECT s.id, g.regression, g.firm, g.undone, g.state, g.open
    FROM series s
    LEFT JOIN LATERAL (
        SELECT x.regression, x.firm OR x.confirmed AS firm, x.undone_commit_id IS NOT NULL AS undone, a.state,
               a.state IN ('untriaged', 'acknowledged', 'investigating') AND a.suppressed_by IS NULL AS open
        FROM change_points x
        JOIN branch_commits b ON b.project_id = x.project_id AND b.commit_id = x.commit_id AND b.branch = s.branch
        LEFT JOIN alerts a ON a.project_id = x.project_id AND a.change_point_id = x.id
        WHERE x.project_id = s.project_id AND x.series_id = s.id AND x.gone_at IS NULL AND x.kind <> 'drift'
        ORDER BY b.position DESC NULLS LAST LIMIT 1) g ON true
    WHERE s.project_id = $1::bigint AND s.headline AND s.points > 0)
SELECT (SELECT count(*) FROM waiting) AS open,
       (SELECT count(*) FROM grouped) AS groups,
       (SELECT count(*) FROM grouped WHERE created_at >= coalesce((SELECT at FROM night), now() - interval '24 hours'))
           AS fresh,
       (SELECT count(*) FROM waiting WHERE kind = 'step' AND regression) AS regressions,
       (SELECT count(*) FROM waiting WHERE kind = 'broken') AS broken,
       (SELECT count(*) FROM waiting WHERE kind = 'drift') AS drifts,
       (SELECT count(*) FROM waiting WHERE kind = 'toolchain') AS toolchain,
       (SELECT count(*) FROM waiting WHERE kind = 'harness') AS harness,
       (SELECT at IS NOT NULL FROM night) AS since_night,
       (SELECT count(*) FROM unbuilt) AS broken_builds,
       (SELECT count(*) FROM alerts WHERE project_id = $1::bigint AND suppressed_by IS NOT NULL) AS suppressed,
       (SELECT count(*) FROM runners r
        WHERE (r.project_id IS NULL OR r.project_id = $1::bigint) AND r.revoked_at IS NULL AND r.drained_at IS NULL
          AND NOT r.labels ? 'once' AND r.last_seen_at < now() - interval '5 minutes' AND r.last_seen_at >= now() - interval '30 days') AS silent,
       count(*) AS headline,
       count(*) FILTER (WHERE regression AND open) AS regressed,
       count(*) FILTER (WHERE regression AND NOT undone AND state IS NULL) AS watching,
       count(*) FILTER (WHERE NOT regression AND firm) AS improved
FROM newest;
