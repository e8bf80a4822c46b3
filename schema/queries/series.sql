-- name: series_list
-- A parameter that is NULL does not restrict.
-- also: once
-- in: project_id id, series_id id, metric text?, benchmark text?, backend text?, machine_class text?, branch text?,
--    headline_only bool, spark_length i64, cursor id, limit i64, ids i64[]?
-- out: id i64, project_id i64, project text, benchmark text, metric text, backend text, machine_class text,
--    branch text, unit text, higher_is_better bool, exact bool, headline bool, points i64, last_commit text,
--    last_time f64, last_median f64, noise_rel f64, watching i64, watching_of i64, detectable_rel f64,
--    level_points i64, judged bool, spark json, change_rel f64, change_regression bool, two_speeds json,
--    change_confirmed bool, change_alertable bool, change_withheld text, change_withheld_detail json, change_alert_id i64,
--    change_commit text, anchor text
SELECT s.id, s.project_id, p.name AS project, b.name AS benchmark, s.metric, s.backend,
       s.machine_class, s.branch, s.unit, s.higher_is_better, s.exact, s.headline, s.points,
       c.sha AS last_commit, extract(epoch FROM c.time)::float8 AS last_time, s.last_median,
       s.noise_rel, s.watching, s.watching_of, s.detectable_rel, s.level_points, s.judged,
       to_json(s.spark[greatest(1, cardinality(s.spark) - $9::int + 1):])::text AS spark,
       g.rel_change AS change_rel, g.regression AS change_regression,
       to_json(s.two_speeds)::text AS two_speeds, g.confirmed AS change_confirmed, g.firm AS change_alertable, g.withheld AS change_withheld,
       g.withheld_detail::text AS change_withheld_detail,
       (SELECT a.id FROM alerts a WHERE a.project_id = s.project_id AND a.change_point_id = g.id) AS change_alert_id,
       (SELECT k.sha FROM commits k WHERE k.project_id = s.project_id AND k.id = g.commit_id) AS change_commit,
       (SELECT k.sha FROM anchored w JOIN commits k ON k.project_id = w.project_id AND k.id = w.anchor_id
        WHERE w.project_id = s.project_id AND w.series_id = s.id ORDER BY w.run_id DESC LIMIT 1) AS anchor
FROM series s
JOIN projects p ON p.id = s.project_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
LEFT JOIN commits c ON c.project_id = s.project_id AND c.id = s.last_commit_id
LEFT JOIN LATERAL (
    SELECT x.id, x.rel_change, x.regression, x.confirmed, x.firm, x.commit_id, x.withheld, x.withheld_detail
    FROM change_points x
    JOIN branch_commits xb ON xb.project_id = x.project_id AND xb.commit_id = x.commit_id
        AND xb.branch = s.branch
    WHERE x.project_id = s.project_id AND x.series_id = s.id AND x.gone_at IS NULL AND x.kind = 'step'
    ORDER BY xb.position DESC NULLS LAST LIMIT 1) g ON true
WHERE ($1::bigint IS NULL OR s.project_id = $1) AND ($2::bigint IS NULL OR s.id = $2)
  AND ($3::text IS NULL OR s.metric = $3) AND ($4::text IS NULL OR b.name = $4)
  AND ($5::text IS NULL OR s.backend = $5) AND ($6::text IS NULL OR s.machine_class = $6)
  AND ($7::text IS NULL OR s.branch = $7)
  AND (NOT $8::boolean OR s.headline)
  AND ($10::bigint IS NULL OR s.id > $10)
  AND ($12::bigint[] IS NULL OR s.id = ANY ($12))
ORDER BY s.id LIMIT $11::int;

