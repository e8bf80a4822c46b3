-- name: runs_list
-- sha: a commit or its first digits; NULL: all.
-- row: run
-- also: once
-- in: project_id i64, sha text?, cursor id, limit i64
-- out: run_id i64, id text, project_id i64, project text, commit text, branch text, suite text, machine_class text,
--    started_at f64, finished_at f64, infra bool, unsandboxed bool, extra bool,
--    quarantined bool, measurements i64, reproducibility text
SELECT r.id AS run_id, r.run_id AS id, r.project_id, p.name AS project, c.sha AS commit, r.branch,
       r.suite, k.class AS machine_class, extract(epoch FROM r.started_at)::float8 AS started_at,
       extract(epoch FROM r.finished_at)::float8 AS finished_at, r.infra, r.unsandboxed,
       EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id
               AND j.fence > r.job_fence) AS extra, r.quarantine_id IS NOT NULL AS quarantined,
       (SELECT sum(q.measurements)::bigint FROM run_parts q
        WHERE q.project_id = r.project_id AND q.run_id = r.id) AS measurements,
       run_reproducibility(r) AS reproducibility
FROM runs r
JOIN projects p ON p.id = r.project_id
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
JOIN machines k ON k.id = r.machine_id
WHERE r.project_id = $1::bigint AND ($2::text IS NULL OR c.sha LIKE $2 || '%')
  AND ($3::bigint IS NULL OR r.id < $3)
ORDER BY r.id DESC LIMIT $4::int;

-- name: runs_get
-- Two rows where several projects have the run_id. id: our number; run_id: the id in the document; one of them is
-- NULL.
-- row: run
-- also: once
-- in: project_id id, id id, run_id text?
-- out: run_id i64, id text, project_id i64, project text, commit text, branch text, suite text, machine_class text,
--    started_at f64, finished_at f64, infra bool, unsandboxed bool, extra bool,
--    quarantined bool, measurements i64, reproducibility text
SELECT r.id AS run_id, r.run_id AS id, r.project_id, p.name AS project, c.sha AS commit, r.branch,
       r.suite, k.class AS machine_class, extract(epoch FROM r.started_at)::float8 AS started_at,
       extract(epoch FROM r.finished_at)::float8 AS finished_at, r.infra, r.unsandboxed,
       EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id
               AND j.fence > r.job_fence) AS extra, r.quarantine_id IS NOT NULL AS quarantined,
       (SELECT sum(q.measurements)::bigint FROM run_parts q
        WHERE q.project_id = r.project_id AND q.run_id = r.id) AS measurements,
       (SELECT run_reproducibility(v) FROM runs v WHERE v.project_id = r.project_id AND v.id = r.id) AS reproducibility
FROM projects p
-- Runs are found by their project and an id: without a project each is asked.
CROSS JOIN LATERAL (SELECT a.* FROM runs a WHERE a.project_id = p.id AND a.id = $2::bigint
                    UNION ALL
                    SELECT b.* FROM runs b WHERE b.project_id = p.id AND b.run_id = $3) r
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
JOIN machines k ON k.id = r.machine_id
WHERE $1::bigint IS NULL OR p.id = $1
ORDER BY r.id LIMIT 2;

-- name: machine_find
-- in: machine_class text, name text, fingerprint_hash text
-- out: id i64, stale bool
SELECT id, last_seen_at < now() - interval '1 minute' AS stale FROM machines
WHERE class = $1 AND name = $2 AND fingerprint_hash = $3;

-- name: machine_insert
-- in: machine_class text, name text, fingerprint_hash text, fingerprint json
INSERT INTO machines (class, name, fingerprint_hash, fingerprint) VALUES ($1, $2, $3, $4::jsonb)
ON CONFLICT DO NOTHING;

-- name: machine_touch
-- in: id i64
UPDATE machines SET last_seen_at = now() WHERE id = $1::bigint;

-- name: run_lock
-- in: project_id i64, run_id text
-- out: id i64, header_hash text
SELECT id, header_hash FROM runs WHERE project_id = $1::bigint AND run_id = $2 FOR UPDATE;

-- name: run_part_find
-- The stored answer to a document.
-- in: project_id i64, run_id i64, body_hash text
-- out: series i64, samples i64
SELECT series, samples FROM run_parts
WHERE project_id = $1::bigint AND run_id = $2::bigint AND body_hash = $3;

-- name: run_part_by_key
-- The document for which a key was used.
-- in: project_id i64, key text
-- out: run_id i64, id text, body_hash text, series i64, samples i64
SELECT q.run_id, r.run_id AS id, q.body_hash, q.series, q.samples
FROM run_parts q JOIN runs r ON r.project_id = q.project_id AND r.id = q.run_id
WHERE q.project_id = $1::bigint AND q.key = $2;

