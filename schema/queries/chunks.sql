-- Chunks of long series: see migration 0012.

-- name: chunks_due
-- Series of min_points points or more whose chunks are stale, or that have as many outside of chunks. cursor: a
-- series. The chunks of a series that became shorter stay stale: they are not read.
-- in: cursor i64, min_points i64, limit i64
-- out: project_id i64, id i64, branch text
SELECT s.project_id, s.id, s.branch
FROM series s
LEFT JOIN branches b ON b.project_id = s.project_id AND b.name = s.branch
LEFT JOIN LATERAL (
    SELECT sum(c.points) AS points, bool_or(c.line_version <> b.line_version) AS stale
    FROM series_chunks c WHERE c.project_id = s.project_id AND c.series_id = s.id) h ON true
WHERE s.id > $1::bigint AND s.points >= $2::bigint AND (h.stale OR s.points - coalesce(h.points, 0) >= $2::bigint)
ORDER BY s.id LIMIT $3::int;

-- name: chunks_drop_stale
-- in: project_id i64, series_id i64, branch text
DELETE FROM series_chunks c USING branches b
WHERE c.project_id = $1::bigint AND c.series_id = $2::bigint
  AND b.project_id = c.project_id AND b.name = $3 AND c.line_version <> b.line_version;

-- name: chunks_add
-- Packs the points that were stored min_age_s ago or earlier and are in no chunk. No transaction lasts that long, so
-- that no older point appears later.
-- in: project_id i64, series_id i64, branch text, min_age_s f64
-- out: count
INSERT INTO series_chunks (project_id, series_id, from_at, until_at, line_version, points, packed)
SELECT $1::bigint, $2::bigint, greatest(q.month, q.after),
       least(q.month + interval '1 month', now() - make_interval(secs => $4::float8)),
       q.line_version, count(*), string_agg(q.packed, '' ORDER BY q.position, q.run_id)
FROM (SELECT p.position, p.run_id, p.packed, v.line_version, t.after,
             date_trunc('month', p.stored_at, 'UTC') AS month
      FROM series_points p
      JOIN branches v ON v.project_id = p.project_id AND v.name = p.branch
      CROSS JOIN (SELECT coalesce(max(until_at), '-infinity') AS after FROM series_chunks
                  WHERE project_id = $1::bigint AND series_id = $2::bigint) t
      WHERE p.project_id = $1::bigint AND p.series_id = $2::bigint AND p.branch = $3
        AND p.stored_at >= t.after
        AND p.stored_at < now() - make_interval(secs => $4::float8)) q
GROUP BY q.month, q.after, q.line_version
ON CONFLICT DO NOTHING;

-- name: chunks_thinned
-- Packs the chunks again that have measurements of a thinned partition. A chunk ends with its month at the latest, so
-- that one of a thinned week may hold other weeks of the month.
-- in: since date, until date
UPDATE series_chunks c
SET (points, packed) = (
    SELECT count(*), coalesce(string_agg(p.packed, '' ORDER BY p.position, p.run_id), '')
    FROM series_points p
    JOIN series s ON s.project_id = p.project_id AND s.id = p.series_id AND s.branch = p.branch
    WHERE p.project_id = c.project_id AND p.series_id = c.series_id
      AND p.stored_at >= c.from_at AND p.stored_at < c.until_at)
WHERE c.from_at < $2::date::timestamp AT TIME ZONE 'UTC' AND c.until_at > $1::date::timestamp AT TIME ZONE 'UTC';

-- name: window_chunks
-- The measurements that are in no chunk begin at the last row's `until`.
-- in: project_id i64, series_id i64, branch text
-- out: until text, packed bytes, from text
SELECT c.until_at::text AS until, c.packed, c.from_at::text AS "from"
FROM series_chunks c
JOIN branches b ON b.project_id = c.project_id AND b.name = $3 AND b.line_version = c.line_version
WHERE c.project_id = $1::bigint AND c.series_id = $2::bigint
ORDER BY c.from_at;

-- name: window_since
-- stored_from, or a later time before which nothing of these positions was stored: partitions before it are not planned.
-- A day: a transaction that began before another one may take its number after it.
-- in: project_id i64, branch text, position_from i64, position_to i64, stored_from timestamp
-- out: from text
SELECT greatest($5::timestamptz, min(r.received_at) - interval '1 day')::text AS "from"
FROM branch_commits b
CROSS JOIN LATERAL (SELECT received_at FROM runs WHERE project_id = $1::bigint AND commit_id = b.commit_id
                    ORDER BY id LIMIT 1) AS r
WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position BETWEEN $3::bigint AND $4::bigint;

-- name: window_rest
-- The points that were stored at or after stored_from; NULL: there is none.
-- in: project_id i64, series_id i64, branch text, stored_from timestamp
-- out: packed bytes
-- As series_points. OFFSET 0: the partitions are planned once, not again for each join: of 365 in a tenth of the time.
SELECT string_agg(point_pack(b.position, m.run_id, extract(epoch FROM c.time)::float8, m.median, m.min, m.n), '') AS packed
FROM (SELECT commit_id, run_id, median, min, n FROM measurements
      WHERE project_id = $1::bigint AND series_id = $2::bigint AND stored_at >= $4::timestamptz
        AND run_id >= (SELECT run FROM first_run_since($1::bigint, $4::timestamptz)) OFFSET 0) m
JOIN branch_commits b ON b.project_id = $1::bigint AND b.branch = $3 AND b.commit_id = m.commit_id
    AND b.position IS NOT NULL
JOIN commits c ON c.project_id = $1::bigint AND c.id = m.commit_id;

-- name: window_infra
-- The runs from run_from to run_to whose machine had moved.
-- in: project_id i64, run_from i64, run_to i64
-- out: id i64
SELECT id FROM runs WHERE project_id = $1::bigint AND infra AND id BETWEEN $2::bigint AND $3::bigint
ORDER BY id;

-- name: window_runs
-- Data of the commit and the machine of each run, in the order of run_ids. The OFFSET makes the plan look up each
-- run: for a few thousand runs this is cheaper than reading all runs and commits.
-- in: project_id i64, run_ids i64[]
-- row: window_point
-- out: position i64, commit text, subject text, author text, time f64, median f64, low f64, high f64, min f64, n i64,
--    run_id i64, machine_id i64, fingerprint text, infra bool, session text
SELECT 0::bigint AS position, r.commit, r.subject, r.author, r.time, NULL::float8 AS median,
       NULL::float8 AS low, NULL::float8 AS high, NULL::float8 AS min, 0::bigint AS n, r.id AS run_id,
       r.machine_id, k.fingerprint_hash AS fingerprint, r.infra, r.session_id AS session
FROM unnest($2::bigint[]) WITH ORDINALITY AS u (id, ordinal)
CROSS JOIN LATERAL (
    SELECT q.id, q.machine_id, q.infra, q.session_id, c.sha AS commit, c.subject, c.author,
           extract(epoch FROM c.time)::float8 AS time
    FROM runs q JOIN commits c ON c.project_id = q.project_id AND c.id = q.commit_id
    WHERE q.project_id = $1::bigint AND q.id = u.id OFFSET 0) r
JOIN machines k ON k.id = r.machine_id
ORDER BY u.ordinal;
