-- name: jobs_list
-- A parameter that is NULL does not restrict, but the server's own jobs (detect, notify) are listed only by their
-- kind. position: of the first `places` queued jobs; they are counted once, and only if a row is queued, so that the
-- cost does not grow with the queue.
-- also: once
-- in: project_id id, state text?, kind text?, job_id id, cursor id, limit i64, places i64
-- out: id i64, project_id i64, project text, kind text, state text, commit text, branch text, suite text,
--    source text, build text, measure text, labels json, priority i64, tries i64, fence i64, runner text,
--    reason text, progress text, run_ids json, parents json, task json, session text, cancel_requested bool,
--    run_id i64, created_at f64, started_at f64, finished_at f64, position i64, rerun_of i64, rerun_rule text,
--    rerun_number i64, rerun_times i64, rerun_note text, not_before f64, reproducibility text,
--    unsandboxed bool
WITH page AS MATERIALIZED (
    SELECT * FROM jobs
    WHERE ($1::bigint IS NULL OR project_id = $1) AND ($2::text IS NULL OR state = $2)
      AND (kind = $3 OR ($3::text IS NULL AND (kind NOT IN ('detect', 'notify') OR $4::bigint IS NOT NULL)))
      AND id BETWEEN coalesce($4::bigint, 0) AND coalesce($4, 9223372036854775807) -- a range of the index
      AND ($5::bigint IS NULL OR id < $5)
    ORDER BY id DESC LIMIT $6::int),
queue AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY priority DESC, id) AS position
    FROM jobs WHERE state = 'queued' AND kind NOT IN ('detect', 'notify')
    AND EXISTS (SELECT 1 FROM page WHERE page.state = 'queued')
    ORDER BY priority DESC, id LIMIT $7::bigint)
SELECT j.id, j.project_id, p.name AS project, j.kind, j.state, j.sha AS commit, j.branch, j.suite,
       coalesce(j.source, p.repo_url) AS source, p.build, p.measure, j.labels::text AS labels,
       j.priority, j.tries, j.fence, j.runner, j.reason, j.progress, to_json(j.run_ids)::text AS run_ids,
       to_json(j.parents)::text AS parents,
       j.task::text AS task, j.session_id AS session,
       j.cancel_requested, j.run_id, extract(epoch FROM j.created_at)::float8 AS created_at,
       extract(epoch FROM j.started_at)::float8 AS started_at,
       extract(epoch FROM j.finished_at)::float8 AS finished_at,
       q.position,
       j.rerun_of, j.rerun_rule, j.rerun_number, j.rerun_times, j.rerun_note,
       extract(epoch FROM j.not_before)::float8 AS not_before,
       -- The least of its runs.
       (SELECT CASE WHEN bool_or(c = 'single') THEN 'single' WHEN bool_or(c = 'confirmed') THEN 'confirmed'
                    WHEN bool_or(c = 'exact') THEN 'exact' END
        FROM (SELECT run_reproducibility(r) AS c FROM runs r
              WHERE r.project_id = j.project_id AND r.run_id = ANY (j.run_ids)) AS u) AS reproducibility,
       EXISTS (SELECT 1 FROM runs r WHERE r.project_id = j.project_id AND r.run_id = ANY (j.run_ids)
               AND r.unsandboxed) AS unsandboxed
FROM page j JOIN projects p ON p.id = j.project_id LEFT JOIN queue q ON q.id = j.id
ORDER BY j.id DESC;

-- name: job_insert
-- No row when an open job has the same dedupe.
-- in: project_id i64, kind text, priority i64, sha text, branch text, suite text, source text, labels text?,
--    run_id id, dedupe text, task text?, avoid_runner text, parent_ids i64[]?
-- value: id i64
INSERT INTO jobs (project_id, kind, priority, sha, branch, suite, source, labels, run_id, dedupe,
                  task, avoid_runner, parents)
VALUES ($1::bigint, $2, $3::int, $4, $5, $6, $7, coalesce($8, '{}')::jsonb, $9::bigint, $10,
        coalesce($11, '{}')::jsonb, $12, coalesce($13::bigint[], '{}'))
ON CONFLICT (project_id, dedupe) WHERE state IN ('queued', 'leased') DO NOTHING
RETURNING id;

-- name: job_open
-- in: project_id i64, dedupe text
-- value: id i64
SELECT id FROM jobs
WHERE project_id = $1::bigint AND dedupe = $2 AND state IN ('queued', 'leased');