-- name: benchmarks_ensure
-- In the order of names, so that transactions do not deadlock.
-- arrays: len
-- in: project_id i64, names text[], params text[]
INSERT INTO benchmarks (project_id, name, params)
SELECT DISTINCT ON (u.name) $1::bigint, u.name, u.params::jsonb
FROM unnest($2::text[], $3::text[]) AS u (name, params)
WHERE NOT EXISTS (SELECT 1 FROM benchmarks b WHERE b.project_id = $1::bigint AND b.name = u.name)
ORDER BY u.name
ON CONFLICT DO NOTHING;

-- name: series_ensure
-- arrays: len
-- in: project_id i64, machine_class text, branch text, benchmarks text[], metrics text[], backends text[],
--    units text[], higher_is_better bool[], exact bool[]
INSERT INTO series (project_id, benchmark_id, metric, backend, machine_class, branch, unit,
                    higher_is_better, exact, headline)
SELECT $1::bigint, b.id, u.metric, u.backend, $2, $3, u.unit, u.higher, u.exact, b.name = 'headline'
FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $9::boolean[])
     AS u (benchmark, metric, backend, unit, higher, exact)
JOIN benchmarks b ON b.project_id = $1::bigint AND b.name = u.benchmark
WHERE NOT EXISTS (
    SELECT 1 FROM series s WHERE s.project_id = $1::bigint AND s.benchmark_id = b.id
    AND s.metric = u.metric AND s.backend = u.backend AND s.machine_class = $2 AND s.branch = $3)
ORDER BY b.id, u.metric, u.backend
ON CONFLICT DO NOTHING;

-- name: measurements_overlap
-- The number of these series that the run has already.
-- in: project_id i64, run_id i64, series_ids i64[]
-- value: series_id i64
SELECT series_id FROM measurements
WHERE project_id = $1::bigint AND run_id = $2::bigint AND series_id = ANY ($3::bigint[]) LIMIT 1;

-- name: unmeasured_insert
-- arrays: len
-- in: project_id i64, run_id i64, benchmarks text[], metrics text[], backends text[], units text[],
--    higher_is_better bool[], exact bool[], broken bool[], reasons text[], params text[]
INSERT INTO unmeasured (project_id, run_id, benchmark, metric, backend, unit, higher_is_better,
                        exact, broken, reason, params)
SELECT $1::bigint, $2::bigint, u.benchmark, u.metric, u.backend, u.unit, u.higher, u.exact,
       u.broken, u.reason, u.params::jsonb
FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::boolean[],
            $9::boolean[], $10::text[], $11::text[])
     AS u (benchmark, metric, backend, unit, higher, exact, broken, reason, params);

-- name: run_document
-- The run without its measurements.
-- in: project_id i64, run_id i64
-- out: run_id text, project text, sha text, branch text, suite text, suite_hash text, job_id i64, job_fence i64,
--    infra bool, unsandboxed bool, session_id text, session_anchor text, session_base text, started_at f64,
--    finished_at f64, machine text, class text, fingerprint json, ceilings json
SELECT r.run_id, p.name AS project, c.sha, r.branch, r.suite, r.suite_hash, r.job_id, r.job_fence, r.infra,
       r.unsandboxed, r.session_id, r.session_anchor, r.session_base,
       extract(epoch FROM r.started_at)::float8 AS started_at,
       extract(epoch FROM r.finished_at)::float8 AS finished_at,
       k.name AS machine, k.class, k.fingerprint::text AS fingerprint,
       (SELECT q.ceilings::text FROM run_parts q WHERE q.project_id = r.project_id AND q.run_id = r.id
        AND q.ceilings IS NOT NULL ORDER BY q.received_at, q.body_hash LIMIT 1) AS ceilings
FROM runs r
JOIN projects p ON p.id = r.project_id
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
JOIN machines k ON k.id = r.machine_id
WHERE r.project_id = $1::bigint AND r.id = $2::bigint;

-- name: run_measurements
-- Measured and unmeasured results, by name. operations, bytes: 0 when they were not stated.
-- in: project_id i64, run_id i64
-- out: benchmark text, metric text, backend text, unit text, higher_is_better bool, exact bool, status i64,
--    reason text, samples f64[], blocks u32[], visit_blocks u32[], visit_positions u32[], params json, extra json,
--    operations f64, bytes f64
SELECT b.name AS benchmark, s.metric, s.backend, s.unit, s.higher_is_better, s.exact, 0 AS status,
       NULL AS reason, m.samples, m.blocks, m.visit_blocks, m.visit_positions, b.params::text AS params,
       m.extra::text AS extra, coalesce(m.operations, 0) AS operations, coalesce(m.bytes, 0) AS bytes
FROM runs r
JOIN measurements m ON m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE r.project_id = $1::bigint AND r.id = $2::bigint
UNION ALL
SELECT benchmark, metric, backend, unit, higher_is_better, exact,
       CASE WHEN broken THEN 1 ELSE 2 END, reason, '{}', '{}', NULL, NULL, params::text, '{}', 0, 0
