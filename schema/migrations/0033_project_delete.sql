-- Deleting a project: its rows go table by table, those that refer to others first, a bounded number a call, so
-- that no transaction is long. The audit log keeps what was done to it. A table that a later migration adds with a
-- column project_id is covered.
CREATE FUNCTION project_clear(project bigint, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    thing   record;
    removed bigint;
BEGIN
    FOR thing IN
        WITH RECURSIVE mine AS (
            SELECT c.oid, c.relname FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id' AND NOT a.attisdropped
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'audit'
        ), depths AS (
            SELECT oid, 0 AS depth FROM mine
            UNION
            SELECT f.confrelid, d.depth + 1 FROM depths d
            JOIN pg_constraint f ON f.contype = 'f' AND f.conrelid = d.oid AND f.confrelid <> d.oid
            JOIN mine m ON m.oid = f.confrelid
        )
        SELECT m.oid::regclass AS name FROM mine m JOIN depths d USING (oid)
        -- Triggers count into tallies what is removed from others.
        GROUP BY m.oid, m.relname ORDER BY m.relname = 'tallies', max(d.depth), m.relname
    LOOP
        EXECUTE format('DELETE FROM ONLY %s WHERE ctid = ANY (ARRAY(SELECT ctid FROM ONLY %s'
                       ' WHERE project_id = $1 LIMIT $2))', thing.name, thing.name) USING project, most;
        GET DIAGNOSTICS removed = ROW_COUNT;
        IF removed > 0 THEN
            RETURN removed;
        END IF;
    END LOOP;
    DELETE FROM projects WHERE id = project;
    RETURN 0;
END $$;
REVOKE EXECUTE ON FUNCTION project_clear(bigint, int) FROM PUBLIC;

-- A role of the server calls it.
DO $$
DECLARE
    old text := pg_get_functiondef('server_rights(text)'::regprocedure);
BEGIN
    IF strpos(old, 'retention_apply(date, boolean) TO') = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0027';
    END IF;
    EXECUTE replace(old, 'retention_apply(date, boolean) TO',
                    'retention_apply(date, boolean), project_clear(bigint, int) TO');
END $$;
