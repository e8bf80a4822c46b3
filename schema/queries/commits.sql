-- name: commits_list
-- cursor: id of a commit; the page has older commits, wherever that commit lies now. words: all of them occur in the id,
-- the subject or the author; NULL does not restrict. tagged: only commits with tags.
-- row: commit
-- also: once
-- in: project_id i64, branch text?, cursor id, limit i64, words text?, tagged bool
-- out: position i64, id i64, sha text, parents text[], paths text[], tags text[], author text, time f64, subject text,
--    stub bool, branch text, runs i64, alerts i64
SELECT b.position, c.id, c.sha, c.parents, c.paths,
       c.tags, c.author, extract(epoch FROM c.time)::float8 AS time, c.subject,
       c.stub, b.branch,
       (SELECT count(*) FROM runs r WHERE r.project_id = c.project_id AND r.commit_id = c.id
        AND r.quarantine_id IS NULL) AS runs,
       (SELECT count(*) FROM change_points p JOIN alerts a ON a.project_id = p.project_id
            AND a.change_point_id = p.id
        WHERE p.project_id = c.project_id AND p.commit_id = c.id AND p.gone_at IS NULL
        AND p.kind <> 'drift') AS alerts
FROM branch_commits b JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
WHERE b.project_id = $1::bigint
  AND b.branch = coalesce($2, (SELECT branch FROM projects WHERE id = $1::bigint))
  AND b.position IS NOT NULL AND ($3::bigint IS NULL OR b.position < (
      SELECT x.position FROM branch_commits x
      WHERE x.project_id = b.project_id AND x.branch = b.branch AND x.commit_id = $3))
  AND ($5::text IS NULL OR NOT EXISTS (
      SELECT 1 FROM unnest(string_to_array(lower($5), ' ')) AS w
      WHERE position(w IN lower(c.sha || ' ' || c.subject || ' ' || c.author)) = 0))
  AND (NOT $6::bool OR c.tags <> '{}')
ORDER BY b.position DESC LIMIT $4::int;

-- name: commits_get
-- Two rows: the first digits match several commits.
-- row: commit
-- also: once
-- in: project_id i64, sha text
-- out: position i64, id i64, sha text, parents text[], paths text[], tags text[], author text, time f64, subject text,
--    stub bool, branch text, runs i64, alerts i64
SELECT coalesce(b.position, 0) AS position, c.id, c.sha, c.parents,
       c.paths, c.tags, c.author,
       extract(epoch FROM c.time)::float8 AS time, c.subject, c.stub, b.branch,
       (SELECT count(*) FROM runs r WHERE r.project_id = c.project_id AND r.commit_id = c.id
        AND r.quarantine_id IS NULL) AS runs,
       (SELECT count(*) FROM change_points p JOIN alerts a ON a.project_id = p.project_id
            AND a.change_point_id = p.id
        WHERE p.project_id = c.project_id AND p.commit_id = c.id AND p.gone_at IS NULL
        AND p.kind <> 'drift') AS alerts
FROM commits c
LEFT JOIN LATERAL (
    SELECT x.position, x.branch FROM branch_commits x JOIN projects p ON p.id = x.project_id
    WHERE x.project_id = c.project_id AND x.commit_id = c.id
    ORDER BY x.branch = p.branch DESC, x.position IS NULL, x.branch LIMIT 1) b ON true
WHERE c.project_id = $1::bigint AND c.sha LIKE $2 || '%'
ORDER BY c.sha LIMIT 2;

-- name: commit_values
-- The newest result of each series, and that of the first parent. Those of the parent are read at once: one by one each
-- series would look into all partitions.
-- also: once
-- in: project_id i64, commit_id i64
-- out: series_id i64, benchmark text, metric text, backend text, machine_class text, unit text,
--    higher_is_better bool, median f64, low f64, high f64, n i64, parent_median f64
WITH own AS MATERIALIZED (
    SELECT DISTINCT ON (series_id) series_id, median, low, high, n FROM measurements
    WHERE project_id = $1::bigint AND commit_id = $2::bigint
    ORDER BY series_id, run_id DESC),
