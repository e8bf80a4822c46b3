-- name: bisections_list
-- A parameter that is NULL does not restrict. words: all of them occur in the names, the ends, the culprits or the
-- verdict.
-- also: once
-- in: project_id id, id id, cursor id, limit i64, words text?
-- out: id i64, project_id i64, project text, mode text, state text, reason text, branch text, machine_class text,
--    metric text, benchmark text, backend text, good text, bad text, verdict text, culprits json, steps json,
--    runs i64, builds i64, commits_measured i64, seconds f64, alert_id i64, actor text, expected_runs f64,
--    commits i64, created_at f64, finished_at f64, stopped json, counts json, failure json
SELECT x.id, x.project_id, p.name AS project, x.mode, x.state, x.reason, x.branch, x.machine_class,
       x.metric, x.benchmark, x.backend, x.good, x.bad, x.verdict, x.culprits::text AS culprits,
       CASE WHEN x.mode = 'report' THEN x.steps::text END AS steps, x.runs, x.builds,
       x.commits_measured, CASE WHEN x.state = 'running'
           THEN extract(epoch FROM now() - x.created_at)::float8 ELSE x.seconds END AS seconds,
       x.alert_id, x.actor, x.expected_runs, cardinality(x.line) AS commits,
       extract(epoch FROM x.created_at)::float8 AS created_at,
       extract(epoch FROM x.finished_at)::float8 AS finished_at, x.stopped::text AS stopped,
       n.counts::text AS counts, f.failure::text AS failure
FROM bisections x JOIN projects p ON p.id = x.project_id
-- A stored run is no measurement of this search, and a job that failed is neither.
LEFT JOIN LATERAL (
    SELECT json_build_object(
        'stored', count(*) FILTER (WHERE s.job_id IS NULL),
        'measured', count(*) FILTER (WHERE s.job_id IS NOT NULL AND s.state = 'measured'),
        'broken', count(*) FILTER (WHERE s.job_id IS NOT NULL AND s.state = 'broken'),
        'failed', count(*) FILTER (WHERE s.job_id IS NOT NULL AND s.state = 'failed'),
        'timed_out', count(*) FILTER (WHERE s.job_id IS NOT NULL AND s.state = 'timed_out'),
        'waiting', count(*) FILTER (WHERE s.state = 'asked')) AS counts
    FROM bisection_steps s WHERE s.project_id = x.project_id AND s.bisection_id = x.id
) n ON x.mode = 'remote'
-- The first job without a value, with its reason. Where no runner completed it, or it exceeded its time, the fault is
-- probably with the machines and not with the commit.
LEFT JOIN LATERAL (
    SELECT json_build_object(
        'commit', x.line[s.place + 1], 'job_id', s.job_id, 'state', s.state,
        'reason', coalesce(nullif(s.reason, ''), j.reason, s.state),
        'infrastructure', s.state = 'timed_out'
            OR starts_with(coalesce(j.reason, ''), 'the lease ran out')) AS failure
    FROM bisection_steps s
    LEFT JOIN jobs j ON j.project_id = s.project_id AND j.id = s.job_id
    WHERE s.project_id = x.project_id AND s.bisection_id = x.id
      AND s.state IN ('broken', 'failed', 'timed_out')
    ORDER BY s.n LIMIT 1
) f ON x.mode = 'remote'
WHERE ($1::bigint IS NULL OR x.project_id = $1) AND ($2::bigint IS NULL OR x.id = $2)
  AND ($3::bigint IS NULL OR x.id < $3)
  AND ($5::text IS NULL OR NOT EXISTS (
      SELECT 1 FROM unnest(string_to_array(lower($5), ' ')) AS w
      WHERE position(w IN lower(concat_ws(' ', x.metric, x.benchmark, x.backend, x.machine_class, x.verdict, x.good, x.bad,
                                x.culprits::text))) = 0))
ORDER BY x.id DESC LIMIT $4::int;