-- name: job_lease
-- span: parameters in a subquery, so that the planner estimates the same rows with and without their values. It then
-- keeps one plan: planning each lease took 1.5 ms, ten times its execution.
-- fence: the lease's number. Here and at the end of a job the time is clock_timestamp() and not now(): a statement
-- may begin before a parent job has ended, be delayed, and take a child that is ready by then; the child's start must
-- not lie before the parent's end.
-- needs: the sets of labels of waiting jobs that share a pair with this runner, one index look-up each; of the sets
-- that fit, the next jobs are candidates, several because other runners may lock some of them meanwhile. Materialized,
-- so that the subquery with its lock is evaluated once and picks one row. The listeners get the job's new state.
-- question: the request's number, NULL for none; late: a later request was received meanwhile, or this one was answered,
-- and the caller returns the job, so that the next runner is informed. With the lease its token is stored (token_hash NULL: none is wanted): three commits
-- would take three flushes of the log.
-- in: runner text, machine_class text, labels text?, backends text[], project_id id, lease_hash text, seconds f64,
--    question id, token_hash text?, token_id id
-- out: id i64, fence i64, notice text, late bool
WITH RECURSIVE allowed AS MATERIALIZED ( -- a drained or revoked runner gets nothing
    SELECT 1 WHERE NOT EXISTS (
        SELECT 1 FROM runners o WHERE o.name = $1 AND o.project_id IS NOT DISTINCT FROM $5::bigint
        AND (o.drained_at IS NOT NULL OR o.revoked_at IS NOT NULL))),
span AS MATERIALIZED (
    SELECT coalesce($5::bigint, 0) AS low, coalesce($5, 9223372036854775807) AS high, $4::text[] AS backends,
           coalesce($3, '{}')::jsonb AS labels),
pairs AS MATERIALIZED (
    SELECT '' AS pivot
    UNION SELECT key || '=' || value
          FROM jsonb_each_text(coalesce($3, '{}')::jsonb || jsonb_build_object('machine_class', $2::text))
    UNION SELECT 'backend=' || unnest((SELECT backends FROM span))),
needs AS (
    SELECT n.* FROM allowed, pairs p CROSS JOIN LATERAL (
        SELECT pivot, project_id, job_need(labels) AS need, labels FROM jobs
        WHERE state = 'queued' AND kind NOT IN ('detect', 'notify') AND jobs.pivot = p.pivot
          AND project_id BETWEEN (SELECT low FROM span) AND (SELECT high FROM span)
        ORDER BY project_id, job_need(labels) LIMIT 1) n
    UNION ALL
    SELECT n.* FROM needs m CROSS JOIN LATERAL (
        SELECT pivot, project_id, job_need(labels) AS need, labels FROM jobs
        WHERE state = 'queued' AND kind NOT IN ('detect', 'notify') AND jobs.pivot = m.pivot
          AND (project_id, job_need(labels)) > (m.project_id, m.need)
          AND project_id BETWEEN (SELECT low FROM span) AND (SELECT high FROM span)
        ORDER BY project_id, job_need(labels) LIMIT 1) n),
candidates AS MATERIALIZED (
    SELECT c.* FROM needs n CROSS JOIN LATERAL (
        SELECT project_id, id, priority FROM jobs w
        WHERE state = 'queued' AND kind NOT IN ('detect', 'notify')
          AND w.pivot = n.pivot AND project_id = n.project_id AND job_need(labels) = n.need
          AND (not_before IS NULL OR not_before <= clock_timestamp())
          AND (avoid_runner IS NULL OR avoid_runner <> $1
               OR coalesce(avoid_until, created_at + interval '10 minutes') < clock_timestamp())
          AND (parents = '{}' OR NOT EXISTS (
               SELECT 1 FROM jobs p WHERE p.project_id = w.project_id AND p.id = ANY (w.parents)
               AND p.state <> 'done'))
        ORDER BY -priority, id LIMIT 32) c
    WHERE job_fits(n.labels, $2::text, (SELECT labels FROM span), (SELECT backends FROM span))),
pick AS MATERIALIZED ( -- one after the other, until one can be locked
    SELECT j.project_id, j.id FROM (SELECT * FROM candidates ORDER BY priority DESC, id LIMIT 32) c
    CROSS JOIN LATERAL (SELECT project_id, id FROM jobs
                        WHERE project_id = c.project_id AND id = c.id AND state = 'queued'
                        FOR UPDATE SKIP LOCKED) j
    LIMIT 1),
