-- The list of series is searched and sorted by narrow rows beside the wide ones of `series`: 10^6 series are 0.8 GB
-- there. A row is written when its series is new, when its newest change differs, or its noise by a step.

-- Numbers are filled up, so that m64 comes before m1024. Not by one regular expression: it takes longer than the loop.
CREATE FUNCTION series_name_key(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    out  text := '';
    rest text := name;
    part text;
BEGIN
    LOOP
        part := substring(rest from '^[^0-9]*');
        out := out || part;
        rest := substr(rest, length(part) + 1);
        EXIT WHEN rest = '';
        part := substring(rest from '^[0-9]*');
        out := out || lpad(part, greatest(16, length(part)), '0');
        rest := substr(rest, length(part) + 1);
    END LOOP;
    RETURN out;
END $$;

-- Noisy series first; steps of 2.5 %, so that a series rarely changes its place. The last place without noise.
CREATE FUNCTION series_noise_key(noise_rel float8) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(-round(40 * ln(CASE WHEN noise_rel BETWEEN 1e-300 AND 1e300 THEN noise_rel
                                        WHEN noise_rel > 1 THEN 1e300 WHEN noise_rel <= 1e-300 THEN 1e-300 END)), 32767)::smallint
$$;

CREATE TABLE series_keys (
    project_id    bigint NOT NULL,
    series_id     bigint NOT NULL,
    plain         boolean NOT NULL, -- no headline metric: those come first
    direction     smallint NOT NULL DEFAULT 0, -- of the newest change: 1 regression, -1 improvement, 0 none
    noise         smallint NOT NULL DEFAULT 32767,
    change        float8 NOT NULL DEFAULT 1, -- of the newest change, the negative size: the largest first; 1: none
    name          text COLLATE "C" NOT NULL, -- series_name_key of the benchmark's
    metric        text NOT NULL,
    backend       text NOT NULL,
    machine_class text NOT NULL,
    branch        text NOT NULL,
    words         text NOT NULL -- benchmark, metric and backend in lower case
);
ALTER TABLE series_keys ALTER COLUMN words SET STATISTICS 1000; -- how many series a rare word has

CREATE FUNCTION series_newest_change(project bigint, series bigint, branch text, OUT change float8, OUT direction smallint)
LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(-abs(x.rel_change)), 1), coalesce(max(CASE WHEN x.regression THEN 1 ELSE -1 END), 0)::smallint
    FROM (SELECT p.rel_change, p.regression FROM public.change_points p
          JOIN public.branch_commits b ON b.project_id = p.project_id AND b.commit_id = p.commit_id
              AND b.branch = series_newest_change.branch
          WHERE p.project_id = project AND p.series_id = series AND p.gone_at IS NULL AND p.kind = 'step'
          ORDER BY b.position DESC NULLS LAST LIMIT 1) AS x
$$;

-- By triggers, so that those are kept, too, that a server of the version before writes.
LOCK TABLE series, change_points IN SHARE ROW EXCLUSIVE MODE;
CREATE FUNCTION series_keys_make() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.series_keys (project_id, series_id, plain, noise, name, metric, backend, machine_class, branch, words)
    SELECT NEW.project_id, NEW.id, NOT NEW.headline, public.series_noise_key(NEW.noise_rel), public.series_name_key(b.name),
           NEW.metric, NEW.backend, NEW.machine_class, NEW.branch, lower(b.name || ' ' || NEW.metric || ' ' || NEW.backend)
    FROM public.benchmarks b WHERE b.project_id = NEW.project_id AND b.id = NEW.benchmark_id;
    RETURN NULL;
END $$;
CREATE TRIGGER series_keys_make AFTER INSERT ON series FOR EACH ROW EXECUTE FUNCTION series_keys_make();

CREATE FUNCTION series_keys_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE public.series_keys k SET change = n.change, direction = n.direction
    FROM public.series s CROSS JOIN LATERAL public.series_newest_change(s.project_id, s.id, s.branch) AS n
    WHERE s.project_id = NEW.project_id AND s.id = NEW.series_id AND k.project_id = s.project_id AND k.series_id = s.id
      AND (k.change, k.direction) IS DISTINCT FROM (n.change, n.direction);
    RETURN NULL;
END $$;
CREATE TRIGGER series_keys_new_change AFTER INSERT ON change_points
    FOR EACH ROW WHEN (NEW.kind = 'step') EXECUTE FUNCTION series_keys_change();
CREATE TRIGGER series_keys_other_change AFTER UPDATE ON change_points FOR EACH ROW
    WHEN (NEW.kind = 'step' AND (NEW.gone_at IS NULL, NEW.commit_id, NEW.rel_change, NEW.regression)
          IS DISTINCT FROM (OLD.gone_at IS NULL, OLD.commit_id, OLD.rel_change, OLD.regression))
    EXECUTE FUNCTION series_keys_change();

INSERT INTO series_keys (project_id, series_id, plain, noise, name, metric, backend, machine_class, branch, words)
SELECT s.project_id, s.id, NOT s.headline, series_noise_key(s.noise_rel), series_name_key(b.name),
       s.metric, s.backend, s.machine_class, s.branch, lower(b.name || ' ' || s.metric || ' ' || s.backend)
FROM series s JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id;
-- Once for all rows: to check 10^6 one by one takes longer than to insert them.
ALTER TABLE series_keys ADD PRIMARY KEY (project_id, series_id),
    ADD FOREIGN KEY (project_id, series_id) REFERENCES series (project_id, id) ON DELETE CASCADE;
UPDATE series_keys k SET change = n.change, direction = n.direction
FROM (SELECT DISTINCT project_id, series_id FROM change_points WHERE gone_at IS NULL AND kind = 'step') AS x
JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
CROSS JOIN LATERAL series_newest_change(s.project_id, s.id, s.branch) AS n
WHERE k.project_id = s.project_id AND k.series_id = s.id;
CREATE INDEX series_keys_by_name ON series_keys (project_id, plain, name, metric, series_id);
CREATE INDEX series_keys_by_change ON series_keys (project_id, plain, change, name, metric, series_id);
CREATE INDEX series_keys_by_noise ON series_keys (project_id, plain, noise, name, metric, series_id);
CREATE INDEX series_keys_changed ON series_keys (project_id, direction) WHERE direction <> 0;

-- Words of three letters and more are found by their trigrams. Where the extension may not be installed, all keys of
-- the project are read: about a second for 10^6 series.
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
    CREATE INDEX series_keys_words ON series_keys USING gin (words gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR undefined_object OR feature_not_supported THEN
    RAISE NOTICE 'series are searched without an index: %', SQLERRM;
END $$;

-- The server changes them.
DO $$
DECLARE
    old    text := pg_get_functiondef('server_rights(text)'::regprocedure);
    tables text := 'faults,schedules,nights,forge_links,webhook_deliveries';
BEGIN
    IF (length(old) - length(replace(old, tables, ''))) / length(tables) <> 2 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0060';
    END IF;
    EXECUTE overlay(old PLACING 'series_keys,' || tables FROM strpos(old, tables) FOR length(tables));
END $$;