-- name: bisection_insert
-- in: project_id i64, metric text, benchmark text, backend text, good text, bad text, verdict text, culprits json,
--    steps text?, runs i64, builds i64, commits_measured i64, seconds f64, alert_id id, actor text, stopped json?
-- value: id i64
INSERT INTO bisections (project_id, metric, benchmark, backend, good, bad, verdict, culprits, steps,
                        runs, builds, commits_measured, seconds, alert_id, actor, stopped)
VALUES ($1::bigint, $2, $3, $4, $5, $6, $7, $8::jsonb, coalesce($9, '[]')::jsonb, $10::bigint,
        $11::bigint, $12::bigint, $13::float8, $14::bigint, $15, $16::jsonb)
RETURNING id;

-- name: bisection_line
-- Both ends as the branch has them. good, bad: ids of commits or their first digits.
-- in: project_id i64, branch text, good text, bad text
-- out: sha text, position i64, which text
SELECT c.sha, b.position, CASE WHEN c.sha LIKE $3 || '%' THEN 'good' ELSE 'bad' END AS which
FROM commits c
LEFT JOIN branch_commits b ON b.project_id = c.project_id AND b.commit_id = c.id AND b.branch = $2
WHERE c.project_id = $1::bigint AND (c.sha LIKE $3 || '%' OR c.sha LIKE $4 || '%')
ORDER BY c.sha LIMIT 5;

-- name: bisection_before
-- The commit before this one on the branch.
-- in: project_id i64, branch text, sha text
-- out: sha text
SELECT p.sha FROM commits c
JOIN branch_commits b ON b.project_id = c.project_id AND b.commit_id = c.id AND b.branch = $2
JOIN branch_commits q ON q.project_id = b.project_id AND q.branch = b.branch
    AND q.position = b.position - 1
JOIN commits p ON p.project_id = q.project_id AND p.id = q.commit_id
WHERE c.project_id = $1::bigint AND c.sha = $3;

-- name: bisection_range
-- Oldest first.
-- in: project_id i64, branch text, position_from i64, position_to i64, limit i64
-- out: sha text, paths text[]
SELECT c.sha, c.paths
FROM branch_commits b JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position BETWEEN $3::bigint AND $4::bigint
ORDER BY b.position LIMIT $5::int;

-- name: bisection_series
-- The series that match, headline series first, then those with most points. A parameter that is NULL does not
-- restrict.
-- in: project_id i64, branch text, metric text, benchmark text?, backend text?, machine_class text?
-- out: id i64, benchmark text, backend text, machine_class text, higher_is_better bool, exact bool, headline bool,
--    noise_rel f64
SELECT s.id, b.name AS benchmark, s.backend, s.machine_class, s.higher_is_better, s.exact,
       s.headline, s.noise_rel
FROM series s JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE s.project_id = $1::bigint AND s.branch = $2 AND s.metric = $3
  AND ($4::text IS NULL OR b.name = $4) AND ($5::text IS NULL OR s.backend = $5)
  AND ($6::text IS NULL OR s.machine_class = $6)
ORDER BY s.headline DESC, s.points DESC, s.id LIMIT 20;

-- name: bisection_stored
-- Runs of the series at these commits on the machine that has most of them, newest first; without runs of overtaken
-- leases.
-- in: project_id i64, series_id i64, shas text[]
-- out: sha text, run_id i64, layout i64, suite text, median f64, samples f64[], blocks u32[], started_at timestamp
WITH found AS MATERIALIZED (
    SELECT c.sha, r.id AS run_id, r.machine_id, r.suite, m.median, m.samples, m.blocks, r.started_at,
           coalesce((j.task ->> 'layout')::int, 0) AS layout
    FROM measurements m
    JOIN commits c ON c.project_id = m.project_id AND c.id = m.commit_id
    JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id
    LEFT JOIN jobs j ON j.project_id = r.project_id AND j.id = r.job_id
    WHERE m.project_id = $1::bigint AND m.series_id = $2::bigint AND c.sha = ANY ($3::text[])
      AND NOT r.infra AND m.median > 0 AND (j.fence > r.job_fence) IS NOT TRUE),