taken AS (
    UPDATE jobs j
    SET state = 'leased', runner = $1, lease_hash = $6, tries = j.tries + 1, fence = j.fence + 1, progress = NULL,
        lease_runners[j.fence + 1] = $1,
        lease_until = clock_timestamp() + make_interval(secs => $7::float8), not_before = NULL,
        lease_s = $7::float8, leased_at = clock_timestamp(), started_at = coalesce(j.started_at, clock_timestamp()),
        rerun_note = CASE WHEN j.rerun_rule IS NOT NULL AND j.avoid_runner = $1
                     THEN format('no other machine took it within 10 minutes: %s measures again', $1::text)
                     ELSE j.rerun_note END
    FROM pick WHERE j.project_id = pick.project_id AND j.id = pick.id
    RETURNING j.*),
answered AS ( -- the request is late from now on
    UPDATE lease_questions q SET heard_from = heard_from + 1, asked_at = now()
    FROM taken WHERE q.lease_hash = $6 AND q.heard_from = $8::bigint RETURNING q.heard_from),
token AS (
    INSERT INTO lease_tokens (hash, project_id, job_id, fence, token_id, runner)
    SELECT $9::text, project_id, id, fence, $10::bigint, $1 FROM taken WHERE $9 IS NOT NULL)
SELECT t.id, t.fence, pg_notify('perfci', job_news(t, p.name))::text AS notice,
       $8::bigint IS NOT NULL AND NOT EXISTS (SELECT 1 FROM answered) AS late
FROM taken t JOIN projects p ON p.id = t.project_id;

-- name: job_restart
-- The job begins on another machine, or again, under the lease that its holder keeps (a batch system moved it): results
-- of an earlier start are overtaken. It counts as a try unless it is the first start after the lease, the one with
-- number `fence`. No row: the lease is lost, or the tries are used up.
-- in: job_id i64, lease_hash text, fence i64, runner text, seconds f64, max_tries i64
-- out: fence i64, tries i64
UPDATE jobs SET fence = fence + 1, lease_runners[fence + 1] = $4, tries = tries + (fence > $3::bigint)::int,
       runner = $4, progress = NULL,
       lease_until = clock_timestamp() + make_interval(secs => $5::float8), leased_at = clock_timestamp()
WHERE id = $1::bigint AND state = 'leased' AND lease_hash = $2 AND fence >= $3::bigint
  AND tries + (fence > $3::bigint)::int <= $6::int
RETURNING fence, tries;

-- name: job_overtaken
-- The runs that an earlier lease of the job has stored: they are no longer points of their series.
-- in: job_id i64
-- out: project_id i64, id i64
SELECT r.project_id, r.id FROM jobs j
JOIN commits c ON c.project_id = j.project_id AND c.sha = ANY (job_commits(j.sha, j.task))
JOIN runs r ON r.project_id = c.project_id AND r.commit_id = c.id AND r.job_id = j.id
WHERE j.id = $1::bigint AND r.job_fence < j.fence;

-- name: job_heartbeat
-- fence NULL: of any lease.
-- in: job_id i64, lease_hash text, seconds f64, progress text?, fence id
-- out: cancel_requested bool
UPDATE jobs SET lease_until = clock_timestamp() + make_interval(secs => $3::float8),
       progress = coalesce($4, progress)
WHERE id = $1::bigint AND state = 'leased' AND lease_hash = $2 AND ($5::bigint IS NULL OR fence = $5)
RETURNING cancel_requested;

-- name: job_complete
-- The hash stays, so that the same request again, after a lost answer, finds the result. fence NULL: of any lease.
-- in: job_id i64, lease_hash text, state text, reason text, run_ids text[], fence id, session text?
-- out: project_id i64, state text, actor text
UPDATE jobs SET state = CASE WHEN cancel_requested AND $3 <> 'done' THEN 'cancelled' ELSE $3 END,
       reason = $4, run_ids = $5::text[], session_id = $7, lease_until = NULL, finished_at = clock_timestamp(),
       rerun_look = kind IN ('measure', 'nightly', 'pull_request', 'backfill')
                    AND (task ? 'metric') IS NOT TRUE -- a search repeats its own measurements
                    AND NOT (cancel_requested AND $3 <> 'done')
