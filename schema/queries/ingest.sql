-- Storing runs, one or many in one transaction: every statement takes arrays, one element a run or a measurement.

-- name: group_resolve
-- In the order of the arrays; without a row for a project that does not exist. branches: NULL for the project's
-- branch. keys: NULL for none. commit_id NULL: not known on the branch. machine_id NULL: unknown, or not seen for a
-- minute. key_used: the key belongs to a stored document. moved: the machine has an open event.
-- arrays: len
-- in: project_ids i64[], branches text[], shas text[], machine_classes text[], machine_names text[],
--    fingerprint_hashes text[], keys text[]
-- out: ordinal i64, project text, branch text, commit_id i64, machine_id i64, key_used bool, moved bool
-- plan: generic
SELECT u.ordinal, p.name AS project, coalesce(u.branch, p.branch) AS branch, c.id AS commit_id,
       k.id AS machine_id,
       u.key IS NOT NULL AND EXISTS (
           SELECT 1 FROM run_parts q WHERE q.project_id = p.id AND q.key = u.key) AS key_used,
       EXISTS (SELECT 1 FROM environment_events e WHERE e.project_id = p.id AND e.machine_id = k.id
               AND e.closed_at IS NULL) AS moved
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
     WITH ORDINALITY AS u (project_id, branch, sha, class, name, fingerprint, key, ordinal)
JOIN projects p ON p.id = u.project_id
LEFT JOIN commits c ON c.project_id = u.project_id AND c.sha = u.sha AND EXISTS (
    SELECT 1 FROM branch_commits b WHERE b.project_id = c.project_id
    AND b.branch = coalesce(u.branch, p.branch) AND b.commit_id = c.id)
LEFT JOIN machines k ON k.class = u.class AND k.name = u.name AND k.fingerprint_hash = u.fingerprint
    AND k.last_seen_at >= now() - interval '1 minute'
ORDER BY u.ordinal;

-- name: series_find
-- In the order of the arrays. id NULL: the series does not exist.
-- arrays: len
-- in: project_ids i64[], machine_classes text[], branches text[], benchmarks text[], metrics text[], backends text[]
-- out: id i64, unit text, higher_is_better bool
SELECT s.id, s.unit, s.higher_is_better
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
     WITH ORDINALITY AS u (project_id, class, branch, benchmark, metric, backend, ordinal)
LEFT JOIN benchmarks b ON b.project_id = u.project_id AND b.name = u.benchmark
LEFT JOIN series s ON s.project_id = u.project_id AND s.benchmark_id = b.id AND s.metric = u.metric
    AND s.backend = u.backend AND s.machine_class = u.class AND s.branch = u.branch
ORDER BY u.ordinal;

-- name: exact_lock
-- In one order, so that transactions do not deadlock.
-- arrays: len
-- in: project_ids i64[], commit_ids i64[]
-- out: count i64
SELECT count(pg_advisory_xact_lock(k)) FROM (
    SELECT DISTINCT hashtextextended('exact ' || u.project_id || ' ' || u.commit_id, 0) AS k
    FROM unnest($1::bigint[], $2::bigint[]) AS u (project_id, commit_id) ORDER BY 1) t;

-- name: exact_conflicts
-- Exact results about to be stored that differ from the first stored result of their place. ordinal: index in the
-- arrays, from 1. run_id 0: the other result is an earlier one of the arrays. All stored results of a place are
-- equal, so that the oldest is compared. Builds of a search have another layout each time, which may change exact
-- results. job_ids: 0 for none.
-- arrays: len
-- in: places i64[], project_ids i64[], commit_ids i64[], fingerprint_hashes text[], series_ids i64[], values f64[],
--    job_ids i64[]
-- out: ordinal i64, value f64, run_id i64
WITH u AS MATERIALIZED (
    SELECT t.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::float8[], $7::bigint[])
         WITH ORDINALITY AS t (place, project_id, commit_id, fingerprint, series_id, value, job_id, ordinal)
    WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = t.project_id AND j.id = t.job_id
                      AND (j.kind IN ('bisect', 'verify') OR j.task ? 'metric')))
SELECT u.ordinal, o.value, o.run_id
FROM u CROSS JOIN LATERAL (
    SELECT m.median AS value, r.id AS run_id
    FROM runs r
    JOIN machines k ON k.id = r.machine_id AND k.fingerprint_hash = u.fingerprint
    CROSS JOIN LATERAL (
        SELECT x.median FROM measurements x
        WHERE x.project_id = r.project_id AND x.series_id = u.series_id AND x.run_id = r.id OFFSET 0) m
    WHERE r.project_id = u.project_id AND r.commit_id = u.commit_id
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id
                      AND (j.kind IN ('bisect', 'verify') OR j.task ? 'metric'))
    ORDER BY r.id LIMIT 1) o
WHERE o.value <> u.value
UNION ALL
SELECT u.ordinal, e.value, 0
FROM u JOIN u e ON e.project_id = u.project_id AND e.commit_id = u.commit_id AND e.series_id = u.series_id
    AND e.fingerprint = u.fingerprint AND e.place < u.place AND e.value <> u.value