best AS (SELECT machine_id FROM found GROUP BY machine_id ORDER BY count(*) DESC, machine_id DESC
         LIMIT 1)
SELECT sha, run_id, layout, suite, median, samples, blocks, started_at
FROM found WHERE machine_id = (SELECT machine_id FROM best)
ORDER BY started_at DESC, run_id DESC LIMIT 2000;

-- name: bisection_start
-- in: project_id i64, metric text, benchmark text, backend text, branch text, machine_class text, line text[],
--    prior f64[]?, options json, higher_is_better bool?, exact bool, alert_id id, actor text, expected_runs f64
-- value: id i64
INSERT INTO bisections (project_id, mode, state, metric, benchmark, backend, branch, machine_class,
                        line, prior, options, higher_is_better, exact, alert_id, actor, good, bad,
                        culprits, runs, builds, commits_measured, seconds, expected_runs)
VALUES ($1::bigint, 'remote', 'running', $2, $3, $4, $5, $6, $7::text[], $8::float8[], $9::jsonb,
        $10::boolean, $11::boolean, $12::bigint, $13, ($7::text[])[1],
        ($7::text[])[cardinality($7::text[])], '[]', 0, 0, 0, 0, $14::float8)
RETURNING id;

-- name: bisection_step_put
-- A step without a value is requested and not measured yet.
-- in: project_id i64, bisection_id i64, n i64, place i64, layout i64, job_id id, run_id id, value f64
INSERT INTO bisection_steps (project_id, bisection_id, n, place, layout, state, job_id, run_id,
                             value, ended_at)
VALUES ($1::bigint, $2::bigint, $3::int, $4::int, $5::int,
        CASE WHEN $8::float8 IS NULL THEN 'asked' ELSE 'measured' END, $6::bigint, $7::bigint,
        $8::float8, CASE WHEN $8::float8 IS NOT NULL THEN now() END);

-- name: bisection_due
-- A running bisection that has a step to do.
-- out: id i64, project_id i64
-- plan: generic
SELECT x.id, x.project_id FROM bisections x
WHERE x.state = 'running' AND (
    NOT EXISTS (SELECT 1 FROM bisection_steps s WHERE s.project_id = x.project_id
                AND s.bisection_id = x.id AND s.state = 'asked')
    OR EXISTS (SELECT 1 FROM bisection_steps s
               JOIN jobs j ON j.project_id = s.project_id AND j.id = s.job_id
               WHERE s.project_id = x.project_id AND s.bisection_id = x.id AND s.state = 'asked'
                 AND j.state NOT IN ('queued', 'leased')))
ORDER BY x.updated_at, x.id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: bisection_load
-- in: project_id i64, id i64
-- out: metric text, benchmark text, backend text, branch text, machine_class text, line text[], prior f64[],
--    options json, higher_is_better bool?, exact bool, alert_id i64, state text, seconds f64, posterior f64[],
--    expected_runs f64
SELECT metric, benchmark, backend, branch, machine_class, line, prior,
       options::text AS options, higher_is_better, exact, alert_id, state,
       extract(epoch FROM now() - created_at)::float8 AS seconds, posterior, expected_runs
FROM bisections WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: bisection_steps
-- In the planner's order.
-- in: project_id i64, bisection_id i64
-- out: n i64, place i64, layout i64, state text, job_id i64, run_id i64, value f64, reason text, job_state text,
--    job_reason text, runner text, commit text, run text, seconds f64
SELECT s.n, s.place, s.layout, s.state, s.job_id, s.run_id, s.value, s.reason, j.state AS job_state,
       j.reason AS job_reason, j.runner, x.line[s.place + 1] AS commit, r.run_id AS run,
       extract(epoch FROM coalesce(j.finished_at, now()) - j.started_at)::float8 AS seconds
FROM bisection_steps s
JOIN bisections x ON x.project_id = s.project_id AND x.id = s.bisection_id
LEFT JOIN jobs j ON j.project_id = s.project_id AND j.id = s.job_id
LEFT JOIN runs r ON r.project_id = s.project_id AND r.id = s.run_id
WHERE s.project_id = $1::bigint AND s.bisection_id = $2::bigint
ORDER BY s.n;

