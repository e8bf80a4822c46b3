-- Faults of the installation: see server/services/queue/faults.h. Each of the three statements finds the faults that are
-- there now, opens those that are new and ends those that are gone; `what` says which.

-- name: faults_missed
-- Schedules without a finished night since one was due more than tolerance_s ago, and those that have no next time.
-- in: tolerance_s f64
-- row: fault_change
-- out: id i64, what text
WITH late AS MATERIALIZED (
    SELECT s.project_id, s.id, s.name, coalesce(s.branch, p.branch) AS branch, s.trouble, m.due_at, m.state, m.reason
    FROM schedules s JOIN projects p ON p.id = s.project_id
    LEFT JOIN LATERAL (
        SELECT min(n.due_at) AS due_at, (array_agg(n.state ORDER BY n.id DESC))[1] AS state,
               (array_agg(n.reason ORDER BY n.id DESC))[1] AS reason
        FROM nights n WHERE n.project_id = s.project_id AND n.schedule_id = s.id AND n.due_at IS NOT NULL
          AND n.id > coalesce((SELECT max(d.id) FROM nights d WHERE d.project_id = s.project_id
                               AND d.schedule_id = s.id AND d.state IN ('done', 'nothing')), 0)) m ON true
    WHERE s.enabled),
found AS MATERIALIZED (
    SELECT project_id, id::text AS key, branch,
           CASE WHEN due_at IS NULL THEN format('schedule %s has no next time: %s', name, trouble)
                ELSE format('schedule %s: the night due at %s UTC has not finished%s', name,
                            to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'),
                            coalesce(': ' || nullif(reason, ''), '')) END AS text
    FROM late
    WHERE due_at < now() - make_interval(secs => $1::float8)
       OR (trouble IS NOT NULL AND due_at IS NULL)),
opened AS (
    INSERT INTO faults (project_id, kind, key, text, branch)
    SELECT project_id, 'missed_night', key, text, branch FROM found
    ON CONFLICT (project_id, kind, key) WHERE ended_at IS NULL DO NOTHING
    RETURNING id),
ended AS (
    UPDATE faults f SET ended_at = now()
    WHERE f.kind = 'missed_night' AND f.ended_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM found x WHERE x.project_id = f.project_id AND x.key = f.key)
    RETURNING f.id)
SELECT id, 'opened' AS what FROM opened UNION ALL SELECT id, 'ended' FROM ended;

-- name: faults_silent
-- Runners that sent no request for silent_s, neither drained nor revoked, without a job; for each project that they
-- work for. The label "once" is that of a runner that ends after one job, on purpose. One that was silent for 14 days more when it was first looked at is no news.
-- in: silent_s f64
-- row: fault_change
-- out: id i64, what text
WITH quiet AS MATERIALIZED (
    SELECT r.name, r.project_id AS own, r.machine_class,
           greatest(r.last_seen_at, r.status_at,
                    (SELECT max(j.finished_at) FROM jobs j WHERE j.runner = r.name AND j.kind NOT IN ('detect', 'notify')
                     AND j.finished_at > now() - make_interval(secs => $1::float8)
                     AND (r.project_id IS NULL OR j.project_id = r.project_id))) AS seen
    FROM runners r
    WHERE r.drained_at IS NULL AND r.revoked_at IS NULL AND NOT r.labels ? 'once'
      AND r.last_seen_at < now() - make_interval(secs => $1::float8)
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.state = 'leased' AND j.runner = r.name
                      AND (r.project_id IS NULL OR j.project_id = r.project_id))),