WHERE id = $1::bigint AND state = 'leased' AND lease_hash = $2 AND ($6::bigint IS NULL OR fence = $6)
RETURNING project_id, state, 'runner ' || coalesce(runner, '?') AS actor;

-- name: job_state
-- in: job_id i64
-- out: project_id i64, state text, lease_hash text, fence i64
SELECT project_id, state, lease_hash, fence FROM jobs WHERE id = $1::bigint;

-- name: job_cancel
-- in: job_id i64
-- out: project_id i64, state text
UPDATE jobs SET cancel_requested = true,
       state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END,
       finished_at = CASE WHEN state = 'queued' THEN clock_timestamp() ELSE finished_at END
WHERE id = $1::bigint AND state IN ('queued', 'leased') AND kind NOT IN ('detect', 'notify')
RETURNING project_id, state;

-- name: job_retry_load
-- in: project_id i64, job_id i64
-- out: kind text, state text, blocks bool, config bool
SELECT kind, state, task ? 'blocks' AS blocks, task ? 'config' AS config
FROM jobs WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: job_retry
-- A job like one that has ended, behind those of its parents that have not. No row when an open job has the same
-- dedupe.
-- in: project_id i64, job_id i64
-- value: id i64
INSERT INTO jobs (project_id, kind, priority, sha, branch, suite, source, labels, dedupe, task, rerun_rules, parents)
SELECT j.project_id, j.kind, j.priority, j.sha, j.branch, j.suite, j.source, j.labels, j.dedupe, j.task,
       CASE WHEN j.task ? 'config' THEN j.rerun_rules END,
       ARRAY(SELECT o.id FROM jobs o WHERE o.project_id = $1::bigint AND o.id = ANY (j.parents)
             AND o.state IN ('queued', 'leased') ORDER BY o.id)
FROM jobs j WHERE j.project_id = $1::bigint AND j.id = $2::bigint
ON CONFLICT (project_id, dedupe) WHERE state IN ('queued', 'leased') DO NOTHING
RETURNING id;

-- name: job_retry_open
-- The open job with the same dedupe.
-- in: project_id i64, job_id i64
-- value: id i64
SELECT o.id FROM jobs j JOIN jobs o ON o.project_id = $1::bigint AND o.dedupe = j.dedupe
    AND o.state IN ('queued', 'leased')
WHERE j.project_id = $1::bigint AND j.id = $2::bigint;

-- name: lease_question
-- late: a later request was received, or this one was answered. Written only when the number is new: a runner that
-- waits for a job repeats its request often. question: the request's number.
-- in: lease_hash text, question i64
-- value: late bool
WITH news AS (
    INSERT INTO lease_questions AS q (lease_hash, heard_from)
    SELECT $1, $2::bigint WHERE NOT EXISTS (
        SELECT 1 FROM lease_questions WHERE lease_hash = $1 AND heard_from >= $2)
    ON CONFLICT (lease_hash) DO UPDATE
    SET heard_from = greatest(q.heard_from, excluded.heard_from), asked_at = now())
SELECT EXISTS (SELECT 1 FROM lease_questions WHERE lease_hash = $1 AND heard_from > $2) AS late;

-- name: lease_questions_prune
-- Removes the numbers of requests that are older than `days`: no request lasts so long.
-- in: days i64
DELETE FROM lease_questions WHERE asked_at < now() - make_interval(days => $1::int);

-- name: job_release
-- jobs_expire decides what becomes of the job. job_id, fence NULL: any. question: number of the request that releases
-- it, NULL for none; a late request releases nothing.
-- in: job_id id, lease_hash text, fence id, question id
-- value: id i64
UPDATE jobs SET lease_until = '-infinity'
WHERE ($1::bigint IS NULL OR id = $1) AND state = 'leased' AND lease_hash = $2
  AND ($3::bigint IS NULL OR fence = $3)
  AND ($4::bigint IS NULL OR NOT EXISTS (
       SELECT 1 FROM lease_questions q WHERE q.lease_hash = $2 AND q.heard_from > $4))
RETURNING id;

-- name: lease_undo
-- After a fault of the database between the lease and its work, which does not count as a try of the job. job_id,
-- fence NULL: not known; then question is the number of the request, which must not be late, or NULL.
-- in: lease_hash text, job_id id, fence id, question id
-- out: id i64, kind text
UPDATE jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
       finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END,
       lease_until = NULL, lease_hash = NULL, tries = greatest(tries - 1, 0)
