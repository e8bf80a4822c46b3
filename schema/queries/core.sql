-- Housekeeping: schema, events, audit, partitions, figures.

-- name: migration_insert
-- in: version i64, name text
INSERT INTO schema_migrations (version, name) VALUES ($1::int, $2);

-- name: migration_standing
-- owner: of the schema, or of the database that has none. acts: this role may act as the owner. readable, mine: this
-- role may read, and change, the schema's version.
-- out: me text, owner text, acts bool, readable bool, mine bool
SELECT current_user::text AS me, pg_get_userbyid(o.owner)::text AS owner,
       pg_has_role(o.owner, 'USAGE') AND has_schema_privilege(o.owner, 'public', 'CREATE') AS acts,
       o.tab IS NULL OR has_table_privilege(o.tab, 'SELECT') AS readable,
       pg_has_role(o.owner, 'USAGE') OR (o.tab IS NULL AND has_schema_privilege('public', 'CREATE')) AS mine
FROM (SELECT coalesce(t.relowner, d.datdba) AS owner, t.oid AS tab FROM pg_database d
      LEFT JOIN pg_class t ON t.relname = 'schema_migrations' AND t.relnamespace = 'public'::regnamespace
      WHERE d.datname = current_database()) AS o;

-- name: migration_as
-- For the rest of the transaction.
-- in: role text
-- out: set_config text
SELECT set_config('role', $1, true);

-- name: server_grant
-- in: role text
SELECT server_grant($1);

-- name: server_grant_again
-- Extends the rights of every role that has a server's rights to what a migration has added.
SELECT server_rights(pg_get_userbyid(a.grantee)::text)
FROM (SELECT DISTINCT x.grantee FROM pg_class c CROSS JOIN aclexplode(c.relacl) x
      WHERE c.oid = 'runs'::regclass AND x.privilege_type = 'INSERT' AND x.grantee NOT IN (0, c.relowner)) a;

-- name: event_notify
-- id 0: of all, or the event has none.
-- in: type text, id i64
SELECT pg_notify('perfci', json_build_object('type', $1::text, 'id', $2::bigint)::text);

-- name: audit_insert
-- in: actor text, action text, project_id id, object text, detail text?
INSERT INTO audit (actor, action, project_id, object, detail)
VALUES ($1, $2, $3::bigint, $4, coalesce($5, ''));

-- name: partitions_due
-- The days without a partition from the present month, week or day (width) to `ahead` of them later, and where rows are
-- in the default partition. A gap between two partitions is one range, cut where a width ends.
-- since: its first day. until: the day after its last one.
-- in: width text, ahead i64
-- out: since text, until text
WITH w AS (SELECT ('1 ' || $1::text)::interval AS step, date_trunc($1::text, now() AT TIME ZONE 'UTC') AS present),
buckets AS (
    SELECT b AS low, b + w.step AS high, 0 AS late
    FROM w CROSS JOIN generate_series(w.present, w.present + $2::int * w.step, w.step) AS b
    UNION SELECT b, b + w.step, 1 FROM w CROSS JOIN LATERAL (
        SELECT DISTINCT date_trunc($1::text, stored_at AT TIME ZONE 'UTC') AS b FROM measurements_default
        WHERE isfinite(stored_at)) q),
gaps AS (
    SELECT lower(g) AS low, upper(g) AS high, min(q.late) AS late
    FROM buckets q
    CROSS JOIN LATERAL unnest(tsmultirange(tsrange(q.low, q.high)) - coalesce(
        (SELECT range_agg(tsrange(p.since, p.until)) FROM measurements_partitions p), '{}'::tsmultirange)) AS g
    GROUP BY g)
SELECT to_char(g.low, 'YYYY-MM-DD') AS since, to_char(g.high, 'YYYY-MM-DD') AS until
FROM gaps g
WHERE g.high > now() AT TIME ZONE 'UTC' OR EXISTS (
    SELECT 1 FROM measurements_default m
    WHERE m.stored_at >= g.low AT TIME ZONE 'UTC' AND m.stored_at < g.high AT TIME ZONE 'UTC')
ORDER BY g.late, g.low;

-- name: partition_create
-- moved: rows that were in the default partition; NULL: a partition has some of these days.
-- in: since date, until date
-- out: moved i64
SELECT measurements_partition($1::date, $2::date) AS moved;

-- name: partition_load
-- Of the newest `days`, at least since the first run: bytes by which the indexes of the measurements grow a day.
-- memory_bytes: of PostgreSQL and of the system's cache behind it, as its settings say. partitions: their number.
-- locks: how many the database has for all transactions.
-- in: days i64
-- out: index_bytes_a_day f64, memory_bytes f64, partitions i64, locks i64
WITH t AS (SELECT now() AT TIME ZONE 'UTC' AS present,
                  (SELECT min(r.received_at) AT TIME ZONE 'UTC' FROM projects p CROSS JOIN LATERAL (
                       SELECT received_at FROM runs WHERE project_id = p.id ORDER BY id LIMIT 1) r) AS first)
SELECT coalesce((SELECT sum(pg_indexes_size(to_regclass(p.name)))
                        / greatest(1, extract(epoch FROM t.present - greatest(min(p.since), t.first)) / 86400)
                 FROM measurements_partitions p
                 WHERE p.since < t.present AND p.until > t.present - make_interval(days => $1::int)), 0)::float8
           AS index_bytes_a_day,
       greatest(pg_size_bytes(current_setting('shared_buffers')),
                pg_size_bytes(current_setting('effective_cache_size')))::float8 AS memory_bytes,
       (SELECT count(*) FROM measurements_partitions) AS partitions,
       current_setting('max_locks_per_transaction')::bigint * (
           current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint) AS locks
