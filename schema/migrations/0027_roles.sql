-- The server may connect as a role that owns nothing. Changes of tables at run time are done by these two
-- functions, as their owner; only roles of a server may call them.
ALTER FUNCTION measurements_month(date) SECURITY DEFINER SET search_path = public, pg_temp;
ALTER FUNCTION retention_apply(date, boolean) SECURITY DEFINER SET search_path = public, pg_temp;
REVOKE EXECUTE ON FUNCTION measurements_month(date), retention_apply(date, boolean) FROM PUBLIC;

-- Gives a role what a server does with what is there now, and takes from it what an older version gave:
-- everything is read and added to; these tables alone are changed, and of these rows are deleted. A month's
-- partition is reached through its table, and is read by backups.
CREATE FUNCTION server_rights(server text) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    changed text[] := '{projects,commits,branches,branch_commits,machines,series,runs,change_points,alerts,jobs,
                        runners,tokens,bisections,environment_events,benchmark_sources,bisection_steps,
                        verifications,verification_pairs,series_chunks,notices,machine_shifts,tallies}';
    deleted text[] := '{jobs,series_chunks,tallies}';
    owner   oid := (SELECT relowner FROM pg_class WHERE oid = 'schema_migrations'::regclass);
    thing   record;
BEGIN
    PERFORM pg_advisory_xact_lock(74202027); -- months are neither made nor thinned meanwhile
    IF NOT has_schema_privilege(server, 'public', 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', server);
    END IF;
    FOR thing IN SELECT relname, relkind, relispartition FROM pg_class
                 WHERE relnamespace = 'public'::regnamespace AND relowner = owner
                   AND relkind IN ('r', 'p', 'v', 'S') LOOP
        EXECUTE format('REVOKE ALL ON %I FROM %I', thing.relname, server);
        EXECUTE format('GRANT %s ON %I TO %I', CASE
            WHEN thing.relkind = 'S' THEN 'SELECT, USAGE'
            WHEN thing.relkind = 'v' OR thing.relispartition
                OR thing.relname IN ('schema_migrations', 'retention') THEN 'SELECT'
            ELSE concat_ws(', ', 'SELECT', 'INSERT', CASE WHEN thing.relname = ANY (changed) THEN 'UPDATE' END,
                           CASE WHEN thing.relname = ANY (deleted) THEN 'DELETE' END) END, thing.relname, server);
    END LOOP;
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO %I', server);
    EXECUTE format('GRANT EXECUTE ON FUNCTION measurements_month(date), retention_apply(date, boolean) TO %I', server);
END $$;

-- The same for a role that is named for the first time, if it is one that these rights limit.
CREATE FUNCTION server_grant(server text) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    owner oid := (SELECT relowner FROM pg_class WHERE oid = 'schema_migrations'::regclass);
    fault text;
BEGIN
    SELECT CASE WHEN r.rolsuper THEN 'is a superuser, whom no right limits'
                WHEN r.oid = owner THEN 'owns the tables: want another one, which the server connects as'
                WHEN pg_has_role(r.oid, owner, 'MEMBER') THEN
                    format('is a member of role "%s", which owns the tables', pg_get_userbyid(owner)) END
    INTO fault FROM pg_roles r WHERE r.rolname = server;
    IF NOT FOUND THEN
        fault := 'is not there: make it (createuser)';
    END IF;
    IF fault IS NULL AND has_schema_privilege('public', 'public', 'CREATE') THEN -- as before PostgreSQL 15
        REVOKE CREATE ON SCHEMA public FROM PUBLIC;
    END IF;
    IF fault IS NULL AND has_database_privilege(server, current_database(), 'CREATE') THEN
        fault := format('may create schemas in database "%s": that has to be another role''s'
                        ' (ALTER DATABASE ... OWNER TO ...; REVOKE CREATE ON DATABASE ...)', current_database());
    END IF;
    IF fault IS NULL AND has_schema_privilege(server, 'public', 'CREATE') THEN
        fault := 'may create in schema public: take that from it (REVOKE CREATE ON SCHEMA public ...)';
    END IF;
    IF fault IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('role "%s" %s', server, fault);
    END IF;
    PERFORM server_rights(server);
END $$;