WHERE state = 'leased' AND lease_hash = $1 AND ($2::bigint IS NULL OR (id = $2 AND fence = $3::bigint))
  AND ($2::bigint IS NOT NULL OR $4::bigint IS NULL OR NOT EXISTS (
       SELECT 1 FROM lease_questions q WHERE q.lease_hash = $1 AND q.heard_from > $4))
RETURNING id, kind;

-- name: jobs_expire
-- The job of an expired lease waits for a sixth of the lease, the second time for a third, so that a temporary fault
-- of the runner may pass. A released job is free at once. max_tries: a notice has its own limit. No lease is longer than
-- an hour: one that ends later was counted by another clock, that of a leader that failed.
-- in: max_tries i64
-- out: id i64, state text, kind text
WITH late AS MATERIALIZED (
    SELECT project_id, id FROM jobs
    WHERE state = 'leased' AND (lease_until < clock_timestamp() OR lease_until > clock_timestamp() + interval '2 hours')
    ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED)
UPDATE jobs j
SET state = CASE WHEN j.cancel_requested THEN 'cancelled'
                 WHEN j.tries >= $1::int AND j.kind <> 'notify' THEN 'failed'
                 ELSE 'queued' END,
    reason = CASE WHEN j.tries >= $1::int AND j.kind <> 'notify'
             THEN format('the lease ran out %s times, last with %s', j.tries, j.runner) END,
    finished_at = CASE WHEN j.cancel_requested OR (j.tries >= $1::int AND j.kind <> 'notify')
                       THEN clock_timestamp() END,
    not_before = CASE WHEN j.kind IN ('detect', 'notify') THEN j.not_before
                      WHEN NOT j.cancel_requested AND j.tries < $1::int AND j.lease_until > '-infinity'
                      THEN clock_timestamp() + make_interval(secs => coalesce(j.lease_s, 60) / 6 * 2 ^ (j.tries - 1))
                 END,
    rerun_look = NOT j.cancel_requested AND j.tries >= $1::int
                 AND j.kind IN ('measure', 'nightly', 'pull_request', 'backfill')
                 AND (j.task ? 'metric') IS NOT TRUE,
    lease_until = NULL, lease_hash = NULL
FROM late
WHERE j.project_id = late.project_id AND j.id = late.id
RETURNING j.id, j.state, j.kind;

-- name: jobs_due
-- Jobs whose back-off has ended: runners that wait for jobs are informed.
-- row: job_id
-- out: id i64
WITH due AS MATERIALIZED (
    SELECT project_id, id FROM jobs
    WHERE state = 'queued' AND not_before <= clock_timestamp() AND kind NOT IN ('detect', 'notify')
    ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED)
UPDATE jobs j SET not_before = NULL FROM due
WHERE j.project_id = due.project_id AND j.id = due.id AND j.state = 'queued'
RETURNING j.id;

-- name: jobs_orphaned
-- Cancels the jobs that depend on a job that ended without success, and those that depend on them. job_id NULL: on
-- any such job.
-- in: job_id id
-- row: job_id
-- out: id i64
WITH RECURSIVE lost AS (
    SELECT j.project_id, j.id, p.id AS parent, p.state FROM jobs j
    CROSS JOIN LATERAL (SELECT q.id, q.state FROM jobs q
                        WHERE q.project_id = j.project_id AND q.id = ANY (j.parents)
                          AND q.state IN ('failed', 'cancelled') ORDER BY q.id LIMIT 1) p
    WHERE j.state = 'queued' AND j.parents <> '{}'
      AND ($1::bigint IS NULL OR j.parents @> ARRAY[$1::bigint])
    UNION
    SELECT c.project_id, c.id, l.id, 'cancelled' FROM lost l
    JOIN jobs c ON c.project_id = l.project_id AND c.parents @> ARRAY[l.id]
    WHERE c.state = 'queued' AND c.parents <> '{}'),
why AS (SELECT DISTINCT ON (id) * FROM lost ORDER BY id, parent),
mine AS MATERIALIZED (
    SELECT project_id, id FROM jobs
    WHERE id IN (SELECT id FROM why) AND state = 'queued' ORDER BY id FOR UPDATE SKIP LOCKED)
UPDATE jobs j
SET state = 'cancelled', finished_at = clock_timestamp(),
    reason = format('job %s, for which it waited, %s', w.parent,
                    CASE w.state WHEN 'failed' THEN 'failed' ELSE 'was cancelled' END)
