-- Pull requests: what is known of them, what is measured, what was posted.

-- name: pull_touch
-- Something is to be looked at; makes the row of a pull request that is new.
-- in: project_id i64, number i64
INSERT INTO pulls (project_id, number) VALUES ($1::bigint, $2::bigint)
ON CONFLICT (project_id, number) DO UPDATE SET seq = pulls.seq + 1, due_at = now(), tries = 0, updated_at = now();

-- name: pulls_of_head
-- in: project_id i64, sha text
-- out: number i64
SELECT number FROM pulls WHERE project_id = $1::bigint AND head_sha = $2 AND open ORDER BY number;

-- name: pulls_due
-- Those whose time has come, those whose job has another state than when it was last seen, and those with a bisection
-- whose answer is not the newest. After a failed look only the time counts.
-- in: limit i64
-- out: project_id i64, number i64
SELECT project_id, number FROM (
    SELECT p.project_id, p.number, p.due_at FROM pulls p WHERE p.due_at <= clock_timestamp()
    UNION
    SELECT p.project_id, p.number, p.due_at FROM pull_measurements m
    JOIN jobs j ON j.project_id = m.project_id AND j.id = m.job_id
    JOIN pulls p ON p.project_id = m.project_id AND p.number = m.number
    WHERE m.verdict IS NULL AND NOT m.superseded AND j.state <> m.job_state AND p.tries = 0
    UNION
    SELECT p.project_id, p.number, p.due_at FROM pull_bisections b
    JOIN bisections x ON x.project_id = b.project_id AND x.id = b.bisection_id
    JOIN pulls p ON p.project_id = b.project_id AND p.number = b.number
    WHERE b.said <> 'ended' AND p.tries = 0 AND x.state <> 'running'
      AND (b.said = 'running' OR NOT EXISTS (
          SELECT 1 FROM verifications v WHERE v.project_id = x.project_id AND v.bisection_id = x.id
          AND v.state = 'running'))) q
ORDER BY due_at NULLS FIRST, project_id, number LIMIT $1::int;

-- name: pulls_wait
-- Seconds until the next one is due; NULL: none is.
-- value: seconds f64
SELECT extract(epoch FROM min(due_at) - clock_timestamp())::float8 AS seconds FROM pulls WHERE due_at IS NOT NULL;

-- name: pull_lock
-- Until the transaction ends; false: another server looks at it.
-- in: project_id i64, number i64
-- value: locked bool
SELECT pg_try_advisory_xact_lock(74202051, hashtext($1::bigint || '/' || $2::bigint)) AS locked;

-- name: pull_get
-- waited_s: since the newest measurement was asked for. age_s: since the forge was asked; NULL: never.
-- in: project_id i64, number i64
-- out: project_id i64, number i64, project text, repo_url text, forge text, repo text, policy text, budget_s f64,
--    patience_s f64, machine_class text, title text, author text, url text, head_sha text, base_branch text,
--    merge_base text, fork bool, draft bool, open bool, allowed_sha text, seq i64, seen_seq i64, age_s f64, tries i64,
--    comment_id i64, comment_number i64, comment_hash text, comment_rank i64, check_id i64, check_sha text,
--    check_hash text
SELECT p.project_id, p.number, o.name AS project, o.repo_url, l.forge, l.repo, l.policy, l.budget_s, l.patience_s,
       l.machine_class, p.title, p.author, p.url, p.head_sha, p.base_branch, p.merge_base, p.fork, p.draft, p.open,
       p.allowed_sha, p.seq, p.seen_seq, extract(epoch FROM clock_timestamp() - p.looked_at)::float8 AS age_s, p.tries,
       coalesce(p.comment_id, 0) AS comment_id, p.comment_number, p.comment_hash, p.comment_rank,
       coalesce(p.check_id, 0) AS check_id, p.check_sha, p.check_hash
FROM pulls p JOIN projects o ON o.id = p.project_id LEFT JOIN forge_links l ON l.project_id = p.project_id
WHERE p.project_id = $1::bigint AND p.number = $2::bigint;