parent AS MATERIALIZED (
    SELECT DISTINCT ON (series_id) series_id, median FROM measurements
    WHERE project_id = $1::bigint AND commit_id = (
          SELECT pc.id FROM commits c JOIN commits pc ON pc.project_id = c.project_id AND pc.sha = c.parents[1]
          WHERE c.project_id = $1::bigint AND c.id = $2::bigint)
      AND series_id = ANY (ARRAY(SELECT series_id FROM own))
    ORDER BY series_id, run_id DESC)
SELECT s.id AS series_id, b.name AS benchmark, s.metric, s.backend, s.machine_class, s.unit,
       s.higher_is_better, m.median, m.low, m.high, m.n, p.median AS parent_median
FROM own m
JOIN series s ON s.project_id = $1::bigint AND s.id = m.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
LEFT JOIN parent p ON p.series_id = m.series_id
ORDER BY b.name, s.metric, s.backend, s.machine_class, s.id;

-- name: commits_upsert
-- In the order of ids, so that two servers that store the same commits do not deadlock. A commit never changes, but a
-- stub is completed. fresh: it is new. parents: joined by spaces. paths: array literals.
-- arrays: len
-- in: project_id i64, shas text[], parents text[], authors text[], times f64[], subjects text[], paths text[]
-- out: id i64, sha text, fresh bool
INSERT INTO commits AS c (project_id, sha, parents, author, time, subject, paths)
SELECT DISTINCT ON (u.sha) $1::bigint, u.sha, string_to_array(u.parents, ' '), u.author, to_timestamp(u.time), u.subject,
       u.paths::text[]
FROM unnest($2::text[], $3::text[], $4::text[], $5::float8[], $6::text[], $7::text[])
     AS u (sha, parents, author, time, subject, paths)
ORDER BY u.sha
ON CONFLICT (project_id, sha) DO UPDATE
SET parents = excluded.parents, author = excluded.author, time = excluded.time,
    subject = excluded.subject, paths = excluded.paths, stub = false
WHERE c.stub
RETURNING c.id, c.sha, (xmax = 0) AS fresh;

-- name: commits_tag
-- A tag that is given to another commit is removed from the commit that had it. tags: array literals.
-- arrays: len
-- in: project_id i64, shas text[], tags text[]
WITH given AS MATERIALIZED (
    SELECT DISTINCT ON (u.sha) u.sha, u.tags::text[] AS tags
    FROM unnest($2::text[], $3::text[]) AS u (sha, tags) ORDER BY u.sha),
names AS MATERIALIZED (SELECT array_agg(DISTINCT t) AS tags FROM given g CROSS JOIN unnest(g.tags) AS t),
moved AS (
    UPDATE commits c
    SET tags = ARRAY(SELECT t FROM unnest(c.tags) AS t WHERE t <> ALL (n.tags))
    FROM names n
    WHERE c.project_id = $1::bigint AND c.tags <> '{}' AND c.sha <> ALL ($2::text[]) AND c.tags && n.tags)
UPDATE commits c SET tags = g.tags FROM given g
WHERE c.project_id = $1::bigint AND c.sha = g.sha AND c.tags <> g.tags;

-- name: commits_named
-- Inserts stubs of the commits that are not stored. Of a commit that is given twice the first time counts.
-- arrays: len
-- in: project_id i64, shas text[], times f64[]
INSERT INTO commits (project_id, sha, time, stub)
SELECT DISTINCT ON (u.sha) $1::bigint, u.sha, to_timestamp(u.time), true
FROM unnest($2::text[], $3::float8[]) WITH ORDINALITY AS u (sha, time, ordinal)
ORDER BY u.sha, u.ordinal
ON CONFLICT (project_id, sha) DO NOTHING;

-- name: commit_id
-- member: it was posted for this branch.
-- in: project_id i64, sha text, branch text
-- out: id i64, time f64, stub bool, member bool
SELECT c.id, extract(epoch FROM c.time)::float8 AS time, c.stub,
       EXISTS (SELECT 1 FROM branch_commits b WHERE b.project_id = c.project_id
               AND b.branch = $3 AND b.commit_id = c.id) AS member
FROM commits c WHERE c.project_id = $1::bigint AND c.sha = $2;

-- name: branch_ensure
-- in: project_id i64, name text
INSERT INTO branches (project_id, name) VALUES ($1::bigint, $2) ON CONFLICT DO NOTHING;