FROM mine JOIN why w ON w.id = mine.id
WHERE j.project_id = mine.project_id AND j.id = mine.id AND j.state = 'queued'
RETURNING j.id;

-- name: job_parents
-- The jobs of these ids that exist and that a runner does.
-- in: project_id i64, ids i64[]
-- out: id i64, state text
SELECT id, state FROM jobs
WHERE project_id = $1::bigint AND id = ANY ($2::bigint[]) AND kind NOT IN ('detect', 'notify')
ORDER BY id;

-- name: job_children
-- The queued jobs that depend on this one, ready or not.
-- in: project_id i64, job_id i64
-- row: job_id
-- out: id i64
SELECT id FROM jobs
WHERE project_id = $1::bigint AND state = 'queued' AND parents <> '{}' AND parents @> ARRAY[$2::bigint]
ORDER BY id;

-- name: job_parents_raise
-- A job on which another one depends is as urgent as that one. In one order, whatever the caller's, so that
-- transactions do not deadlock.
-- in: project_id i64, ids i64[], priority i64
-- row: job_id
-- out: id i64
WITH RECURSIVE up AS (
    SELECT unnest($2::bigint[]) AS id
    UNION SELECT unnest(p.parents) FROM up JOIN jobs p ON p.project_id = $1::bigint AND p.id = up.id),
mine AS MATERIALIZED (
    SELECT project_id, id FROM jobs
    WHERE project_id = $1::bigint AND id IN (SELECT id FROM up) AND state = 'queued' AND priority < $3::int
    ORDER BY id FOR NO KEY UPDATE)
UPDATE jobs j SET priority = $3::int FROM mine
WHERE j.project_id = mine.project_id AND j.id = mine.id
RETURNING j.id;

-- name: job_notify
-- Sends the job's present state to listeners.
-- in: job_id i64
SELECT pg_notify('perfci', job_news(j, p.name)) FROM jobs j JOIN projects p ON p.id = j.project_id WHERE j.id = $1::bigint;

-- name: detect_take
-- The oldest job that waits, and others of its project: judging a series once serves all of them. Runs of one branch,
-- suite and class of machines measure the same series, which two workers cannot judge at a time: a worker takes what no
-- other one has begun, as far as there is any, and one kind of runs after the other. Looked at are the oldest 8 * limit.
-- in: lease_hash text, seconds f64, limit i64
-- out: id i64, project_id i64, run_id i64, branch text
-- plan: generic
WITH begun AS MATERIALIZED (
    SELECT DISTINCT j.project_id, coalesce(j.branch, r.branch) AS branch, r.suite, k.class
    FROM jobs j
    LEFT JOIN runs r ON r.project_id = j.project_id AND r.id = j.run_id
    LEFT JOIN machines k ON k.id = r.machine_id
    WHERE j.state = 'leased' AND j.kind = 'detect' AND j.lease_until > statement_timestamp()),
waiting AS MATERIALIZED (
    SELECT w.project_id, w.id, coalesce(w.branch, r.branch) AS branch, r.suite, k.class,
           EXISTS (SELECT FROM begun b WHERE b.project_id = w.project_id AND b.branch = coalesce(w.branch, r.branch)
                   AND b.suite IS NOT DISTINCT FROM r.suite AND b.class IS NOT DISTINCT FROM k.class) AS begun
    FROM (SELECT j.project_id, j.id, j.branch, j.run_id FROM jobs j WHERE j.state = 'queued' AND j.kind = 'detect'
          ORDER BY j.id LIMIT 8 * $3::int) w
    LEFT JOIN runs r ON r.project_id = w.project_id AND r.id = w.run_id
    LEFT JOIN machines k ON k.id = r.machine_id),
first AS MATERIALIZED (SELECT * FROM waiting ORDER BY begun, id LIMIT 1),
batch AS MATERIALIZED (
    SELECT j.project_id, j.id
    FROM first f
    JOIN waiting w ON w.project_id = f.project_id AND w.begun = f.begun
    JOIN jobs j ON j.project_id = w.project_id AND j.id = w.id
    WHERE j.state = 'queued'
    ORDER BY (w.branch, w.suite, w.class) IS DISTINCT FROM (f.branch, f.suite, f.class), w.branch, w.suite, w.class, j.id
    LIMIT $3::int FOR UPDATE OF j SKIP LOCKED)