found AS MATERIALIZED (
    SELECT w.project_id, q.name || CASE WHEN q.own IS NULL THEN '' ELSE ' of the project' END AS key, q.name,
           q.machine_class, q.seen,
           format('runner %s (%s) is silent: its last request was at %s UTC', q.name, q.machine_class,
                  to_char(q.seen AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')) AS text
    FROM quiet q CROSS JOIN LATERAL (
        SELECT q.own AS project_id WHERE q.own IS NOT NULL
        UNION
        SELECT j.project_id FROM jobs j WHERE q.own IS NULL AND j.runner = q.name AND j.kind NOT IN ('detect', 'notify')) w
    WHERE q.seen < now() - make_interval(secs => $1::float8)),
opened AS (
    INSERT INTO faults (project_id, kind, key, text, machine_class, machine)
    SELECT project_id, 'silent_runner', key, text, machine_class, name FROM found
    WHERE seen > now() - make_interval(secs => $1::float8) - interval '14 days'
    ON CONFLICT (project_id, kind, key) WHERE ended_at IS NULL DO NOTHING
    RETURNING id),
ended AS (
    UPDATE faults f SET ended_at = now()
    WHERE f.kind = 'silent_runner' AND f.ended_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM found x WHERE x.project_id = f.project_id AND x.key = f.key)
    RETURNING f.id)
SELECT id, 'opened' AS what FROM opened UNION ALL SELECT id, 'ended' FROM ended;

-- name: faults_stalled
-- Series that were measured on each of `nights` days on which their suite was measured on their class of machines, and
-- on none of the `nights` such days since, while others of the suite were. They count until each is measured again.
-- Looked at are the newest 5,000 runs of a project, of 90 days. Their measurements are read only where a series may have
-- stalled: one whose newest commit was measured on one of the earlier days, or that was never judged.
-- in: nights i64
-- row: fault_change
-- out: id i64, what text
WITH days AS (
    SELECT r.project_id, r.branch, r.suite, k.class, r.id AS run_id, r.commit_id,
           dense_rank() OVER (PARTITION BY r.project_id, r.branch, r.suite, k.class
                              ORDER BY (r.started_at AT TIME ZONE 'UTC')::date DESC) AS n
    FROM projects p CROSS JOIN LATERAL (
        SELECT * FROM runs x WHERE x.project_id = p.id ORDER BY x.id DESC LIMIT 5000) r
    JOIN machines k ON k.id = r.machine_id
    WHERE r.received_at > now() - interval '90 days' AND r.quarantine_id IS NULL),
window_days AS MATERIALIZED (SELECT * FROM days WHERE n <= 2 * $1::int),
suspected AS MATERIALIZED (
    SELECT DISTINCT s.project_id, s.branch, s.machine_class AS class
    FROM series s
    JOIN (SELECT DISTINCT project_id, branch, class FROM window_days WHERE n > $1::int) p
      ON p.project_id = s.project_id AND p.branch = s.branch AND p.class = s.machine_class
    WHERE s.last_commit_id IS NULL
       OR (s.project_id, s.branch, s.machine_class, s.last_commit_id) IN (
           SELECT project_id, branch, class, commit_id FROM window_days WHERE n > $1::int)),
numbered AS MATERIALIZED ( -- two numbers in place of four texts: a row for each measurement is sorted by them
    SELECT *, dense_rank() OVER (ORDER BY project_id, branch, suite, class) AS place
    FROM window_days w
    WHERE (w.project_id, w.branch, w.class) IN (SELECT project_id, branch, class FROM suspected)),
on_days AS (
    SELECT w.place, w.n, m.series_id
    FROM numbered w CROSS JOIN LATERAL ( -- the OFFSET keeps it a look-up for each run
        SELECT q.series_id FROM measurements q
        WHERE q.project_id = w.project_id AND q.commit_id = w.commit_id AND q.run_id = w.run_id OFFSET 0) m
    GROUP BY 1, 2, 3),
measured AS MATERIALIZED (
    SELECT p.project_id, p.branch, p.suite, p.class, d.series_id, d.late, d.early
    FROM (SELECT place, series_id, count(*) FILTER (WHERE n <= $1::int) AS late,
                 count(*) FILTER (WHERE n > $1::int) AS early
          FROM on_days GROUP BY 1, 2) d
    JOIN (SELECT DISTINCT place, project_id, branch, suite, class FROM numbered) p USING (place)),
stalled AS (
    SELECT x.project_id, x.branch, x.suite, x.class, x.series_id FROM measured x
    WHERE x.early = $1::int AND x.late = 0
      AND EXISTS (SELECT 1 FROM measured o WHERE o.project_id = x.project_id AND o.branch = x.branch AND o.suite = x.suite
                  AND o.class = x.class AND o.early = $1::int AND o.late > 0)),
still AS (
    SELECT f.project_id, f.branch, f.suite, f.machine_class AS class, s.id AS series_id
    FROM faults f CROSS JOIN LATERAL unnest(f.series) AS s (id)
    WHERE f.kind = 'stalled_series' AND f.ended_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM measurements m JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id
                      WHERE m.project_id = f.project_id AND m.series_id = s.id AND m.stored_at > f.opened_at
                        AND r.received_at > f.opened_at)),
