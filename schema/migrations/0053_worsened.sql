-- Notices of an announced group whose worst effect has grown. worst: the relative change of the worst alert of the
-- group when the notice was stored; several notices of the same alert and commit differ in it.
ALTER TABLE notices ADD COLUMN worst float8;
ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (kind IN ('culprit_confirmed', 'toolchain',
    'harness', 'regression', 'infrastructure', 'recovered', 'worsened'));
ALTER TABLE notices DROP CONSTRAINT notices_project_id_alert_id_kind_sha_key;
CREATE UNIQUE INDEX notices_once ON notices (project_id, alert_id, kind, sha) WHERE kind <> 'worsened';
CREATE UNIQUE INDEX notices_once_worse ON notices (project_id, alert_id, sha, worst) WHERE kind = 'worsened';

-- Groups that were announced before: as if they were announced with their present effect.
UPDATE notices n SET worst = w.rel_change
FROM (SELECT DISTINCT ON (a.project_id, a.group_id) a.project_id, a.group_id, x.rel_change
      FROM alerts a JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
      WHERE a.group_id IS NOT NULL AND x.gone_at IS NULL AND x.regression
      ORDER BY a.project_id, a.group_id, greatest(1 + x.rel_change, 1 / greatest(1 + x.rel_change, 1e-9)) DESC) w
JOIN alerts b ON b.project_id = w.project_id AND b.group_id = w.group_id
WHERE n.project_id = b.project_id AND n.alert_id = b.id AND n.kind IN ('regression', 'infrastructure');