-- name: history_lock
-- Serialises writers of positions. It is taken before any commit is written, so that writers do not deadlock. By its plan
-- the commits of a project that is newer than the statistics are looked up by their keys, too: of such a project the
-- planner expects one row in each table, and would take any index that begins with the project.
-- in: project_id i64
-- value: id i64
-- plan: generic
SELECT id FROM projects WHERE id = $1::bigint FOR NO KEY UPDATE;

-- name: branches_of
-- in: project_id i64, commit_ids i64[]
-- out: branch text
SELECT DISTINCT branch FROM branch_commits
WHERE project_id = $1::bigint AND commit_id = ANY ($2::bigint[]) ORDER BY branch;

-- name: branch_tail
-- The newest first. parent: the first parent.
-- in: project_id i64, branch text, limit i64
-- out: id i64, sha text, parent text, time f64, position i64
SELECT c.id, c.sha, c.parents[1] AS parent, extract(epoch FROM c.time)::float8 AS time, b.position
FROM branch_commits b JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position IS NOT NULL
ORDER BY b.position DESC LIMIT $3::bigint;

-- name: branch_members_add
-- The commits that are new on the branch. OFFSET 0: as in branch_append. alone: the commit is known from runs only, and
-- no commit has it as parent.
-- in: project_id i64, branch text, shas text[]
-- out: id i64, sha text, time f64, alone bool
WITH added AS (
    INSERT INTO branch_commits (project_id, branch, commit_id)
    SELECT $1::bigint, $2, c.id FROM unnest($3::text[]) AS u (sha)
    CROSS JOIN LATERAL (SELECT id FROM commits WHERE project_id = $1::bigint AND commits.sha = u.sha OFFSET 0) AS c
    ON CONFLICT DO NOTHING
    RETURNING commit_id)
SELECT c.id, c.sha, extract(epoch FROM c.time)::float8 AS time,
       -- Counted, since to find the first of many, which the planner expects, it would read all commits.
       c.stub AND (SELECT count(*) FROM (
           SELECT project_id FROM commits WHERE NOT stub AND parents @> ARRAY[c.sha] OFFSET 0) AS q
           WHERE q.project_id = $1::bigint) = 0 AS alone
FROM added a
CROSS JOIN LATERAL (SELECT * FROM commits WHERE project_id = $1::bigint AND id = a.commit_id OFFSET 0) AS c;

-- name: branch_members
-- A page of the branch's commits, by their internal ids. Parents: ids divided by spaces.
-- row: branch_member
-- in: project_id i64, branch text, cursor i64, limit i64
-- out: id i64, sha text, parents text, time f64, position i64
WITH page AS MATERIALIZED (
    SELECT commit_id, position FROM branch_commits
    WHERE project_id = $1::bigint AND branch = $2 AND commit_id > $3::bigint ORDER BY commit_id LIMIT $4::bigint)
SELECT c.id, c.sha, array_to_string(c.parents, ' ') AS parents,
       extract(epoch FROM c.time)::float8 AS time, p.position
FROM page p CROSS JOIN LATERAL (SELECT * FROM commits WHERE project_id = $1::bigint AND id = p.commit_id OFFSET 0) AS c
ORDER BY c.id;

-- name: branch_end
-- The last `limit` commits of the line, and these commits, in the byte order of ids. OFFSET 0: one look-up of the index
-- for each; the planner does not know how few they are.
-- row: branch_member
-- in: project_id i64, branch text, commit_ids i64[], limit i64
-- out: id i64, sha text, parents text, time f64, position i64
WITH part AS MATERIALIZED (
    (SELECT commit_id, position FROM branch_commits
     WHERE project_id = $1::bigint AND branch = $2 AND position IS NOT NULL
     ORDER BY position DESC LIMIT $4::bigint)
    UNION
    SELECT b.commit_id, b.position FROM unnest($3::bigint[]) AS u (id)
    CROSS JOIN LATERAL (SELECT commit_id, position FROM branch_commits
                        WHERE project_id = $1::bigint AND branch = $2 AND commit_id = u.id OFFSET 0) AS b)
SELECT c.id, c.sha, array_to_string(c.parents, ' ') AS parents,
       extract(epoch FROM c.time)::float8 AS time, p.position
FROM part p CROSS JOIN LATERAL (SELECT * FROM commits WHERE project_id = $1::bigint AND id = p.commit_id OFFSET 0) AS c
ORDER BY c.sha COLLATE "C";