found AS MATERIALIZED (
    SELECT u.project_id, u.branch, u.suite, u.class, format('%s/%s/%s', u.branch, u.suite, u.class) AS key,
           array_agg(u.series_id ORDER BY u.series_id) AS series,
           format('%s series of suite %s on %s, branch %s, %s no longer measured: %s%s', count(*), u.suite, u.class,
                  u.branch, CASE WHEN count(*) = 1 THEN 'is' ELSE 'are' END,
                  array_to_string((array_agg(b.name || ' ' || s.metric ORDER BY b.name, s.metric, s.id))[1:3], ', '),
                  CASE WHEN count(*) > 3 THEN format(' and %s more', count(*) - 3) ELSE '' END) AS text
    FROM (SELECT * FROM stalled UNION SELECT * FROM still) u
    JOIN series s ON s.project_id = u.project_id AND s.id = u.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
    GROUP BY u.project_id, u.branch, u.suite, u.class),
opened AS (
    INSERT INTO faults AS f (project_id, kind, key, text, branch, suite, machine_class, series)
    SELECT project_id, 'stalled_series', key, text, branch, suite, class, series FROM found
    ON CONFLICT (project_id, kind, key) WHERE ended_at IS NULL
    DO UPDATE SET text = excluded.text, series = excluded.series WHERE f.series <> excluded.series
    RETURNING f.id, CASE WHEN xmax = 0 THEN 'opened' ELSE 'changed' END AS what),
ended AS (
    UPDATE faults f SET ended_at = now()
    WHERE f.kind = 'stalled_series' AND f.ended_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM found x WHERE x.project_id = f.project_id AND x.key = f.key)
    RETURNING f.id)
SELECT id, what FROM opened UNION ALL SELECT id, 'ended' FROM ended;

-- name: fault_notice
-- Announces a fault, or that it ended, once: only of one that was announced and is not dismissed.
-- in: id i64, kind text
WITH made AS (
    INSERT INTO notices (project_id, kind, fault_id, text)
    SELECT f.project_id, $2, f.id, CASE WHEN $2 = 'recovered' THEN 'ended: ' || f.text ELSE f.text END
    FROM faults f
    WHERE f.id = $1::bigint AND f.dismissed_at IS NULL
      AND ($2 <> 'recovered' OR EXISTS (SELECT 1 FROM notices n WHERE n.project_id = f.project_id AND n.fault_id = f.id))
    ON CONFLICT DO NOTHING RETURNING id)
SELECT pg_notify('perfci', json_build_object('type', 'notice', 'id', id)::text) FROM made;

-- name: fault_notify
-- Sends the fault's present state to listeners.
-- in: id i64
SELECT pg_notify('perfci', json_build_object('type', 'environment', 'project', p.name, 'id', f.id,
                 'open', f.ended_at IS NULL AND f.dismissed_at IS NULL)::text)
FROM faults f JOIN projects p ON p.id = f.project_id WHERE f.id = $1::bigint;

-- name: fault_lock
-- in: id i64
-- out: project_id i64, kind text, dismissed bool, ended bool
SELECT project_id, kind, dismissed_at IS NOT NULL AS dismissed, ended_at IS NOT NULL AS ended FROM faults
WHERE id = $1::bigint FOR UPDATE;

-- name: fault_dismiss
-- actor NULL: takes the dismissal back.
-- in: id i64, actor text?, reason text?
UPDATE faults SET dismissed_at = CASE WHEN $2::text IS NULL THEN NULL ELSE now() END, dismissed_by = $2,
       dismissed_reason = coalesce($3, '')
WHERE id = $1::bigint;

-- name: faults_prune
-- in: days i64
DELETE FROM faults WHERE ended_at < now() - make_interval(days => $1::int);
