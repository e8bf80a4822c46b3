-- Judging series by their new points alone: the state of the detector, stored after each judging.

-- name: series_judged
-- Series that were judged with their history: one element of the arrays a series, but for `medians`, in which the newest
-- ones of a series are the elements first to last. states: in hexadecimal. generation 0: the series has no state, and its
-- next point needs the history.
-- in: project_id i64, medians f64[], ids i64[], firsts i64[], lasts i64[], points i64[], commit_ids i64[], noise_rels f64[],
--    watching i64[], detectables f64[], judged bool[], settled_points i64[], settled_positions i64[], anchor_points i64[],
--    anchor_positions i64[], anchor_runs i64[], level_points i64[], watching_of i64[], positions i64[], generations i64[],
--    states text[]
WITH u AS MATERIALIZED (
    SELECT * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::float8[], $9::bigint[],
                         $10::float8[], $11::boolean[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
                         $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::text[])
        AS u (id, first, last, points, commit_id, noise_rel, watching, detectable, judged, settled_points, settled_position,
              anchor_points, anchor_position, anchor_run, level_points, watching_of, position, generation, state)),
kept AS (
    INSERT INTO series_states (project_id, series_id, position, state, generation)
    SELECT $1::bigint, u.id, u.position, decode(u.state, 'hex'), u.generation FROM u WHERE u.generation <> 0
    ON CONFLICT (project_id, series_id) DO UPDATE
    SET position = excluded.position, state = excluded.state, generation = excluded.generation),
dropped AS (
    DELETE FROM series_states t USING u
    WHERE t.project_id = $1::bigint AND t.series_id = u.id AND u.generation = 0),
keyed AS (
    UPDATE series_keys k SET noise = series_noise_key(u.noise_rel) FROM u
    WHERE k.project_id = $1::bigint AND k.series_id = u.id AND k.noise <> series_noise_key(u.noise_rel))
UPDATE series s
SET points = u.points, last_commit_id = nullif(u.commit_id, 0), last_median = CASE WHEN u.last >= u.first THEN ($2::float8[])[u.last] END,
    spark = ($2::float8[])[u.first:u.last], noise_rel = u.noise_rel, watching = u.watching, detectable_rel = u.detectable,
    judged = u.judged, settled_points = u.settled_points, settled_position = u.settled_position,
    anchor_points = u.anchor_points, anchor_position = u.anchor_position, anchor_run = u.anchor_run,
    level_points = u.level_points, watching_of = u.watching_of, judged_at = now(), regathered = false
FROM u
WHERE s.project_id = $1::bigint AND s.id = u.id;

-- name: steady_states
-- Of the series that have one; the series are locked in the order of ids. Ratios to an anchor need the history.
-- in: project_id i64, series_ids i64[]
-- out: id i64, position i64, state bytes, points i64, noise_rel f64, level_points i64, anchor_run i64
SELECT s.id, t.position, t.state, s.points, s.noise_rel, s.level_points, s.anchor_run
FROM series s
JOIN series_states t ON t.project_id = s.project_id AND t.series_id = s.id
WHERE s.project_id = $1::bigint AND s.id = ANY ($2::bigint[]) AND NOT s.regathered
  AND NOT EXISTS (SELECT 1 FROM anchored a WHERE a.project_id = s.project_id AND a.series_id = s.id)
ORDER BY s.id
FOR NO KEY UPDATE OF s;

-- name: judged_lock
-- Locks series in the order of ids, and reads how far they are settled.
-- in: project_id i64, series_ids i64[]
-- out: id i64, points i64, settled_points i64, settled_position i64, anchor_points i64, anchor_position i64,
--    anchor_run i64
-- plan: generic
SELECT id, points, settled_points, settled_position, anchor_points, anchor_position, anchor_run
FROM series WHERE project_id = $1::bigint AND id = ANY ($2::bigint[])
ORDER BY id FOR NO KEY UPDATE;

-- name: history_size
-- in: project_id i64, series_id i64
-- value: count i64
SELECT count(*) FROM measurements WHERE project_id = $1::bigint AND series_id = $2::bigint;

-- name: history_measured
-- The measurements of the series by runs from one number to another, also those that are no points, in any order. nth:
-- of the series in series_ids, from 1. samples: the float8[] in binary form.
-- in: project_id i64, series_ids i64[], runs_from i64[], runs_to i64[], with_samples bool[]
-- out: nth i64, run_id i64, median f64, samples bytes
SELECT u.nth, m.run_id, m.median, array_send(m.samples) AS samples
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[]) WITH ORDINALITY
    AS u (id, run_from, run_to, with_samples, nth)
CROSS JOIN LATERAL (
    SELECT p.run_id, p.median, CASE WHEN u.with_samples THEN p.samples END AS samples FROM measurements p
    WHERE p.project_id = $1::bigint AND p.series_id = u.id AND p.run_id BETWEEN u.run_from AND u.run_to OFFSET 0) m;

-- name: history_last_run
-- The highest number of a run of a commit of the branch up to a position; run_id if no run behind that one is of such a
-- commit. Of a long backlog the runs behind it wait to be judged, and most are of later commits. The OFFSETs: as in
-- history_runs.
-- in: project_id i64, branch text, run_id i64, position_to i64
-- value: run_id i64
SELECT coalesce(max(r.id), $3::bigint) AS run_id
FROM (SELECT v.id, v.commit_id FROM runs v WHERE v.project_id = $1::bigint AND v.id > $3::bigint OFFSET 0) r
CROSS JOIN LATERAL (SELECT q.position FROM branch_commits q
                    WHERE q.project_id = $1::bigint AND q.branch = $2 AND q.commit_id = r.commit_id OFFSET 0) b
