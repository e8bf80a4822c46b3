-- Owners of the alerts of a project.

-- name: owners_get
-- in: project_id i64
-- out: rules text, codeowners text, path text, sha text, updated_at f64
SELECT rules, codeowners, path, sha, extract(epoch FROM updated_at)::float8 AS updated_at
FROM project_owners WHERE project_id = $1::bigint;

-- name: owners_set_rules
-- in: project_id i64, rules text
INSERT INTO project_owners (project_id, rules) VALUES ($1::bigint, $2)
ON CONFLICT (project_id) DO UPDATE SET rules = excluded.rules, updated_at = now();

-- name: owners_place
-- The position of the commit on the project's branch; no row: it is not on it. newer: the stored file is that of a later
-- commit.
-- in: project_id i64, sha text
-- out: position i64, newer bool
SELECT b.position,
       EXISTS (SELECT 1 FROM project_owners o
               JOIN commits oc ON oc.project_id = o.project_id AND oc.sha = o.sha
               JOIN branch_commits ob ON ob.project_id = o.project_id AND ob.branch = b.branch
                   AND ob.commit_id = oc.id
               WHERE o.project_id = b.project_id AND ob.position > b.position) AS newer
FROM projects p
JOIN commits c ON c.project_id = p.id AND c.sha = $2
JOIN branch_commits b ON b.project_id = p.id AND b.branch = p.branch AND b.commit_id = c.id
WHERE p.id = $1::bigint;

-- name: owners_set_codeowners
-- A path that is NULL removes the file.
-- in: project_id i64, codeowners text, path text?, sha text
INSERT INTO project_owners (project_id, codeowners, path, sha) VALUES ($1::bigint, $2, $3, $4)
ON CONFLICT (project_id) DO UPDATE
SET codeowners = excluded.codeowners, path = excluded.path, sha = excluded.sha, updated_at = now();

-- name: owners_mark
-- Has the owners of the project's open alerts found again.
-- in: project_id i64
UPDATE alerts SET owner_due = true
WHERE project_id = $1::bigint AND NOT owner_due
  AND state IN ('untriaged', 'acknowledged', 'investigating');

-- name: owners_due
-- The alerts whose owner is to be found, with the files that the culprit touched, or else the most likely commit. A
-- parameter that is NULL does not restrict.
-- in: project_id i64, branch text?, alert_id id, limit i64
-- out: id i64, benchmark text, commit text, paths text[]
SELECT a.id, b.name AS benchmark, c.sha AS commit, c.paths
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
LEFT JOIN LATERAL (
    SELECT k.sha, k.paths FROM commits k
    WHERE k.project_id = a.project_id AND k.sha = coalesce(a.culprit, (
        SELECT q.sha FROM commits q WHERE q.project_id = x.project_id AND q.id = x.commit_id AND x.kind <> 'drift'))
    OFFSET 0) c ON true
WHERE a.project_id = $1::bigint AND a.owner_due AND ($2::text IS NULL OR s.branch = $2)
  AND ($3::bigint IS NULL OR a.id = $3)
ORDER BY b.name, c.sha, a.id LIMIT $4::int;

-- name: owners_sources
-- What the benchmark is built from, by its own row or the row of all. touched: its files among the paths. files: the
-- first 500.
-- in: project_id i64, benchmark text, paths text[]
-- out: touched text[], files text[], globs text[]
SELECT ARRAY(SELECT p FROM unnest($3::text[]) WITH ORDINALITY AS u (p, n) WHERE p = ANY (s.files) ORDER BY n)
           AS touched,
       s.files[1:500] AS files, s.globs
FROM benchmark_sources s
WHERE s.project_id = $1::bigint AND s.benchmark IN ($2, '*')
ORDER BY s.benchmark = '*' LIMIT 1;

-- name: owners_set
-- in: project_id i64, alert_ids i64[], owner text?
UPDATE alerts SET owner = $3, owner_due = false WHERE project_id = $1::bigint AND id = ANY ($2::bigint[]);

-- name: owners_of_groups
-- The alerts of a group have one owner: that of most of them, of equally many that of the first alert; no owner only
-- when none of them has one.
-- in: project_id i64, alert_ids i64[]
WITH groups AS (
    SELECT DISTINCT group_id FROM alerts
    WHERE project_id = $1::bigint AND id = ANY ($2::bigint[]) AND group_id IS NOT NULL),
votes AS (
    SELECT a.group_id, a.owner, count(*) AS alerts, min(a.id) AS first
    FROM alerts a JOIN groups g ON g.group_id = a.group_id
    WHERE a.project_id = $1::bigint AND a.owner IS NOT NULL GROUP BY a.group_id, a.owner),
chosen AS (SELECT DISTINCT ON (group_id) group_id, owner FROM votes ORDER BY group_id, alerts DESC, first)
UPDATE alerts a SET owner = c.owner FROM chosen c
WHERE a.project_id = $1::bigint AND a.group_id = c.group_id AND a.owner IS DISTINCT FROM c.owner;