FROM unmeasured WHERE project_id = $1::bigint AND run_id = $2::bigint
ORDER BY benchmark, metric, backend;

-- name: compare_side
-- Runs whose canary moved count only when there are no others.
-- in: project_id i64, commit_id id, run_id id, backend text?, machine_class text?
-- out: series_id i64, benchmark text, metric text, backend text, machine_class text, branch text, unit text,
--    higher_is_better bool, exact bool, samples f64[], blocks u32[], run text, machine_id i64, started_at f64,
--    confirmed bool, infra bool, session text?, object text
SELECT s.id AS series_id, b.name AS benchmark, s.metric, s.backend, s.machine_class, s.branch, s.unit,
       s.higher_is_better, s.exact, m.samples, m.blocks, r.run_id AS run, r.machine_id,
       extract(epoch FROM r.started_at)::float8 AS started_at, v.run_id IS NOT NULL AS confirmed, r.infra,
       r.session_id AS session, m.extra ->> 'object' AS object
FROM measurements m
JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id
    AND ($2::bigint IS NULL OR r.commit_id = $2) AND ($3::bigint IS NULL OR r.id = $3)
JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
LEFT JOIN confirmed_results($1::bigint, coalesce($2::bigint, (
    SELECT o.commit_id FROM runs o WHERE o.project_id = $1::bigint AND o.id = $3::bigint)), $3::bigint) v
    ON v.series_id = m.series_id AND v.run_id = m.run_id
WHERE m.project_id = $1::bigint AND ($2::bigint IS NULL OR m.commit_id = $2)
  AND ($3::bigint IS NULL OR (m.run_id = $3 AND m.commit_id = (
      SELECT o.commit_id FROM runs o WHERE o.project_id = $1::bigint AND o.id = $3)))
  AND ($4::text IS NULL OR s.backend = $4) AND ($5::text IS NULL OR s.machine_class = $5)
  AND (NOT r.infra OR $3::bigint IS NOT NULL OR NOT EXISTS (
      SELECT 1 FROM runs o WHERE o.project_id = $1::bigint AND o.commit_id = $2 AND NOT o.infra
      AND o.quarantine_id IS NULL))
ORDER BY b.name COLLATE "C", s.metric COLLATE "C", s.backend COLLATE "C",
         s.machine_class COLLATE "C", r.id;

-- name: compare_histories
-- The newest medians of these series in the order of history, as of their last detection.
-- in: project_id i64, series_ids i64[]
-- out: id i64, medians f64[]
SELECT id, coalesce(spark, '{}') AS medians FROM series
WHERE project_id = $1::bigint AND id = ANY ($2::bigint[]) AND NOT exact ORDER BY id;

-- name: hidden_of_target
-- The number of results of a commit or of a run that a quarantine hides.
-- in: project_id i64, commit_id id, run_id id, backend text?, machine_class text?
-- value: hidden i64
SELECT count(*) AS hidden FROM runs r
JOIN quarantined_measurements m ON m.project_id = r.project_id AND m.run_id = r.id
JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
WHERE r.project_id = $1::bigint AND ($2::bigint IS NULL OR r.commit_id = $2)
  AND ($3::bigint IS NULL OR r.id = $3) AND ($4::text IS NULL OR s.backend = $4)
  AND ($5::text IS NULL OR s.machine_class = $5);

-- name: compare_broken
-- The newest broken result of each name.
-- in: project_id i64, commit_id id, run_id id, backend text?, machine_class text?
-- out: benchmark text, metric text, backend text, machine_class text, unit text, higher_is_better bool, exact bool,
--    reason text, run text, machine_id i64, started_at f64
SELECT DISTINCT ON (u.benchmark COLLATE "C", u.metric COLLATE "C", u.backend COLLATE "C", k.class COLLATE "C")
       u.benchmark, u.metric, u.backend, k.class AS machine_class, u.unit, u.higher_is_better, u.exact, u.reason,
       r.run_id AS run, r.machine_id, extract(epoch FROM r.started_at)::float8 AS started_at
FROM runs r
JOIN machines k ON k.id = r.machine_id
JOIN unmeasured u ON u.project_id = r.project_id AND u.run_id = r.id AND u.broken
WHERE r.project_id = $1::bigint AND ($2::bigint IS NULL OR r.commit_id = $2)
  AND ($3::bigint IS NULL OR r.id = $3) AND ($4::text IS NULL OR u.backend = $4)
  AND ($5::text IS NULL OR k.class = $5)
ORDER BY u.benchmark COLLATE "C", u.metric COLLATE "C", u.backend COLLATE "C", k.class COLLATE "C",
         r.started_at DESC, r.run_id DESC;