-- name: pull_seen
-- The state that the forge reports.
-- in: project_id i64, number i64, title text, author text, url text, head_sha text?, base_branch text?,
--    merge_base text?, fork bool, draft bool, open bool
UPDATE pulls SET title = $3, author = $4, url = $5, head_sha = $6, base_branch = $7, merge_base = $8,
       fork = $9::boolean, draft = $10::boolean, open = $11::boolean, looked_at = now(), updated_at = now()
WHERE project_id = $1::bigint AND number = $2::bigint;

-- name: pull_allow
-- in: project_id i64, number i64, sha text, actor text
UPDATE pulls SET allowed_sha = $3, allowed_by = $4, updated_at = now()
WHERE project_id = $1::bigint AND number = $2::bigint;

-- name: pull_later
-- Ends a look. seq: what it has seen; a later touch stays due. after_s NULL: nothing is left to do.
-- in: project_id i64, number i64, seq i64, after_s f64, tries i64, trouble text?
UPDATE pulls SET seen_seq = CASE WHEN $5::int = 0 THEN $3::bigint ELSE seen_seq END, tries = $5::int, trouble = $6,
       due_at = CASE WHEN seq > $3::bigint THEN now() ELSE now() + make_interval(secs => $4::float8) END
WHERE project_id = $1::bigint AND number = $2::bigint;

-- name: pull_commented
-- comment_id NULL: it is about to be made.
-- in: project_id i64, number i64, comment_id id, comment_number i64, comment_hash text?, comment_rank i64
UPDATE pulls SET comment_id = $3::bigint, comment_number = $4::int, comment_hash = $5, comment_rank = $6::int,
       updated_at = now()
WHERE project_id = $1::bigint AND number = $2::bigint;

-- name: pull_checked
-- in: project_id i64, number i64, check_id id, check_sha text, check_hash text
UPDATE pulls SET check_id = $3::bigint, check_sha = $4, check_hash = $5, updated_at = now()
WHERE project_id = $1::bigint AND number = $2::bigint;

-- name: pulls_list
-- Newest first, with the newest measurement of the head.
-- in: project_id i64, open bool?, cursor id, limit i64
-- out: number i64, title text, author text, url text, head text, base_branch text, base text, fork bool, draft bool,
--    open bool, allowed bool, verdict text, reason text, job_id i64, job_state text, session text, accepted_by text,
--    accepted_reason text, trouble text, updated_at f64
SELECT p.number, p.title, p.author, p.url, p.head_sha AS head, p.base_branch, p.merge_base AS base, p.fork, p.draft,
       p.open, NOT p.fork OR coalesce(p.allowed_sha = p.head_sha, false) AS allowed, m.verdict, m.reason,
       coalesce(m.job_id, 0) AS job_id, m.job_state, m.session_id AS session, m.accepted_by, m.accepted_reason, p.trouble,
       extract(epoch FROM p.updated_at)::float8 AS updated_at
FROM pulls p
LEFT JOIN LATERAL (
    SELECT * FROM pull_measurements x WHERE x.project_id = p.project_id AND x.number = p.number
    AND x.head_sha = p.head_sha AND NOT x.superseded ORDER BY x.id DESC LIMIT 1) m ON true
WHERE p.project_id = $1::bigint AND ($2::boolean IS NULL OR p.open = $2) AND ($3::bigint IS NULL OR p.number < $3)
ORDER BY p.number DESC LIMIT $4::int;

-- ---- measurements ----

-- name: pull_measurement_newest
-- Of this head. No row: none yet. waited_s: since it was asked for. state, why: of its job, and seen: as last seen.
-- in: project_id i64, number i64, head_sha text
-- out: id i64, head_sha text, base_sha text, filter text, job_id i64, seen text, state text, why text, session_id text,
--    verdict text, reason text, document json, accepted_by text, accepted_reason text, waited_s f64
SELECT m.id, m.head_sha, m.base_sha, m.filter, coalesce(m.job_id, 0) AS job_id, m.job_state AS seen, j.state,
       j.reason AS why, coalesce(m.session_id, j.session_id) AS session_id, m.verdict, m.reason,
       m.document::text AS document, m.accepted_by, m.accepted_reason,
       extract(epoch FROM clock_timestamp() - m.created_at)::float8 AS waited_s