ORDER BY 1;

-- name: runs_store
-- Stores the runs with their part, their detect job where they have results and their row in the audit log. announce:
-- sends their event, too; else run_notify has to follow. ids: 0 for a new run, else the stored one that gets a further
-- part. A new run whose run_id is stored already has no row. place: index in the arrays, from 1. Sorted, so that two
-- groups with the same runs do not deadlock. job_ids: 0 for none; a number that is no runner's job of the project is
-- dropped, because another job may get it later. job_fences: 0 for none. sessions, session_anchors, session_bases: NULL
-- for none. ceilings: the member of the document; NULL for none.
-- arrays: len
-- in: project_ids i64[], run_ids text[], header_hashes text[], commit_ids i64[], branches text[], suites text[],
--    suite_hashes text[], machine_ids i64[], job_ids i64[], infra bool[], started_at f64[], finished_at f64[],
--    body_hashes text[], keys text[], measurements i64[], series i64[], samples i64[], actors text[],
--    projects text[], shas text[], job_fences i64[], sessions text[], session_anchors text[], session_bases text[],
--    unsandboxed bool[], ids i64[], ceilings text[], announce bool
-- out: place i64, id i64, count void, pg_notify void
WITH u AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[],
                         $7::text[], $8::bigint[], $9::bigint[], $10::boolean[], $11::float8[],
                         $12::float8[], $13::text[], $14::text[], $15::bigint[], $16::bigint[],
                         $17::bigint[], $18::text[], $19::text[], $20::text[], $21::bigint[], $22::text[],
                         $23::text[], $24::text[], $25::boolean[], $26::bigint[], $27::text[])
         WITH ORDINALITY
         AS t (project_id, run_id, header, commit_id, branch, suite, suite_hash, machine_id, job_id,
               infra, started, finished, body, key, measurements, series, samples, actor, project,
               sha, job_fence, session, session_anchor, session_base, unsandboxed, stored_id, ceilings, place)),
made AS (
    INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash,
                      machine_id, job_id, infra, started_at, finished_at, job_fence, session_id,
                      session_anchor, session_base, unsandboxed)
    SELECT project_id, run_id, header, commit_id, branch, suite, suite_hash, machine_id,
           CASE WHEN job_id > 0 THEN (SELECT j.id FROM jobs j WHERE j.project_id = u.project_id
                                      AND j.id = u.job_id AND j.kind NOT IN ('detect', 'notify')) END,
           infra, to_timestamp(started), to_timestamp(finished), nullif(job_fence, 0), session,
           session_anchor, session_base, unsandboxed
    FROM u WHERE stored_id = 0 ORDER BY project_id, run_id
    ON CONFLICT (project_id, run_id) DO NOTHING
    RETURNING id, project_id, run_id),
r AS MATERIALIZED (
    SELECT m.id, u.* FROM made m JOIN u ON u.project_id = m.project_id AND u.run_id = m.run_id
    UNION ALL
    SELECT u.stored_id, u.* FROM u WHERE u.stored_id > 0),
parts AS (
    INSERT INTO run_parts (project_id, run_id, body_hash, key, measurements, series, samples, ceilings)
    SELECT project_id, id, body, key, measurements, series, samples, ceilings::jsonb FROM r),
judged AS (
    INSERT INTO jobs (project_id, kind, run_id)
    SELECT project_id, 'detect', id FROM r WHERE measurements > 0
    RETURNING id),
audited AS (
    INSERT INTO audit (actor, action, project_id, object, detail)
    SELECT actor, 'ingest', project_id, 'run ' || id, run_id FROM r)
SELECT r.place, r.id,
       -- The word of a group is one event for 40 of its runs: 8,000 bytes are the most that one may have.
       (SELECT count(pg_notify('perfci', json_build_object('type', 'run', 'project', g.project,
                                                           'runs', g.runs)::text))
        FROM (SELECT project, json_agg(json_build_object('run_id', id, 'id', run_id, 'commit', sha)
                                       ORDER BY place) AS runs
              FROM r WHERE $28::boolean GROUP BY project, (place - 1) / 40) AS g),
       (SELECT pg_notify('perfci', json_build_object('type', 'detect', 'id', max(id))::text)
        FROM judged HAVING count(*) > 0)
FROM r;

-- name: run_notify
-- The event of a run that was stored alone.
-- in: project text, run_id i64, id text, commit text
SELECT pg_notify('perfci', json_build_object('type', 'run', 'project', $1::text, 'run_id', $2::bigint, 'id', $3::text,
                                             'commit', $4::text)::text);

-- name: measurements_copy
-- operations, bytes: 0 is NULL.
-- copy: project_id i64, series_id i64, run_id i64, commit_id i64, n i32, median f64, low f64, high f64, min f64,
--    samples f64[], blocks u32[], extra json, visit_blocks u32[]?, visit_positions u32[]?,
--    operations f64?, bytes f64?
COPY measurements (project_id, series_id, run_id, commit_id, n, median, low, high, min, samples,
                   blocks, extra, visit_blocks, visit_positions, operations, bytes) FROM STDIN (FORMAT binary);
