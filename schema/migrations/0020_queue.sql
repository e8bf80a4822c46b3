-- The queue, whole: jobs that wait for others, a back-off after a lost lease, how long the try at hand
-- has taken, and which jobs a runner may take, so that the start of a waiting job can be estimated.
ALTER TABLE jobs ADD COLUMN parents bigint[] NOT NULL DEFAULT '{}', -- of the same project; all done first
                 ADD COLUMN leased_at timestamptz,                  -- of the newest try
                 ADD COLUMN lease_s float8;                         -- ... and how long its lease is
ALTER TABLE runners ADD COLUMN project_id bigint; -- its token's; NULL: any

-- Those that wait for a parent are few; the others are not looked through for them.
CREATE INDEX jobs_held ON jobs (id) WHERE state = 'queued' AND parents <> '{}';
CREATE INDEX jobs_backing_off ON jobs (not_before)
    WHERE state = 'queued' AND not_before IS NOT NULL AND kind NOT IN ('detect', 'notify');

-- Whether a runner of this class, with these labels and backends, may do what wants `wanted`.
CREATE FUNCTION job_fits(wanted jsonb, machine_class text, labels jsonb, backends text[])
    RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT $1 - 'backend' <@ ($3 || jsonb_build_object('machine_class', $2))
           AND ($1 ->> 'backend' IS NULL OR $1 ->> 'backend' = ANY ($4))
$$;
