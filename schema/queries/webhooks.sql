-- Webhooks of forges, and which project watches which repository.

-- name: forge_link_set
-- in: project_id i64, forge text, repo text, policy text, budget_s f64, patience_s f64, machine_class text?
INSERT INTO forge_links (project_id, forge, repo, policy, budget_s, patience_s, machine_class)
VALUES ($1::bigint, $2, $3, $4, $5::float8, $6::float8, $7)
ON CONFLICT (project_id) DO UPDATE SET forge = $2, repo = $3, policy = $4, budget_s = $5::float8, patience_s = $6::float8,
    machine_class = $7;

-- name: forge_link_get
-- in: project_id i64
-- out: project_id i64, project text, forge text, repo text, policy text, budget_s f64, patience_s f64,
--    machine_class text, created_at f64
SELECT l.project_id, p.name AS project, l.forge, l.repo, l.policy, l.budget_s, l.patience_s, l.machine_class,
       extract(epoch FROM l.created_at)::float8 AS created_at
FROM forge_links l JOIN projects p ON p.id = l.project_id WHERE l.project_id = $1::bigint;

-- name: forge_link_remove
-- in: project_id i64
-- out: count
DELETE FROM forge_links WHERE project_id = $1::bigint;

-- name: delivery_insert
-- Counts 0 when the account's delivery id is stored already. Its event wakes the workers.
-- in: forge text, account text, delivery text, event text, kind text, repo text, sender text, number id, sha text?,
--    comment_id id, comment_author text?, comment_body text?, branch text?, state text, note text
-- value: notified i64
WITH made AS (
    INSERT INTO webhook_deliveries (forge, account, delivery, event, kind, repo, sender, number, sha, comment_id,
                                    comment_author, comment_body, branch, state, note, done_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8::bigint, $9, $10::bigint, $11, $12, $13, $14, $15,
            CASE WHEN $14 <> 'new' THEN now() END)
    ON CONFLICT (forge, account, delivery) DO NOTHING RETURNING id)
SELECT count(pg_notify('perfci', json_build_object('type', 'delivery', 'id', id)::text)) AS notified FROM made;

-- name: deliveries_take
-- The oldest that wait, locked until the transaction ends.
-- in: limit i64
-- out: id i64, forge text, account text, kind text, repo text, sender text, number i64, sha text, comment_id i64,
--    comment_author text, comment_body text, branch text, received_at f64
SELECT id, forge, account, kind, repo, sender, coalesce(number, 0) AS number, sha, coalesce(comment_id, 0) AS comment_id,
       comment_author, comment_body, branch, extract(epoch FROM received_at)::float8 AS received_at
FROM webhook_deliveries WHERE state = 'new' ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED;

-- name: delivery_projects
-- The projects that watch the repository.
-- in: forge text, repo text
-- out: project_id i64, project text
SELECT l.project_id, p.name AS project FROM forge_links l JOIN projects p ON p.id = l.project_id
WHERE l.forge = $1 AND lower(l.repo) = lower($2) ORDER BY l.project_id;

-- name: branch_measured
-- The branch is the project's, or that of one of its schedules.
-- in: project_id i64, branch text
-- value: measured bool
SELECT EXISTS (SELECT 1 FROM projects WHERE id = $1::bigint AND branch = $2)
       OR EXISTS (SELECT 1 FROM schedules WHERE project_id = $1::bigint AND branch = $2) AS measured;

-- name: delivery_finish
-- in: id i64, project_id id, state text, note text
UPDATE webhook_deliveries SET state = $3, project_id = $2::bigint, note = $4, comment_body = NULL, done_at = now()
WHERE id = $1::bigint;

-- name: deliveries_list
-- Newest first.
-- in: project_id id, cursor id, limit i64
-- out: id i64, project text, forge text, delivery text, event text, kind text, repo text, sender text, number i64,
--    state text, note text, received_at f64, done_at f64
SELECT d.id, p.name AS project, d.forge, d.delivery, d.event, d.kind, d.repo, d.sender, coalesce(d.number, 0) AS number,
       d.state, d.note, extract(epoch FROM d.received_at)::float8 AS received_at,
       extract(epoch FROM d.done_at)::float8 AS done_at
FROM webhook_deliveries d LEFT JOIN projects p ON p.id = d.project_id
WHERE ($1::bigint IS NULL OR d.project_id = $1) AND ($2::bigint IS NULL OR d.id < $2)
ORDER BY d.id DESC LIMIT $3::int;

-- name: deliveries_prune
-- Removes deliveries that were worked on so many days ago; forges offer no older ones to be sent again.
-- in: days i64, limit i64
-- out: count
DELETE FROM webhook_deliveries d USING (SELECT id, state, received_at FROM webhook_deliveries ORDER BY id LIMIT $2::int) o
WHERE d.id = o.id AND o.state <> 'new' AND o.received_at < now() - make_interval(days => $1::int);