UPDATE jobs j
SET state = 'leased', runner = 'server', lease_hash = $1, tries = j.tries + 1,
    lease_until = statement_timestamp() + make_interval(secs => $2::float8),
    started_at = coalesce(j.started_at, statement_timestamp())
FROM batch WHERE j.project_id = batch.project_id AND j.id = batch.id
RETURNING j.id, j.project_id, j.run_id, j.branch;

-- name: lease_prolong
-- For jobs of the server itself; no row when the lease is lost.
-- in: lease_hash text, seconds f64
-- value: id i64
-- plan: generic
WITH prolonged AS (
    UPDATE jobs SET lease_until = statement_timestamp() + make_interval(secs => $2::float8)
    WHERE state = 'leased' AND lease_hash = $1 RETURNING id)
SELECT id FROM prolonged LIMIT 1;

-- name: detect_finish
-- in: lease_hash text, state text, reason text
-- plan: generic
UPDATE jobs SET state = $2, reason = $3, lease_until = NULL, finished_at = statement_timestamp()
WHERE state = 'leased' AND lease_hash = $1;

-- name: detect_series
-- from_position, to_position: the first and the last position that have a new point; from_position 0: judge the complete
-- branch, or a point is not on it. points: new ones. Lookups that the OFFSETs keep, as in history_runs: a database without statistics would join by the project.
-- in: project_id i64, run_ids i64[], branches text[]
-- out: id i64, branch text, higher_is_better bool, exact bool, benchmark text, metric text, backend text,
--    machine_class text, from_position i64, to_position i64, points i64
-- plan: generic
SELECT s.id, s.branch, s.higher_is_better, s.exact, n.name AS benchmark, s.metric, s.backend,
       s.machine_class,
       CASE WHEN s.branch = ANY ($3::text[]) THEN 0 ELSE g.position END AS from_position, g.last AS to_position,
       coalesce(g.points, 0) AS points
FROM (
    SELECT f.id, max(f.position) AS position, max(f.last) AS last, max(f.points) AS points
    FROM (
        SELECT m.series_id AS id, min(coalesce(b.position, 0)) AS position, max(b.position) AS last, count(*) AS points
        FROM (SELECT v.id, v.commit_id FROM runs v
              WHERE v.project_id = $1::bigint AND v.id = ANY ($2::bigint[]) OFFSET 0) r
        CROSS JOIN LATERAL (SELECT p.series_id, p.commit_id FROM measurements p
                            WHERE p.project_id = $1::bigint AND p.commit_id = r.commit_id AND p.run_id = r.id OFFSET 0) m
        CROSS JOIN LATERAL (SELECT q.branch FROM series q
                            WHERE q.project_id = $1::bigint AND q.id = m.series_id OFFSET 0) t
        LEFT JOIN LATERAL (SELECT c.position FROM branch_commits c
                           WHERE c.project_id = $1::bigint AND c.branch = t.branch AND c.commit_id = m.commit_id
                           OFFSET 0) b ON true
        GROUP BY m.series_id
        UNION ALL
        SELECT w.id, NULL, NULL, NULL FROM series w
        WHERE cardinality($3::text[]) > 0 AND w.project_id = $1::bigint AND w.branch = ANY ($3::text[])) f
    GROUP BY f.id) g
CROSS JOIN LATERAL (SELECT * FROM series q WHERE q.project_id = $1::bigint AND q.id = g.id OFFSET 0) s
CROSS JOIN LATERAL (SELECT k.name FROM benchmarks k
                    WHERE k.project_id = $1::bigint AND k.id = s.benchmark_id OFFSET 0) n
ORDER BY s.branch, s.id;

-- name: change_points_of_series
-- With those that are gone: they may return.
-- in: project_id i64, series_id i64, branch text
-- out: id i64, position i64, position_low i64, position_high i64, regression bool, gone bool, before f64, after f64,
--    undone bool, alert_id i64, state text, accepted bool, last_actor text, rel_change f64, withheld text,
--    last_event_at f64, session text, blocks bool, same bool, may_return bool
SELECT x.id, b.position, coalesce(bl.position, b.position) AS position_low,
       coalesce(bh.position, b.position) AS position_high, x.regression, x.gone_at IS NOT NULL AS gone,
       x.before, x.after, x.undone_commit_id IS NOT NULL AS undone, a.id AS alert_id, a.state,
       coalesce(a.accepted_at IS NOT NULL, false) AS accepted,
       (SELECT e.actor FROM alert_events e WHERE e.project_id = a.project_id AND e.alert_id = a.id
        ORDER BY e.id DESC LIMIT 1) AS last_actor,
       x.rel_change, x.withheld, (SELECT extract(epoch FROM max(e.at))::float8 FROM alert_events e WHERE e.project_id = a.project_id
        AND e.alert_id = a.id) AS last_event_at, x.evidence ->> 'session' AS session,
       coalesce(x.evidence ->> 'verdict' = 'different', false) AS blocks,
       coalesce(x.evidence ->> 'verdict' = 'same', false) AS same,
       NOT s.in_blocks AND x.went_away < 2 AS may_return