FROM pull_measurements m LEFT JOIN jobs j ON j.project_id = m.project_id AND j.id = m.job_id
WHERE m.project_id = $1::bigint AND m.number = $2::bigint AND m.head_sha = $3 AND NOT m.superseded
ORDER BY m.id DESC LIMIT 1;

-- name: pull_measurement_insert
-- in: project_id i64, number i64, head_sha text, base_sha text, filter text?, asked_by text, job_id i64
-- value: id i64
INSERT INTO pull_measurements (project_id, number, head_sha, base_sha, filter, asked_by, job_id)
VALUES ($1::bigint, $2::bigint, $3, $4, $5, $6, $7::bigint) RETURNING id;

-- name: pull_measurement_again
-- The same two commits were compared before: its verdict counts again. No row: they were not.
-- in: project_id i64, number i64, head_sha text, base_sha text
-- value: id i64
UPDATE pull_measurements SET superseded = false
WHERE project_id = $1::bigint AND id = (
    SELECT id FROM pull_measurements WHERE project_id = $1::bigint AND number = $2::bigint AND head_sha = $3
    AND base_sha = $4 AND filter IS NULL AND verdict NOT IN ('outage', 'nothing', 'inconclusive') ORDER BY id DESC LIMIT 1)
RETURNING id;

-- name: pull_measurement_other
-- The same two commits were compared for another pull request: its verdict is copied. No row: they were not.
-- in: project_id i64, number i64, head_sha text, base_sha text, asked_by text
-- value: id i64
INSERT INTO pull_measurements (project_id, number, head_sha, base_sha, asked_by, job_id, job_state, session_id, verdict,
                               reason, document, finished_at)
SELECT m.project_id, $2::bigint, m.head_sha, m.base_sha, $5, m.job_id, m.job_state, m.session_id, m.verdict,
       coalesce(m.reason || ', ', '') || 'the result of pull request ' || m.number || ' for the same commits',
       m.document, now()
FROM pull_measurements m
WHERE m.project_id = $1::bigint AND m.number <> $2::bigint AND m.head_sha = $3 AND m.base_sha = $4 AND m.filter IS NULL
  AND m.verdict NOT IN ('outage', 'nothing', 'inconclusive') ORDER BY m.id DESC LIMIT 1
RETURNING id;

-- name: pull_measurement_of_pair
-- The newest session with that key whose pull request has a verdict that more measuring would not change; at most max_days
-- old. No row: none. run: number of the head's run, 0: it has none.
-- in: project_id i64, pair_key text, max_days i64
-- out: session text, run i64, measured_at f64
SELECT s.id AS session, coalesce((
           SELECT max(r.id) FROM runs r JOIN session_commits x ON x.project_id = r.project_id
           AND x.commit_id = r.commit_id AND x.session_id = s.id
           WHERE r.project_id = s.project_id AND r.session_id = s.id), 0) AS run,
       extract(epoch FROM s.finished_at)::float8 AS measured_at
FROM sessions s
WHERE s.project_id = $1::bigint AND s.pair_key = $2 AND s.received_at > now() - make_interval(days => $3::int)
  AND EXISTS (SELECT FROM pull_measurements m WHERE m.project_id = s.project_id AND m.session_id = s.id
              AND m.verdict IN ('regression', 'improvement', 'same', 'identical'))
ORDER BY s.number DESC LIMIT 1;

-- name: pull_head_run
-- Number of the newest run of a session's commit; 0: it has none.
-- in: project_id i64, session text, commit text
-- value: run i64
SELECT coalesce(max(r.id), 0) AS run FROM runs r
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
WHERE r.project_id = $1::bigint AND r.session_id = $2 AND c.sha = $3;

