-- Retention of the audit log. A role of the server may add entries and delete none; this function deletes old ones
-- only, and adds an entry that says how many.
CREATE FUNCTION audit_prune(months int, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    until  timestamptz := now() - make_interval(months => months);
    pruned bigint;
BEGIN
    IF months IS NULL OR months < 1 OR most IS NULL OR most < 1 THEN
        RAISE EXCEPTION 'audit_prune: expected one month or more, and one entry or more';
    END IF;
    -- Entries are numbered in the order of time: the first ones are the oldest. SKIP LOCKED: another server prunes.
    DELETE FROM audit a USING (
        SELECT q.id FROM (SELECT e.id, e.at FROM audit e ORDER BY e.id LIMIT most FOR UPDATE SKIP LOCKED) q
        WHERE q.at < until) old
    WHERE a.id = old.id;
    GET DIAGNOSTICS pruned = ROW_COUNT;
    IF pruned > 0 THEN
        INSERT INTO audit (actor, action, object, detail)
        VALUES ('retention', 'prune', 'audit',
                format('%s entries from before %s', pruned, to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD')));
    END IF;
    RETURN pruned;
END $$;
REVOKE EXECUTE ON FUNCTION audit_prune(int, int) FROM PUBLIC;

-- A role of the server calls it.
DO $$
DECLARE
    old   text := pg_get_functiondef('server_rights(text)'::regprocedure);
    calls text := 'quarantine_release(bigint, text) TO';
BEGIN
    IF strpos(old, calls) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0046';
    END IF;
    EXECUTE replace(old, calls, 'quarantine_release(bigint, text), audit_prune(int, int) TO');
END $$;
