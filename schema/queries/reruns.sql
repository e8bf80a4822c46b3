-- Measuring again by rule: see server/services/queue/reruns.h.

-- name: rerun_next
-- The oldest ended job whose rules were not applied yet, after job `after`. root: the first job of its chain. rules
-- NULL: neither the job nor the project has any. canary: a run of the newest lease has a canary that moved. undecided:
-- its session left a commit undecided or unmeasured. base: the commit that its own is compared with, the first parent.
-- in: after i64
-- out: id i64, project_id i64, root i64, kind text, state text, reason text, commit text, branch text, runner text,
--    rules json, canary bool, blocks bool, undecided bool, base text, runs i64
SELECT j.id, j.project_id, coalesce(j.rerun_of, j.id) AS root, j.kind, j.state, j.reason, j.sha AS commit, j.branch,
       j.runner, coalesce(j.rerun_rules, p.rerun_rules)::text AS rules,
       EXISTS (SELECT 1 FROM runs r WHERE r.project_id = j.project_id AND r.run_id = ANY (j.run_ids) AND r.infra
               AND coalesce(r.job_fence, j.fence) = j.fence) AS canary,
       j.task ? 'blocks' AS blocks,
       EXISTS (SELECT 1 FROM session_commits x WHERE x.project_id = j.project_id AND x.session_id = j.session_id
               AND (x.verdict = 'undecided' OR x.status = 'not_measured')) AS undecided,
       (SELECT c.parents[1] FROM commits c WHERE c.project_id = j.project_id AND c.sha = j.sha) AS base,
       cardinality(j.run_ids) AS runs
FROM jobs j JOIN projects p ON p.id = j.project_id
WHERE j.rerun_look AND j.id > $1::bigint AND j.state IN ('done', 'failed')
  -- A session is judged after its job has ended.
  AND (j.session_id IS NULL OR j.finished_at < now() - interval '10 minutes'
       OR NOT EXISTS (SELECT 1 FROM session_commits x WHERE x.project_id = j.project_id
                      AND x.session_id = j.session_id AND x.status = 'measured' AND x.verdict IS NULL))
ORDER BY j.id LIMIT 1;

-- name: rerun_claim
-- No row when the rules were applied to the job meanwhile.
-- in: project_id i64, id i64
-- value: id i64
UPDATE jobs SET rerun_look = false
WHERE project_id = $1::bigint AND id = $2::bigint AND rerun_look RETURNING id;

-- name: rerun_note
-- What the rules led to.
-- in: project_id i64, id i64, note text
UPDATE jobs SET rerun_note = concat_ws(', ', rerun_note, $3::text) WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: rerun_counts
-- Reruns of a chain: by this rule, and by any.
-- in: project_id i64, root i64, rule text
-- out: of_rule i64, of_any i64
SELECT count(*) FILTER (WHERE rerun_rule = $3) AS of_rule, count(*) AS of_any
FROM jobs WHERE project_id = $1::bigint AND rerun_of = $2::bigint;

-- name: rerun_others
-- The number of runners other than the job's that can take it: seen within 2 minutes or at work, not drained.
-- in: project_id i64, job_id i64
-- value: count i64
SELECT count(*) FROM jobs j JOIN runners r ON r.name <> j.runner
    AND (r.project_id IS NULL OR r.project_id = j.project_id)
    AND job_fits(j.labels, r.machine_class, r.labels, r.backends)
WHERE j.project_id = $1::bigint AND j.id = $2::bigint AND r.drained_at IS NULL AND r.revoked_at IS NULL
  AND (r.last_seen_at > now() - interval '2 minutes'
       OR EXISTS (SELECT 1 FROM jobs o WHERE o.state = 'leased' AND o.runner = r.name
                  AND (r.project_id IS NULL OR o.project_id = r.project_id)
                  AND o.kind NOT IN ('detect', 'notify')));

-- name: rerun_insert
-- A job like `job_id`; no row when that rerun exists. after_s: seconds before it may start. other: not on the runner
-- of `job_id` until avoid_s seconds later. kind NULL: as `job_id`.
-- in: project_id i64, job_id i64, root i64, rule text, number i64, times i64, after_s f64, other bool, avoid_s f64,
--    note text?, kind text?
-- value: id i64
INSERT INTO jobs (project_id, kind, priority, sha, branch, suite, source, labels, dedupe, task, rerun_of, rerun_rule,
                  rerun_number, rerun_times, rerun_rules, rerun_note, not_before, avoid_runner, avoid_until)