FROM change_points x
JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
LEFT JOIN branch_commits b ON b.project_id = x.project_id AND b.commit_id = x.commit_id
    AND b.branch = $3
LEFT JOIN branch_commits bl ON bl.project_id = x.project_id AND bl.commit_id = x.commit_low_id
    AND bl.branch = $3
LEFT JOIN branch_commits bh ON bh.project_id = x.project_id AND bh.commit_id = x.commit_high_id
    AND bh.branch = $3
LEFT JOIN alerts a ON a.project_id = x.project_id AND a.change_point_id = x.id
WHERE x.project_id = $1::bigint AND x.series_id = $2::bigint AND x.kind = 'step'
ORDER BY x.gone_at IS NOT NULL, x.id;

-- name: change_point_put
-- id NULL: a new one. position_low: of the first suspect. undone_commit_id: the commit that restored the level.
-- withheld: why it has no alert, NULL for one that has, or that is decided among the series of its commit.
-- withheld_detail: the figures of that reason.
-- in: project_id i64, id id, series_id i64, branch text, commit_id i64, position_low i64, commit_high_id i64,
--    before f64, after f64, rel_change f64, rel_low f64, rel_high f64, p f64, regression bool, confirmed bool,
--    undone_commit_id id, alertable bool, withheld text?, withheld_detail json
-- value: id i64
WITH low AS MATERIALIZED (
    SELECT coalesce((SELECT commit_id FROM branch_commits WHERE project_id = $1::bigint
                     AND branch = $4 AND position = $6::bigint), $5::bigint) AS commit_id),
changed AS (
    UPDATE change_points SET commit_id = $5::bigint, commit_low_id = (SELECT commit_id FROM low),
           commit_high_id = $7::bigint, before = $8::float8, after = $9::float8,
           rel_change = $10::float8, rel_low = $11::float8, rel_high = $12::float8, p = $13::float8,
           regression = $14::boolean, confirmed = $15::boolean, undone_commit_id = $16::bigint, firm = $17::boolean,
           withheld = coalesce($18, CASE WHEN withheld IN ('fdr', 'needs_blocks', 'identical', 'budget')
                                    THEN withheld END),
           withheld_detail = CASE WHEN $18::text IS NOT NULL THEN $19::jsonb ELSE withheld_detail END,
           updated_at = now(), gone_at = NULL
    WHERE project_id = $1::bigint AND id = $2::bigint RETURNING id),
made AS (
    INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id, commit_high_id,
                               before, after, rel_change, rel_low, rel_high, p, regression,
                               confirmed, undone_commit_id, firm, withheld, withheld_detail)
    SELECT $1::bigint, $3::bigint, $5::bigint, (SELECT commit_id FROM low), $7::bigint, $8::float8,
           $9::float8, $10::float8, $11::float8, $12::float8, $13::float8, $14::boolean, $15::boolean,
           $16::bigint, $17::boolean, $18, $19::jsonb
    WHERE $2::bigint IS NULL RETURNING id)
SELECT id FROM changed UNION ALL SELECT id FROM made;

-- name: change_point_undone
-- undone_commit_id: the commit after which the level was restored.
-- in: project_id i64, id i64, undone_commit_id i64
UPDATE change_points SET undone_commit_id = $3::bigint, updated_at = now()
WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: change_points_gone
-- Counts for confirmed change points how often they disappeared, unless results were hidden or came back.
-- in: project_id i64, ids i64[]
UPDATE change_points x SET gone_at = now(), went_away = x.went_away + (x.firm AND NOT s.regathered)::int
FROM series s
WHERE x.project_id = $1::bigint AND x.id = ANY ($2::bigint[]) AND x.gone_at IS NULL
  AND s.project_id = x.project_id AND s.id = x.series_id;
