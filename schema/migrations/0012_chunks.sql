-- Long series are read in chunks: what a window is made of, packed, a row for a month of a series
-- instead of one for every measurement. Derived and never the only copy: what lies after the newest
-- chunk is read from the measurements, and a series without chunks is read from them alone.

-- Counts up whenever measured commits get other positions (or times): chunks with another number are
-- not used, and are built again.
ALTER TABLE branches ADD COLUMN line_version bigint NOT NULL DEFAULT 0;

-- Measurements stored from from_at (of one month, UTC) to before until_at; a series' chunks leave no
-- measurement out between the first and the last. packed: see point_pack; in the order of position and
-- run, and not compressed, since digits of medians do not compress.
CREATE TABLE series_chunks (
    project_id   bigint NOT NULL,
    series_id    bigint NOT NULL,
    from_at      timestamptz NOT NULL,
    until_at     timestamptz NOT NULL CHECK (until_at > from_at),
    line_version bigint NOT NULL,
    points       int NOT NULL,
    packed       bytea NOT NULL CHECK (octet_length(packed) = 44 * points),
    PRIMARY KEY (project_id, series_id, from_at),
    FOREIGN KEY (project_id, series_id) REFERENCES series (project_id, id)
);
ALTER TABLE series_chunks ALTER COLUMN packed SET STORAGE EXTERNAL;

-- 44 bytes, big-endian: position and run_id (int8), commit's time in Unix seconds, median and min
-- (float8), n (int4).
CREATE FUNCTION point_pack("position" bigint, run_id bigint, "time" float8, median float8, min float8,
                           n int) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT int8send($1) || int8send($2) || float8send($3) || float8send($4) || float8send($5)
           || int4send($6)
$$;

-- The measurements that lie on their series' branch.
CREATE VIEW series_points AS
SELECT m.project_id, m.series_id, m.stored_at, m.run_id, b.branch, b.position,
       point_pack(b.position, m.run_id, extract(epoch FROM c.time)::float8, m.median, m.min, m.n)
           AS packed
FROM measurements m
JOIN branch_commits b ON b.project_id = m.project_id AND b.commit_id = m.commit_id
JOIN commits c ON c.project_id = m.project_id AND c.id = m.commit_id
WHERE b.position IS NOT NULL;
