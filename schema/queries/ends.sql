-- The commits that the ends of a comparison name.

-- name: end_tag
-- also: once
-- in: project_id i64, tag text
-- out: id i64, sha text
SELECT c.id, c.sha FROM commits c
WHERE c.project_id = $1::bigint AND c.tags <> '{}' AND $2 = ANY (c.tags) ORDER BY c.id DESC LIMIT 1;

-- name: end_branch
-- A branch, and its newest commit with results up to a time. branch: NULL is the project's own. id: 0 where no commit
-- has such results. until: Unix seconds, NaN does not restrict; neither does a backend or machine class that is NULL.
-- OFFSET 0: commits are looked up from the newest place back, until one has results; the planner would read them all.
-- also: once
-- in: project_id i64, branch text?, until f64, backend text?, machine_class text?
-- out: branch text, id i64, sha text
SELECT v.name AS branch, n.id, n.sha
FROM branches v
LEFT JOIN LATERAL (
    SELECT c.id, c.sha FROM branch_commits b
    CROSS JOIN LATERAL (SELECT k.id, k.sha, k.time FROM commits k
                        WHERE k.project_id = b.project_id AND k.id = b.commit_id OFFSET 0) c
    WHERE b.project_id = v.project_id AND b.branch = v.name AND b.position IS NOT NULL
      AND ($3::float8 IS NULL OR c.time <= to_timestamp($3::float8))
      AND EXISTS (
          SELECT 1 FROM runs r JOIN machines k ON k.id = r.machine_id
          WHERE r.project_id = b.project_id AND r.commit_id = b.commit_id AND r.quarantine_id IS NULL
            AND ($5::text IS NULL OR k.class = $5)
            AND ($4::text IS NULL OR EXISTS (
                SELECT 1 FROM measurements m JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
                WHERE m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
                  AND s.backend = $4)))
    ORDER BY b.position DESC LIMIT 1) n ON true
WHERE v.project_id = $1::bigint AND v.name = coalesce($2, (SELECT p.branch FROM projects p WHERE p.id = $1::bigint));

-- name: end_line
-- The commit `back` places before a commit on the line of a branch; NULL: the project's own branch, else another one
-- that has the commit on its line. No row: on no line. id: 0 where the line begins later.
-- also: once
-- in: project_id i64, commit_id i64, branch text?, back i64
-- out: branch text, id i64, sha text
SELECT b.branch, n.id, n.sha
FROM (SELECT x.branch, x.position FROM branch_commits x JOIN projects p ON p.id = x.project_id
      WHERE x.project_id = $1::bigint AND x.commit_id = $2::bigint AND x.position IS NOT NULL
        AND ($3::text IS NULL OR x.branch = $3)
      ORDER BY x.branch = p.branch DESC, x.branch LIMIT 1) b
LEFT JOIN LATERAL (
    SELECT c.id, c.sha FROM branch_commits y JOIN commits c ON c.project_id = y.project_id AND c.id = y.commit_id
    WHERE y.project_id = $1::bigint AND y.branch = b.branch AND y.position <= b.position
    ORDER BY y.position DESC OFFSET $4::bigint LIMIT 1) n ON true;

-- name: end_parents
-- The commit `back` first parents before a commit. No row: a parent on the way was never sent.
-- also: once
-- in: project_id i64, commit_id i64, back i64
-- out: id i64, sha text
WITH RECURSIVE chain AS (
    SELECT c.id, c.sha, c.parents[1] AS parent, 0::bigint AS n FROM commits c
    WHERE c.project_id = $1::bigint AND c.id = $2::bigint
    UNION ALL
    SELECT k.id, k.sha, k.parents[1], h.n + 1 FROM chain h
    JOIN commits k ON k.project_id = $1::bigint AND k.sha = h.parent
    WHERE h.n < $3::bigint)
SELECT id, sha FROM chain WHERE n = $3::bigint;

-- name: ends_between
-- Where two commits lie on one line: of the project's branch, else of another. No row: on no line together.
-- between: commits of the line that lie between both.
-- in: project_id i64, a i64, b i64
-- out: branch text, a i64, b i64, between i64
SELECT l.branch, l.a, l.b,
       (SELECT count(*) FROM branch_commits z WHERE z.project_id = $1::bigint AND z.branch = l.branch
        AND z.position > least(l.a, l.b) AND z.position < greatest(l.a, l.b)) AS between
FROM (SELECT x.branch, x.position AS a, y.position AS b
      FROM branch_commits x
      JOIN branch_commits y ON y.project_id = x.project_id AND y.branch = x.branch AND y.commit_id = $3::bigint
      JOIN projects p ON p.id = x.project_id
      WHERE x.project_id = $1::bigint AND x.commit_id = $2::bigint
        AND x.position IS NOT NULL AND y.position IS NOT NULL
      ORDER BY x.branch = p.branch DESC, x.branch LIMIT 1) l;