-- name: job_values
-- The values that the job's runs have for the metric, headline series first. A parameter that is NULL does not
-- restrict.
-- in: project_id i64, job_id i64, metric text, benchmark text?, backend text?
-- out: run_id i64, benchmark text, backend text, median f64, headline bool, higher_is_better bool, exact bool,
--    sha text
SELECT r.id AS run_id, b.name AS benchmark, s.backend, m.median, s.headline, s.higher_is_better,
       s.exact, c.sha
FROM jobs j
JOIN runs r ON r.project_id = j.project_id AND r.run_id = ANY (j.run_ids)
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
JOIN measurements m ON m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE j.project_id = $1::bigint AND j.id = $2::bigint AND s.metric = $3
  AND ($4::text IS NULL OR b.name = $4) AND ($5::text IS NULL OR s.backend = $5)
ORDER BY s.headline DESC, b.name, s.backend LIMIT 10;

-- name: bisection_step_end
-- in: project_id i64, bisection_id i64, n i64, state text, run_id id, value f64, reason text?
UPDATE bisection_steps SET state = $4, run_id = $5::bigint, value = $6::float8,
       reason = coalesce($7, ''), ended_at = now()
WHERE project_id = $1::bigint AND bisection_id = $2::bigint AND n = $3::int AND state = 'asked';

-- name: bisection_runners
-- The number of runners with a recent heartbeat or a job.
-- in: machine_class text?
-- value: count i64
SELECT count(*) FROM runners k
WHERE ($1::text IS NULL OR k.machine_class = $1)
  AND (k.last_seen_at > now() - interval '2 minutes'
       OR EXISTS (SELECT 1 FROM jobs j WHERE j.runner = k.name AND j.state = 'leased'));

-- name: bisection_progress
-- in: project_id i64, id i64, posterior f64[], expected_runs f64, runs i64, builds i64, commits_measured i64,
--    higher_is_better bool?, exact bool
UPDATE bisections SET posterior = $3::float8[], expected_runs = $4::float8, runs = $5::bigint,
       builds = $6::bigint, commits_measured = $7::bigint, higher_is_better = $8::boolean,
       exact = $9::boolean, updated_at = statement_timestamp()
WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: bisection_finish
-- in: project_id i64, id i64, state text, verdict text, culprits text?, reason text?, stopped json?
-- value: id i64
UPDATE bisections SET state = $3, verdict = $4, culprits = coalesce($5, '[]')::jsonb,
       stopped = $7::jsonb,
       reason = coalesce($6, ''), expected_runs = 0, updated_at = statement_timestamp(),
       finished_at = now(), seconds = extract(epoch FROM now() - created_at)
WHERE project_id = $1::bigint AND id = $2::bigint AND state = 'running'
RETURNING id;

-- name: bisection_jobs_cancel
-- A queued job ends at once, a leased job when its runner reports next.
-- in: project_id i64, bisection_id i64
-- out: id i64
UPDATE jobs j SET cancel_requested = true,
       state = CASE WHEN j.state = 'queued' THEN 'cancelled' ELSE j.state END,
       finished_at = CASE WHEN j.state = 'queued' THEN statement_timestamp() ELSE j.finished_at END
FROM bisection_steps s
WHERE s.project_id = $1::bigint AND s.bisection_id = $2::bigint AND s.state = 'asked'
  AND j.project_id = s.project_id AND j.id = s.job_id AND j.state IN ('queued', 'leased')
RETURNING j.id;

-- name: bisection_notify
-- Sends the bisection's present state to listeners.
-- in: id i64
SELECT pg_notify('perfci', json_build_object('type', 'bisection', 'project', p.name, 'id', x.id,
                 'state', x.state, 'verdict', x.verdict, 'runs', x.runs,
                 'expected_runs', x.expected_runs)::text)
FROM bisections x JOIN projects p ON p.id = x.project_id WHERE x.id = $1::bigint;