-- name: series_order
-- The ids of a page of series, in the order of sort, headline metrics first, but for "id". A parameter that is NULL does
-- not restrict. Words: patterns of LIKE, more_words divided by spaces, which find no index. cursor: the last series of
-- the page before. skip: series after it that are left out. Planned with the values of the parameters: what a CASE does
-- not take is gone then, and an index gives the order.
-- in: project_id i64, metric text?, benchmark text?, backend text?, machine_class text?, branch text?, word_1 text?,
--    word_2 text?, word_3 text?, more_words text?, headline_only bool, change text?, sort text, cursor id,
--    skip i64, limit i64
-- out: id i64
SELECT k.series_id AS id FROM series_keys k
WHERE k.project_id = $1::bigint
  AND ($2::text IS NULL OR k.metric = $2)
  AND ($3::text IS NULL OR k.series_id = ANY (ARRAY(
      SELECT s.id FROM benchmarks b JOIN series s ON s.project_id = b.project_id AND s.benchmark_id = b.id
      WHERE b.project_id = $1::bigint AND b.name = $3)))
  AND ($4::text IS NULL OR k.backend = $4) AND ($5::text IS NULL OR k.machine_class = $5)
  AND ($6::text IS NULL OR k.branch = $6)
  AND ($7::text IS NULL OR k.words LIKE lower($7)) AND ($8::text IS NULL OR k.words LIKE lower($8))
  AND ($9::text IS NULL OR k.words LIKE lower($9))
  AND ($10::text IS NULL OR k.words LIKE ALL (string_to_array(lower($10), ' ')))
  AND (NOT $11::boolean OR NOT k.plain)
  AND CASE $12 WHEN 'steady' THEN k.direction = 0
      WHEN 'regression' THEN k.direction <> 0 AND k.direction = 1
      WHEN 'improvement' THEN k.direction <> 0 AND k.direction = -1 ELSE true END
  AND CASE WHEN $14::bigint IS NULL THEN true
      WHEN $13 = 'id' THEN k.series_id > $14::bigint
      WHEN $13 = 'name' THEN (k.plain, k.name, k.metric, k.series_id) > (
          SELECT c.plain, c.name, c.metric, c.series_id FROM series_keys c
          WHERE c.project_id = $1::bigint AND c.series_id = $14::bigint)
      WHEN $13 = 'change' THEN (k.plain, k.change, k.name, k.metric, k.series_id) > (
          SELECT c.plain, c.change, c.name, c.metric, c.series_id FROM series_keys c
          WHERE c.project_id = $1::bigint AND c.series_id = $14::bigint)
      WHEN $13 = 'noise' THEN (k.plain, k.noise, k.name, k.metric, k.series_id) > (
          SELECT c.plain, c.noise, c.name, c.metric, c.series_id FROM series_keys c
          WHERE c.project_id = $1::bigint AND c.series_id = $14::bigint)
      ELSE (k.plain, coalesce((SELECT -extract(epoch FROM t.time)::float8 FROM series s
                               JOIN commits t ON t.project_id = s.project_id AND t.id = s.last_commit_id
                               WHERE s.project_id = k.project_id AND s.id = k.series_id), 'infinity'),
            k.name, k.metric, k.series_id) > (
          SELECT c.plain, coalesce(-extract(epoch FROM t.time)::float8, 'infinity'), c.name, c.metric, c.series_id
          FROM series_keys c
          JOIN series s ON s.project_id = c.project_id AND s.id = c.series_id
          LEFT JOIN commits t ON t.project_id = s.project_id AND t.id = s.last_commit_id
          WHERE c.project_id = $1::bigint AND c.series_id = $14::bigint) END
ORDER BY CASE WHEN $13 <> 'id' THEN k.plain END, CASE WHEN $13 = 'change' THEN k.change END,
         CASE WHEN $13 = 'noise' THEN k.noise END,
         CASE WHEN $13 = 'fresh' THEN coalesce((
             SELECT -extract(epoch FROM t.time)::float8 FROM series s
             JOIN commits t ON t.project_id = s.project_id AND t.id = s.last_commit_id
             WHERE s.project_id = k.project_id AND s.id = k.series_id), 'infinity') END,
         CASE WHEN $13 <> 'id' THEN k.name END, CASE WHEN $13 <> 'id' THEN k.metric END, k.series_id
OFFSET $15::bigint LIMIT $16::int;

-- name: window_points
-- Only the partitions between stored_from and stored_until are read, and the runs from run_from to run_to. OFFSET 0: as
-- in window_rest.
-- in: project_id i64, series_id i64, branch text, position_from id, position_to id, time_from f64, time_to f64,
--    stored_from timestamp, stored_until timestamp, run_from i64, run_to i64
-- row: window_point
-- out: position i64, commit text, subject text, author text, time f64, median f64, low f64, high f64, min f64, n i64,
--    run_id i64, machine_id i64, fingerprint text, infra bool, session text
SELECT b.position, c.sha AS commit, c.subject, c.author,
       extract(epoch FROM c.time)::float8 AS time, m.median, m.low, m.high, m.min, m.n, m.run_id,
       r.machine_id, k.fingerprint_hash AS fingerprint, r.infra, r.session_id AS session