-- name: pull_supersede
-- Other heads' measurements (head_sha NULL: all). Jobs that are still open: to be cancelled.
-- in: project_id i64, number i64, head_sha text?
-- out: job_id i64
WITH gone AS (
    UPDATE pull_measurements SET superseded = true
    WHERE project_id = $1::bigint AND number = $2::bigint AND NOT superseded AND ($3::text IS NULL OR head_sha <> $3)
    RETURNING project_id, job_id)
SELECT j.id AS job_id FROM gone g JOIN jobs j ON j.project_id = g.project_id AND j.id = g.job_id
WHERE j.state IN ('queued', 'leased') ORDER BY j.id;

-- name: pull_measurement_seen
-- in: project_id i64, id i64, job_state text
UPDATE pull_measurements SET job_state = $3 WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: pull_measurement_decide
-- in: project_id i64, id i64, job_state text, verdict text, reason text?, session_id text?, document json
UPDATE pull_measurements SET job_state = $3, verdict = $4, reason = $5, session_id = $6, document = $7::jsonb,
       finished_at = now()
WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: pull_measurement_accept
-- in: project_id i64, id i64, actor text, reason text
UPDATE pull_measurements SET accepted_by = $3, accepted_reason = $4 WHERE project_id = $1::bigint AND id = $2::bigint;

-- ---- commands ----

-- name: pull_command_insert
-- A comment counts once.
-- in: project_id i64, number i64, comment_id i64, command text, argument text?, author text
INSERT INTO pull_commands (project_id, number, comment_id, command, argument, author)
VALUES ($1::bigint, $2::bigint, $3::bigint, $4, $5, $6) ON CONFLICT DO NOTHING;

-- name: pull_commands_new
-- In the order in which they came.
-- in: project_id i64, number i64
-- out: comment_id i64, command text, argument text, author text
SELECT comment_id, command, argument, author FROM pull_commands
WHERE project_id = $1::bigint AND number = $2::bigint AND state = 'new' ORDER BY created_at, comment_id LIMIT 20;

-- name: pull_command_finish
-- in: project_id i64, number i64, comment_id i64, state text, answer text
UPDATE pull_commands SET state = $4, answer = $5
WHERE project_id = $1::bigint AND number = $2::bigint AND comment_id = $3::bigint;

-- ---- bisections ----

-- name: pull_bisection_branch
-- The newest bisection on a branch; no row: there is none.
-- in: project_id i64, branch text
-- value: id i64
SELECT id FROM bisections WHERE project_id = $1::bigint AND branch = $2 ORDER BY id DESC LIMIT 1;

-- name: pull_bisection_put
-- in: project_id i64, bisection_id i64, number i64, comment_id i64, head_sha text
INSERT INTO pull_bisections (project_id, bisection_id, number, comment_id, head_sha)
VALUES ($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5) ON CONFLICT DO NOTHING;

-- name: pull_bisections_open
-- Those whose answer is not the last one, oldest first. now: what the answer is to say.
-- in: project_id i64, number i64
-- out: bisection_id i64, comment_id i64, head_sha text, metric text, said text, now text
SELECT b.bisection_id, b.comment_id, b.head_sha, x.metric, b.said,
       CASE WHEN x.state = 'running' THEN 'running'
            WHEN EXISTS (SELECT 1 FROM verifications v WHERE v.project_id = x.project_id
                         AND v.bisection_id = x.id AND v.state = 'running') THEN 'checking'
            ELSE 'ended' END AS now
FROM pull_bisections b JOIN bisections x ON x.project_id = b.project_id AND x.id = b.bisection_id
WHERE b.project_id = $1::bigint AND b.number = $2::bigint AND b.said <> 'ended' ORDER BY b.bisection_id;

-- name: pull_bisection_said
-- in: project_id i64, bisection_id i64, said text
UPDATE pull_bisections SET said = $3 WHERE project_id = $1::bigint AND bisection_id = $2::bigint;
