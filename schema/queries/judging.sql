-- Judging series by their new points alone: the state of the detector, stored after each judging.

-- name: steady_put
-- state: in hexadecimal.
-- in: project_id i64, series_id i64, position i64, state text
INSERT INTO series_states (project_id, series_id, position, state)
VALUES ($1::bigint, $2::bigint, $3::bigint, decode($4, 'hex'))
ON CONFLICT (project_id, series_id) DO UPDATE SET position = excluded.position, state = excluded.state;

-- name: steady_drop
-- in: project_id i64, series_id i64
DELETE FROM series_states WHERE project_id = $1::bigint AND series_id = $2::bigint;

-- name: steady_states
-- Of the series that have one, in hexadecimal; the series are locked in the order of ids. Ratios to an anchor need the history.
-- in: project_id i64, series_ids i64[]
-- out: id i64, position i64, state text, points i64, noise_rel f64, level_points i64
SELECT s.id, t.position, encode(t.state, 'hex') AS state, s.points, s.noise_rel, s.level_points
FROM series s
JOIN series_states t ON t.project_id = s.project_id AND t.series_id = s.id
WHERE s.project_id = $1::bigint AND s.id = ANY ($2::bigint[]) AND NOT s.regathered
  AND NOT EXISTS (SELECT 1 FROM anchored a WHERE a.project_id = s.project_id AND a.series_id = s.id)
ORDER BY s.id
FOR NO KEY UPDATE OF s;

-- name: steady_points
-- Points of those runs, series by series, in the order of detect_points and without what that leaves out.
-- in: project_id i64, run_ids i64[], series_ids i64[]
-- out: series_id i64, commit_id i64, position i64, time f64, median f64, samples f64[]
SELECT m.series_id, m.commit_id, b.position, extract(epoch FROM c.time)::float8 AS time, m.median, m.samples
FROM (SELECT v.id, v.commit_id, v.started_at FROM runs v
      WHERE v.project_id = $1::bigint AND v.id = ANY ($2::bigint[]) AND NOT v.infra
        AND (SELECT j.kind IN ('bisect', 'verify', 'pull_request') OR j.fence > v.job_fence FROM jobs j
             WHERE j.project_id = $1::bigint AND j.id = v.job_id) IS NOT TRUE OFFSET 0) r
CROSS JOIN LATERAL (SELECT q.time FROM commits q WHERE q.project_id = $1::bigint AND q.id = r.commit_id OFFSET 0) c
-- The OFFSET reads what the runs measured, not all points of the series.
CROSS JOIN LATERAL (
    SELECT p.series_id, p.commit_id, p.median, p.samples FROM measurements p
    WHERE p.project_id = $1::bigint AND p.commit_id = r.commit_id AND p.run_id = r.id OFFSET 0) m
JOIN series s ON s.project_id = $1::bigint AND s.id = m.series_id
JOIN branch_commits b ON b.project_id = $1::bigint AND b.commit_id = m.commit_id AND b.branch = s.branch
WHERE m.series_id = ANY ($3::bigint[]) AND b.position IS NOT NULL
ORDER BY m.series_id, b.position, r.started_at, r.id;

-- name: steady_advance
-- Series that took new points: one element of the arrays a series, but for `fresh`, in which the new medians of a
-- series are the elements first to last. states: in hexadecimal. spark: the newest `spark` medians stay.
-- in: project_id i64, spark i64, fresh f64[], ids i64[], firsts i64[], lasts i64[], points i64[], commit_ids i64[],
--    level_points i64[], detectables f64[], positions i64[], states text[]
WITH u AS MATERIALIZED (
    SELECT * FROM unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
                         $10::float8[], $11::bigint[], $12::text[])
        AS u (id, first, last, points, commit_id, level_points, detectable, position, state)),
kept AS (
    UPDATE series_states t SET position = u.position, state = decode(u.state, 'hex')
    FROM u WHERE t.project_id = $1::bigint AND t.series_id = u.id)
UPDATE series s
SET points = u.points, last_commit_id = u.commit_id, last_median = ($3::float8[])[u.last],
    spark = (s.spark || ($3::float8[])[u.first:u.last])
            [greatest(1, cardinality(s.spark) + u.last - u.first + 2 - $2::bigint):],
    detectable_rel = u.detectable, level_points = u.level_points, judged_at = now()
FROM u
WHERE s.project_id = $1::bigint AND s.id = u.id;