WHERE b.position <= $4::bigint;

-- name: history_runs
-- Of these runs, those that make points of series of the branch, from a position on, in the order of the points. Each
-- run looks up its commit and its job, which the OFFSETs keep: without statistics of the tables, as on the first day of
-- a database, the planner would join them by the project alone, and the cost would grow with the square of their number.
-- With statistics it would read all commits of the project.
-- in: project_id i64, branch text, run_ids i64[], position_from i64
-- out: id i64, commit_id i64, position i64, sha text, time f64, fingerprint_hash text, machine text
SELECT r.id, r.commit_id, b.position, c.sha, extract(epoch FROM c.time)::float8 AS time, k.fingerprint_hash,
       k.name AS machine
FROM (SELECT v.id, v.commit_id, v.machine_id, v.started_at, v.run_id FROM runs v
      WHERE v.project_id = $1::bigint AND v.id = ANY ($3::bigint[]) AND NOT v.infra
        -- Other layouts, single launches, many of one commit: evidence of a search, no points of a series, nor is what
        -- a pull request proposes, nor what a lease brought that another one has overtaken (retention_apply counts in
        -- the same way).
        AND CASE WHEN v.job_id IS NOT NULL
            THEN (SELECT j.kind IN ('bisect', 'verify', 'pull_request') OR j.fence > v.job_fence FROM jobs j
                  WHERE j.project_id = $1::bigint AND j.id = v.job_id) END IS NOT TRUE OFFSET 0) r
CROSS JOIN LATERAL (SELECT q.position FROM branch_commits q
                    WHERE q.project_id = $1::bigint AND q.branch = $2 AND q.commit_id = r.commit_id OFFSET 0) b
CROSS JOIN LATERAL (SELECT q.sha, q.time FROM commits q
                    WHERE q.project_id = $1::bigint AND q.id = r.commit_id OFFSET 0) c
JOIN machines k ON k.id = r.machine_id
WHERE b.position >= $4::bigint
ORDER BY b.position, r.started_at, r.run_id;

-- name: history_notable
-- Of the series: whether they were ever judged; whether they have ratios to an anchor; whether they have or had change
-- points; their state, 0 for none that may be used: also when their newest commit has another position since.
-- in: project_id i64, series_ids i64[]
-- out: id i64, judged bool, anchored bool, changed bool, generation i64, position i64
SELECT s.id, s.judged_at IS NOT NULL AS judged,
       EXISTS (SELECT 1 FROM anchored a WHERE a.project_id = $1::bigint AND a.series_id = s.id) AS anchored,
       EXISTS (SELECT 1 FROM change_points x WHERE x.project_id = $1::bigint AND x.series_id = s.id) AS changed,
       coalesce(t.generation, 0) AS generation, coalesce(t.position, 0) AS position
FROM series s
LEFT JOIN branch_commits b ON b.project_id = s.project_id AND b.branch = s.branch AND b.commit_id = s.last_commit_id
LEFT JOIN series_states t ON t.project_id = s.project_id AND t.series_id = s.id AND t.position = b.position
    AND NOT s.regathered
WHERE s.project_id = $1::bigint AND s.id = ANY ($2::bigint[]);

-- name: steady_points
-- Points of those runs, series by series, in the order of history_runs and without what that leaves out. samples: the
-- float8[] in binary form.
-- in: project_id i64, run_ids i64[], series_ids i64[]
-- out: series_id i64, commit_id i64, position i64, time f64, median f64, samples bytes, run_id i64
SELECT m.series_id, m.commit_id, b.position, extract(epoch FROM c.time)::float8 AS time, m.median,
       array_send(m.samples) AS samples, r.id AS run_id
FROM (SELECT v.id, v.commit_id, v.started_at, v.run_id FROM runs v
      WHERE v.project_id = $1::bigint AND v.id = ANY ($2::bigint[]) AND NOT v.infra
        AND (SELECT j.kind IN ('bisect', 'verify', 'pull_request') OR j.fence > v.job_fence FROM jobs j
             WHERE j.project_id = $1::bigint AND j.id = v.job_id) IS NOT TRUE OFFSET 0) r
CROSS JOIN LATERAL (SELECT q.time FROM commits q WHERE q.project_id = $1::bigint AND q.id = r.commit_id OFFSET 0) c
-- The OFFSET reads what the runs measured, not all points of the series.
CROSS JOIN LATERAL (
    SELECT p.series_id, p.commit_id, p.median, p.samples FROM measurements p
    WHERE p.project_id = $1::bigint AND p.commit_id = r.commit_id AND p.run_id = r.id OFFSET 0) m
-- Here the OFFSET keeps a look-up by the id: the branch alone would find all of its series for each point.
CROSS JOIN LATERAL (
    SELECT q.branch FROM series q WHERE q.project_id = $1::bigint AND q.id = m.series_id OFFSET 0) s
JOIN branch_commits b ON b.project_id = $1::bigint AND b.commit_id = m.commit_id AND b.branch = s.branch
WHERE m.series_id = ANY ($3::bigint[]) AND b.position IS NOT NULL
ORDER BY m.series_id, b.position, r.started_at, r.run_id;

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