SELECT j.project_id, coalesce($11::text, j.kind), j.priority, j.sha, j.branch, j.suite, j.source, j.labels,
       format('rerun %s %s %s', $3::bigint, $4::text, $5::int), j.task, $3::bigint, $4::text, $5::int, $6::int,
       CASE WHEN j.task ? 'config' THEN j.rerun_rules END, $10::text,
       CASE WHEN $7::float8 > 0 THEN clock_timestamp() + make_interval(secs => $7::float8) END,
       CASE WHEN $8::boolean THEN j.runner END,
       CASE WHEN $8::boolean THEN clock_timestamp() + make_interval(secs => $7::float8 + $9::float8) END
FROM jobs j
WHERE j.project_id = $1::bigint AND j.id = $2::bigint
  AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.project_id = $1::bigint AND o.rerun_of = $3::bigint
                  AND o.rerun_rule = $4::text AND o.rerun_number >= $5::int)
ON CONFLICT (project_id, dedupe) WHERE state IN ('queued', 'leased') DO NOTHING
RETURNING id;

-- name: rerun_suspects
-- Commits at which a series that these runs measured has a change that is not yet alertable, with the newest job that measured
-- each. done: reruns of the commit by this rule. open: one of them has not ended.
-- in: project_id i64, run_ids i64[], limit i64
-- out: commit text, branch text, job_id i64, root i64, done i64, open bool
SELECT c.sha AS commit, s.branch, j.id AS job_id, coalesce(j.rerun_of, j.id) AS root,
       (SELECT count(*) FROM jobs o WHERE o.project_id = $1::bigint AND o.sha = c.sha AND o.rerun_rule = 'suspected'
        AND o.branch IS NOT DISTINCT FROM j.branch) AS done,
       EXISTS (SELECT 1 FROM jobs o WHERE o.project_id = $1::bigint AND o.sha = c.sha AND o.rerun_rule = 'suspected'
               AND o.branch IS NOT DISTINCT FROM j.branch AND o.state IN ('queued', 'leased')) AS open
FROM (SELECT DISTINCT x.commit_id, q.branch FROM change_points x
      JOIN series q ON q.project_id = x.project_id AND q.id = x.series_id
      WHERE x.project_id = $1::bigint AND x.gone_at IS NULL AND x.kind = 'step' AND x.withheld = 'not_firm'
        AND x.undone_commit_id IS NULL AND x.withheld_detail @> '{"ended": false}'
        AND x.series_id IN (
            SELECT m.series_id FROM unnest($2::bigint[]) AS u (id)
            CROSS JOIN LATERAL (SELECT v.series_id FROM measurements v
                                WHERE v.project_id = $1::bigint AND v.run_id = u.id OFFSET 0) m)) s
JOIN commits c ON c.project_id = $1::bigint AND c.id = s.commit_id
CROSS JOIN LATERAL (
    SELECT k.id, k.rerun_of, k.branch FROM runs r
    JOIN jobs k ON k.project_id = r.project_id AND k.id = r.job_id AND k.kind IN ('measure', 'nightly', 'backfill')
        AND NOT k.task ? 'blocks'
    WHERE r.project_id = $1::bigint AND r.commit_id = s.commit_id AND r.branch = s.branch
    ORDER BY r.id DESC LIMIT 1) j
ORDER BY c.id, s.branch LIMIT $3::int;

-- name: rerun_rules_of_project
-- in: project_id i64
-- out: rules json
-- plan: generic
SELECT rerun_rules::text AS rules FROM projects WHERE id = $1::bigint;

-- name: rerun_rules_set
-- Of the job: as its runner read them. Of the project, too, when the job measures its default branch by the
-- repository's own file; project_id: of a project whose rules changed by that.
-- in: job_id i64, rules json
-- out: project_id i64
WITH own AS (
    UPDATE jobs SET rerun_rules = $2::jsonb WHERE id = $1::bigint RETURNING project_id, branch, task)
UPDATE projects p SET rerun_rules = $2::jsonb FROM own
WHERE p.id = own.project_id AND NOT own.task ? 'config' AND coalesce(own.branch, p.branch) = p.branch
  AND p.rerun_rules IS DISTINCT FROM $2::jsonb
RETURNING p.id AS project_id;
