-- The check of /readyz: a write that reaches the table, its WAL record and PL/pgSQL, as the storing of a run does.
-- It is always rolled back, so the table stays empty.
CREATE TABLE readiness (
    asked_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION readiness_write() RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO readiness DEFAULT VALUES;
END $$;