FROM t;

-- name: figures
-- Reads no table that grows for years: tallies (migration 0022) have the totals, indexes of open rows the rest.
-- also: once
-- in: project_id id
-- out: runs i64, measurements i64, series i64, alerts_open i64, jobs_queued i64, jobs_leased i64, notices_open i64,
--    notices_dead i64, runners i64, detection_lag_s f64
SELECT t.runs, t.measurements, t.series,
       (SELECT count(*) FROM alerts WHERE ($1::bigint IS NULL OR project_id = $1)
        AND state IN ('untriaged', 'acknowledged', 'investigating') AND suppressed_by IS NULL) AS alerts_open,
       (SELECT count(*) FROM jobs WHERE ($1::bigint IS NULL OR project_id = $1)
        AND state = 'queued' AND kind NOT IN ('detect', 'notify')) AS jobs_queued,
       (SELECT count(*) FROM jobs WHERE ($1::bigint IS NULL OR project_id = $1)
        AND state = 'leased' AND kind NOT IN ('detect', 'notify')) AS jobs_leased,
       (SELECT count(*) FROM notices WHERE ($1::bigint IS NULL OR project_id = $1)
        AND done_at IS NULL AND NOT withheld) AS notices_open,
       (SELECT count(*) FROM jobs j JOIN notices n ON n.project_id = j.project_id
            AND n.id = (j.task ->> 'notice')::bigint
        WHERE ($1::bigint IS NULL OR n.project_id = $1) AND n.done_at IS NULL
        AND j.kind = 'notify' AND j.state = 'failed') AS notices_dead,
       (SELECT count(*) FROM runners WHERE last_seen_at > now() - interval '5 minutes') AS runners,
       (SELECT coalesce(extract(epoch FROM now() - min(w.created_at)), 0)::float8 FROM (
            SELECT min(created_at) AS created_at FROM jobs WHERE ($1::bigint IS NULL OR project_id = $1)
            AND state = 'queued' AND kind = 'detect'
            UNION ALL
            SELECT min(created_at) FROM jobs WHERE ($1::bigint IS NULL OR project_id = $1)
            AND state = 'leased' AND kind = 'detect') AS w) AS detection_lag_s
FROM (SELECT coalesce(sum(n) FILTER (WHERE what = 'runs'), 0)::bigint AS runs,
             coalesce(sum(n) FILTER (WHERE what = 'measurements'), 0)::bigint AS measurements,
             coalesce(sum(n) FILTER (WHERE what = 'series'), 0)::bigint AS series
      FROM tallies WHERE $1::bigint IS NULL OR project_id = $1) AS t;

-- name: tallies_fold
-- Merges the rows of processes that do not write at present. A process that wants its row waits for this transaction
-- and then inserts a new row; concurrent calls take the sums in one order.
WITH free AS MATERIALIZED (
    SELECT project_id, what, of, process FROM tallies WHERE process <> 0
    FOR UPDATE SKIP LOCKED),
gone AS (
    DELETE FROM tallies t USING free f
    WHERE t.project_id = f.project_id AND t.what = f.what AND t.of = f.of AND t.process = f.process
    RETURNING t.project_id, t.what, t.of, t.n)
INSERT INTO tallies AS t (project_id, what, of, process, n)
SELECT project_id, what, of, 0, sum(n) FROM gone
GROUP BY project_id, what, of ORDER BY project_id, what, of
ON CONFLICT (project_id, what, of, process) DO UPDATE SET n = t.n + excluded.n;

-- name: job_counts
-- Open jobs of all projects. oldest_s: age of the oldest.
-- also: once
-- out: kind text, state text, jobs i64, oldest_s f64
SELECT kind, state, count(*) AS jobs,
       coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest_s
FROM (SELECT kind, state, created_at FROM jobs WHERE state = 'queued' AND kind NOT IN ('detect', 'notify')
      UNION ALL
      SELECT kind, state, created_at FROM jobs WHERE state = 'queued' AND kind = 'detect'
      UNION ALL
      SELECT kind, state, created_at FROM jobs WHERE state = 'queued' AND kind = 'notify'
      UNION ALL
      SELECT kind, state, created_at FROM jobs WHERE state = 'leased') AS open_jobs
GROUP BY kind, state ORDER BY kind, state;

-- name: audit_list
-- Newest first.
-- also: once
-- in: project_id id, cursor id, limit i64
-- out: id i64, at f64, actor text, action text, project text, object text, detail text
SELECT a.id, extract(epoch FROM a.at)::float8 AS at, a.actor, a.action, p.name AS project, a.object,
       a.detail
FROM audit a LEFT JOIN projects p ON p.id = a.project_id
WHERE ($1::bigint IS NULL OR a.project_id = $1) AND ($2::bigint IS NULL OR a.id < $2)
ORDER BY a.id DESC LIMIT $3::int;

-- name: audit_prune
-- Entries older than months, the oldest first, at most limit.
-- in: months i64, limit i64
-- value: pruned i64
SELECT audit_prune($1::int, $2::int) AS pruned;

-- name: readiness_write
-- A write that its transaction never commits; it fails where the database takes no writes.
SELECT readiness_write();
