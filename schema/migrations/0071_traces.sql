-- Traces of runs: files of the binary trace format (docs/reference/trace.md), as they were sent.

-- benchmark: that was traced; NULL: not said. title: of the trace's metadata; '': it has none. size: of the file in
-- bytes. records, span_ns, units: of its content. digest: SHA-256 of the file, once a run.
CREATE TABLE traces (
    project_id bigint NOT NULL REFERENCES projects (id),
    id         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    run_id     bigint NOT NULL,
    benchmark  text,
    title      text NOT NULL,
    digest     text NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    size       bigint NOT NULL CHECK (size BETWEEN 1 AND 16777216),
    records    bigint NOT NULL,
    span_ns    bigint NOT NULL,
    units      int NOT NULL,
    actor      text NOT NULL,
    stored_at  timestamptz NOT NULL DEFAULT now(),
    bytes      bytea NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, run_id, digest),
    FOREIGN KEY (project_id, run_id) REFERENCES runs (project_id, id) ON DELETE CASCADE,
    CONSTRAINT traces_whole CHECK (octet_length(bytes) = size)
);
-- The server compresses answers, and reads a file as a whole.
ALTER TABLE traces ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- A month that is thinned loses the traces of its runs, except of those that something refers to.
DO $$
DECLARE
    old    text := pg_get_functiondef('retention_apply(date, boolean)'::regprocedure);
    before text := '    ANALYZE retention_kept;';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'retention_apply is not the one of migration 0066';
    END IF;
    EXECUTE replace(old, before, before || $sql$
    EXECUTE format('DELETE FROM traces t WHERE EXISTS (SELECT 1 FROM ONLY %I m'
                   ' WHERE m.project_id = t.project_id AND m.run_id = t.run_id)'
                   ' AND NOT EXISTS (SELECT 1 FROM retention_kept k WHERE k.project_id = t.project_id'
                   ' AND k.run_id = t.run_id)', old);$sql$);
END $$;
