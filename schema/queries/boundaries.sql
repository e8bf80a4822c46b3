-- Steps that a change of toolchain or harness explains (server/services/detect/toolchain_change.c).

-- name: boundaries_due
-- For every group and machine class with unchecked alerts, the alert with the shortest range.
-- in: project_id i64, branch text, limit i64
-- out: alert_id i64, group_id i64, machine_class text, commit text
-- plan: generic
SELECT DISTINCT ON (coalesce(a.group_id, -a.id), s.machine_class)
       a.id AS alert_id, coalesce(a.group_id, 0) AS group_id, s.machine_class,
       (SELECT sha FROM commits c WHERE c.project_id = x.project_id AND c.id = x.commit_id) AS commit
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id AND s.branch = $2
LEFT JOIN branch_commits bl ON bl.project_id = a.project_id AND bl.branch = $2
    AND bl.commit_id = x.commit_low_id
LEFT JOIN branch_commits bh ON bh.project_id = a.project_id AND bh.branch = $2
    AND bh.commit_id = x.commit_high_id
WHERE a.project_id = $1::bigint AND a.boundary_due
ORDER BY coalesce(a.group_id, -a.id), s.machine_class, bh.position - bl.position, a.id
LIMIT $3::int;

-- name: boundary_set
-- The alerts whose boundary changed. alert_id: the alert that was checked. group_id: its group, 0 without one.
-- in: project_id i64, alert_id i64, group_id i64, machine_class text, kind text?, fields json?
-- out: id i64, news bool
WITH due AS MATERIALIZED (
    SELECT a.id, a.boundary_kind, a.boundary FROM alerts a
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
    WHERE a.project_id = $1::bigint AND a.boundary_due AND s.machine_class = $4
      AND (a.id = $2::bigint OR ($3::bigint > 0 AND a.group_id = $3::bigint))
    ORDER BY a.id FOR UPDATE OF a)
UPDATE alerts a SET boundary_kind = $5, boundary = $6::jsonb, boundary_due = false
FROM due WHERE a.project_id = $1::bigint AND a.id = due.id
RETURNING a.id, (due.boundary_kind IS DISTINCT FROM $5 OR due.boundary IS DISTINCT FROM $6::jsonb) AS news;
