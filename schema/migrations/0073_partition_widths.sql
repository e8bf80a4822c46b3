-- Partitions of a month, a week or a day, beside each other. None is ever moved or divided: another width fills what
-- lies between the partitions that exist. Their bounds are midnights in UTC.

-- Without the default partition. since, until: in UTC.
CREATE VIEW measurements_partitions AS
SELECT c.relname::text AS name, q.bounds[1]::timestamptz AT TIME ZONE 'UTC' AS since,
       q.bounds[2]::timestamptz AT TIME ZONE 'UTC' AS until
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(.*)''\) TO \(''(.*)''\)') AS q (bounds)
WHERE i.inhparent = 'measurements'::regclass AND q.bounds IS NOT NULL;

-- As measurements_month of migration 0018, for the days from since to before until: at most a month. A whole month has
-- its name as before. Returns NULL when a partition has some of these days.
CREATE FUNCTION measurements_partition(since date, until date) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET timezone = 'UTC' SET search_path = public, pg_temp AS $$
DECLARE
    part  text := CASE WHEN since = date_trunc('month', since::timestamp) AND until = since + interval '1 month'
                       THEN 'measurements_' || to_char(since, 'YYYYMM')
                       ELSE format('measurements_%s_%s', to_char(since, 'YYYYMMDD'), to_char(until, 'YYYYMMDD')) END;
    first timestamptz := since::timestamptz;
    over  timestamptz := until::timestamptz;
    moved bigint := 0;
BEGIN
    IF coalesce(NOT isfinite(since) OR NOT isfinite(until) OR until NOT BETWEEN since + 1 AND since + 31, true) THEN
        RAISE EXCEPTION 'measurements_partition: expected 1 to 31 days, got % to %', since, until;
    END IF;
    PERFORM pg_advisory_xact_lock(74202027);
    -- A lock that attaching needs anyway; and only a table's lock lets us see what others made before it.
    LOCK TABLE ONLY measurements IN SHARE UPDATE EXCLUSIVE MODE;
    IF EXISTS (SELECT 1 FROM measurements_partitions p WHERE p.since < measurements_partition.until
               AND p.until > measurements_partition.since) THEN
        RETURN NULL;
    END IF;
    -- Attaching needs this lock in any case; taken first, nothing can come in behind the move.
    LOCK TABLE measurements_default IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE %I (LIKE measurements INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
    IF EXISTS (SELECT 1 FROM measurements_default WHERE stored_at >= first AND stored_at < over) THEN
        EXECUTE format('INSERT INTO %I SELECT * FROM measurements_default'
                       ' WHERE stored_at >= %L AND stored_at < %L', part, first, over);
        GET DIAGNOSTICS moved = ROW_COUNT;
        DELETE FROM measurements_default WHERE stored_at >= first AND stored_at < over;
    END IF;
    EXECUTE format('ALTER TABLE measurements ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, first, over);
    RETURN moved;
END $$;

-- For servers of before this version.
CREATE OR REPLACE FUNCTION measurements_month(month date) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT measurements_partition(date_trunc('month', month::timestamp)::date,
                                  (date_trunc('month', month::timestamp) + interval '1 month')::date)
$$;

-- month: the first day of the thinned partition. until: the day after its last one; NULL: the partition is a month.
ALTER TABLE retention ADD COLUMN until date;

-- As retention_apply, for the partition that begins on the day `month`, whatever its width.
DO $$
DECLARE
    old  text := pg_get_functiondef('retention_apply(date, boolean)'::regprocedure);
    part text[];
BEGIN
    FOREACH part SLICE 1 IN ARRAY ARRAY[
        ['retention_apply.month + interval ''1 month''', 'ends'],
        ['(month + interval ''1 month'')', 'ends'],
        ['retention_apply', 'retention_thin'],
        ['''measurements_'' || to_char(month, ''YYYYMM'');',
         '(SELECT p.name FROM measurements_partitions p WHERE p.since = month);
    ends  date := (SELECT p.until FROM measurements_partitions p WHERE p.since = month);'],
        ['INSERT INTO retention (month, ', 'INSERT INTO retention (until, month, '],
        ['VALUES (retention_thin.month, ', 'VALUES (ends, retention_thin.month, '],
        ['SET kept = excluded.kept', 'SET until = excluded.until, kept = excluded.kept']] LOOP
        IF strpos(old, part[1]) = 0 THEN
            RAISE EXCEPTION 'retention_apply is not the one of migration 0066: it has no "%"', part[1];
        END IF;
        old := replace(old, part[1], part[2]);
    END LOOP;
    IF strpos(old, '1 month') > 0 THEN
        RAISE EXCEPTION 'retention_apply is not the one of migration 0066: it has another month';
    END IF;
    EXECUTE old;
END $$;

-- For servers of before this version.
CREATE OR REPLACE FUNCTION retention_apply(month date, keep_days boolean, OUT rows_before bigint,
                                OUT rows_after bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT t.rows_before, t.rows_after FROM retention_thin(month, keep_days) t
$$;

REVOKE EXECUTE ON FUNCTION measurements_partition(date, date), retention_thin(date, boolean) FROM PUBLIC;

-- A role of the server calls them.
DO $$
DECLARE
    old   text := pg_get_functiondef('server_rights(text)'::regprocedure);
    calls text := 'audit_prune(int, int) TO';
BEGIN
    IF strpos(old, calls) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0067';
    END IF;
    EXECUTE replace(old, calls, 'audit_prune(int, int), measurements_partition(date, date),'
                                ' retention_thin(date, boolean) TO');
END $$;