-- name: branch_children
-- The commits of the branch that have one of these among their parents. OFFSET 0: as in branch_append.
-- in: project_id i64, branch text, commit_ids i64[]
-- out: id i64
SELECT k.id FROM unnest($3::bigint[]) AS u (id)
CROSS JOIN LATERAL (SELECT sha FROM commits WHERE project_id = $1::bigint AND commits.id = u.id OFFSET 0) AS c
CROSS JOIN LATERAL (SELECT project_id, id FROM commits WHERE NOT stub AND parents @> ARRAY[c.sha] OFFSET 0) AS k
CROSS JOIN LATERAL (SELECT FROM branch_commits WHERE project_id = $1::bigint AND branch = $2
                    AND commit_id = k.id OFFSET 0) AS b
WHERE k.project_id = $1::bigint;

-- name: branch_has
-- One of these ids is a commit of the branch.
-- in: project_id i64, branch text, shas text[]
-- value: has bool
SELECT EXISTS (
    SELECT 1 FROM unnest($3::text[]) AS u (sha)
    CROSS JOIN LATERAL (SELECT id FROM commits WHERE project_id = $1::bigint AND commits.sha = u.sha OFFSET 0) AS c
    CROSS JOIN LATERAL (SELECT FROM branch_commits WHERE project_id = $1::bigint AND branch = $2
                        AND commit_id = c.id OFFSET 0) AS b) AS has;

-- name: branch_positions_set
-- Chunks of the branch's series become invalid where a commit moved that was measured `seconds` ago or earlier
-- (migration 0012). Younger points are in no chunk yet, and in none that is built before this transaction ends.
-- positions: 0 for a commit that is not on the branch.
-- arrays: len
-- in: project_id i64, branch text, commit_ids i64[], positions i64[], seconds f64
-- out: count
WITH moved AS (
    UPDATE branch_commits b SET position = nullif(u.position, 0)
    FROM unnest($3::bigint[], $4::bigint[]) AS u (commit_id, position)
    WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.commit_id = u.commit_id
    RETURNING b.commit_id)
UPDATE branches v SET line_version = v.line_version + 1
WHERE v.project_id = $1::bigint AND v.name = $2 AND EXISTS (
    SELECT 1 FROM moved CROSS JOIN LATERAL (
        SELECT 1 FROM runs r WHERE r.project_id = $1::bigint AND r.commit_id = moved.commit_id
        AND r.received_at < clock_timestamp() - make_interval(secs => $5::float8) OFFSET 0) AS seen);

-- name: branch_times_set
-- For completed stubs, whose times have changed.
-- in: project_id i64, commit_ids i64[]
UPDATE branches v SET line_version = v.line_version + 1
WHERE v.project_id = $1::bigint AND v.name IN (
    SELECT b.branch FROM branch_commits b
    JOIN runs r ON r.project_id = b.project_id AND r.commit_id = b.commit_id
    WHERE b.project_id = $1::bigint AND b.commit_id = ANY ($2::bigint[]));

-- name: branch_append
-- Gives positions to commits of the branch, but to none when another commit has one of them as its parent: that commit
-- may have to move. shas: oldest first, each the only parent of the next: as many children as that, and no more.
-- position_before: position of the commit before the first. Each commit, each child and each row of the branch is looked
-- up by its key, which the OFFSETs and the conflict keep: without statistics, as in the first minute of a database, the
-- planner would read all commits of the project for each of them.
-- in: project_id i64, branch text, shas text[], position_before i64
-- out: count
INSERT INTO branch_commits AS b (project_id, branch, commit_id, position)
SELECT $1::bigint, $2, c.id, $4::bigint + u.ordinal
FROM unnest($3::text[]) WITH ORDINALITY AS u (sha, ordinal)
CROSS JOIN LATERAL (SELECT id FROM commits WHERE project_id = $1::bigint AND commits.sha = u.sha OFFSET 0) AS c
WHERE (SELECT sum(k.n) FROM unnest($3::text[]) AS s (sha)
       CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
           SELECT project_id FROM commits WHERE NOT stub AND parents @> ARRAY[s.sha] OFFSET 0) AS q
           WHERE q.project_id = $1::bigint) AS k) = cardinality($3::text[]) - 1
ON CONFLICT (project_id, branch, commit_id) DO UPDATE SET position = excluded.position;
