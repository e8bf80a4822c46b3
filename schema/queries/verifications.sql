-- name: verification_insert
-- Layouts begin above those of the search; the runner that measured most of the search is left out.
-- in: project_id i64, bisection_id i64, before text, after text, expected_rel f64
-- value: id i64
INSERT INTO verifications (project_id, bisection_id, before, after, expected_rel, first_build,
                           avoid_runner)
SELECT $1::bigint, $2::bigint, $3, $4, $5::float8,
       coalesce((SELECT max(layout) FROM bisection_steps
                 WHERE project_id = $1::bigint AND bisection_id = $2::bigint), 0) + 1,
       (SELECT j.runner FROM bisection_steps s
        JOIN jobs j ON j.project_id = s.project_id AND j.id = s.job_id
        WHERE s.project_id = $1::bigint AND s.bisection_id = $2::bigint AND j.runner IS NOT NULL
        GROUP BY j.runner ORDER BY count(*) DESC, j.runner LIMIT 1)
RETURNING id;

-- name: verification_due
-- A running verification that has a pair to do.
-- out: id i64, project_id i64
-- plan: generic
SELECT v.id, v.project_id FROM verifications v
WHERE v.state = 'running' AND NOT EXISTS (
    SELECT 1 FROM verification_pairs q
    JOIN jobs j ON j.project_id = q.project_id AND j.id = q.job_id
    WHERE q.project_id = v.project_id AND q.verification_id = v.id AND q.state = 'asked'
      AND j.state IN ('queued', 'leased'))
ORDER BY v.updated_at, v.id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: verification_load
-- avoid_runner only where the class has another runner.
-- in: project_id i64, id i64
-- out: bisection_id i64, before text, after text, expected_rel f64, first_build i64, state text, avoid_runner text
SELECT v.bisection_id, v.before, v.after, v.expected_rel, v.first_build, v.state,
       CASE WHEN EXISTS (
           SELECT 1 FROM runners k WHERE k.name <> v.avoid_runner
           AND (k.project_id IS NULL OR k.project_id = v.project_id)
           AND (x.machine_class IS NULL OR k.machine_class = x.machine_class)
           AND k.last_seen_at > now() - interval '2 minutes') THEN v.avoid_runner END AS avoid_runner
FROM verifications v
JOIN bisections x ON x.project_id = v.project_id AND x.id = v.bisection_id
WHERE v.project_id = $1::bigint AND v.id = $2::bigint;

-- name: verification_pairs
-- In order.
-- in: project_id i64, verification_id i64
-- out: n i64, build i64, after_first bool, state text, job_id i64, before f64, after f64, job_state text,
--    job_reason text
SELECT q.n, q.build, q.after_first, q.state, q.job_id, q.before, q.after, j.state AS job_state,
       j.reason AS job_reason
FROM verification_pairs q
JOIN jobs j ON j.project_id = q.project_id AND j.id = q.job_id
WHERE q.project_id = $1::bigint AND q.verification_id = $2::bigint
ORDER BY q.n;

-- name: verification_pair_put
-- in: project_id i64, verification_id i64, n i64, build i64, after_first bool, job_id i64
INSERT INTO verification_pairs (project_id, verification_id, n, build, after_first, job_id)
VALUES ($1::bigint, $2::bigint, $3::int, $4::int, $5::boolean, $6::bigint);

-- name: verification_pair_end
-- before, after NULL: the pair failed.
-- in: project_id i64, verification_id i64, n i64, before f64, after f64
UPDATE verification_pairs
SET state = CASE WHEN $4::float8 IS NULL THEN 'failed' ELSE 'measured' END,
    before = $4::float8, after = $5::float8
WHERE project_id = $1::bigint AND verification_id = $2::bigint AND n = $3::int AND state = 'asked';

-- name: verification_note
-- in: project_id i64, id i64, state text, pairs i64, layouts i64, rel_change f64, rel_low f64, rel_high f64, p f64,
--    reason text?
UPDATE verifications SET state = $3, pairs = $4::int, layouts = $5::int, rel_change = $6::float8,
       rel_low = $7::float8, rel_high = $8::float8, p = $9::float8, reason = coalesce($10, ''),
       updated_at = statement_timestamp(),
       finished_at = CASE WHEN $3 <> 'running' THEN now() END
WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: verifications_of
-- in: project_id i64, bisection_id i64
-- out: id i64, before text, after text, state text, pairs i64, layouts i64, rel_change f64, rel_low f64,
--    rel_high f64, p f64, reason text, runners text
SELECT v.id, v.before, v.after, v.state, v.pairs, v.layouts, v.rel_change, v.rel_low, v.rel_high,
       v.p, v.reason,
       (SELECT string_agg(DISTINCT j.runner, ', ') FROM verification_pairs q
        JOIN jobs j ON j.project_id = q.project_id AND j.id = q.job_id
        WHERE q.project_id = v.project_id AND q.verification_id = v.id) AS runners
FROM verifications v
WHERE v.project_id = $1::bigint AND v.bisection_id = $2::bigint ORDER BY v.id;