FROM (SELECT commit_id, run_id, median, low, high, min, n FROM measurements
      WHERE project_id = $1::bigint AND series_id = $2::bigint AND stored_at BETWEEN $8::timestamptz AND $9::timestamptz
        AND run_id BETWEEN $10::bigint AND $11::bigint OFFSET 0) m
JOIN branch_commits b ON b.project_id = $1::bigint AND b.commit_id = m.commit_id AND b.branch = $3
JOIN commits c ON c.project_id = $1::bigint AND c.id = m.commit_id
JOIN runs r ON r.project_id = $1::bigint AND r.id = m.run_id
JOIN machines k ON k.id = r.machine_id
WHERE b.position IS NOT NULL
  AND ($4::bigint IS NULL OR b.position >= $4) AND ($5::bigint IS NULL OR b.position <= $5)
  AND ($6::float8 IS NULL OR c.time >= to_timestamp($6))
  AND ($7::float8 IS NULL OR c.time <= to_timestamp($7))
ORDER BY b.position, r.started_at, r.run_id;

-- name: window_confirmed
-- Those of the runs whose result in the series is confirmed by another of them.
-- in: project_id i64, series_id i64, run_ids i64[]
-- out: id i64
WITH e AS MATERIALIZED (
    SELECT * FROM result_evidence
    WHERE project_id = $1::bigint AND series_id = $2::bigint AND run_id = ANY ($3::bigint[]))
SELECT m.run_id AS id FROM e m
WHERE EXISTS (SELECT 1 FROM e o WHERE o.commit_id = m.commit_id AND o.run_id <> m.run_id AND result_confirms(
    o.low, o.high, o.infra, o.overtaken, o.job_id, m.low, m.high, m.infra, m.job_id))
ORDER BY m.run_id;

-- name: window_hidden
-- The number of results of the series that a quarantine hides.
-- in: project_id i64, series_id i64
-- value: hidden i64
SELECT count(*) AS hidden FROM quarantined_measurements WHERE project_id = $1::bigint AND series_id = $2::bigint;

-- name: window_changes
-- The data of a change point by subquery: nine joins took longer to plan than to run.
-- in: project_id i64, series_id i64, branch text
-- out: id i64, position i64, position_low i64, position_high i64, commit text, commit_low text, commit_high text,
--    before f64, after f64, rel_change f64, rel_low f64, rel_high f64, p f64, regression bool, confirmed bool,
--    alertable bool, alert_id i64, withheld text, withheld_detail json, blocks json, index i64, index_low i64,
--    index_high i64
SELECT x.id, b.position,
       coalesce((SELECT l.position FROM branch_commits l WHERE l.project_id = x.project_id
                 AND l.commit_id = x.commit_low_id AND l.branch = $3), b.position) AS position_low,
       coalesce((SELECT h.position FROM branch_commits h WHERE h.project_id = x.project_id
                 AND h.commit_id = x.commit_high_id AND h.branch = $3), b.position) AS position_high,
       (SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.commit_id) AS commit,
       (SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.commit_low_id) AS commit_low,
       (SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.commit_high_id) AS commit_high,
       x.before, x.after, x.rel_change, x.rel_low, x.rel_high, x.p, x.regression, x.confirmed, x.firm AS alertable,
       (SELECT a.id FROM alerts a WHERE a.project_id = x.project_id AND a.change_point_id = x.id)
           AS alert_id,
       x.withheld, x.withheld_detail::text AS withheld_detail, x.evidence::text AS blocks, 0 AS index, 0 AS index_low, 0 AS index_high
FROM change_points x
JOIN branch_commits b ON b.project_id = x.project_id AND b.commit_id = x.commit_id AND b.branch = $3
WHERE x.project_id = $1::bigint AND x.series_id = $2::bigint AND x.gone_at IS NULL AND x.kind = 'step'
  AND b.position IS NOT NULL
ORDER BY b.position;

-- name: machine_fingerprints
-- in: machine_ids i64[]
-- out: id i64, fingerprint json
SELECT id, fingerprint::text AS fingerprint FROM machines WHERE id = ANY ($1::bigint[]);

-- name: commit_position
-- position NULL: the commit is not on the branch. sha: its id or its first digits.
-- in: project_id i64, branch text, sha text
-- out: position i64
SELECT b.position FROM commits c
LEFT JOIN branch_commits b ON b.project_id = c.project_id AND b.commit_id = c.id AND b.branch = $2
WHERE c.project_id = $1::bigint AND c.sha LIKE $3 || '%' ORDER BY c.sha LIMIT 2;
