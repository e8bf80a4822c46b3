-- A fleet: `series` series on one branch, in runs of 1,000 of them; `commits` commits a month, of which `months` months
-- up to now will be filled by fill_month. psql -v series=1000000 -v months=10 -v commits=10 -f fill.sql, on a database
-- that was migrated and has no project yet.
\set ON_ERROR_STOP on
SET synchronous_commit = off;
SET timezone = 'UTC';

INSERT INTO projects (name) VALUES ('fill');
INSERT INTO branches (project_id, name) SELECT id, 'main' FROM projects WHERE name = 'fill';
INSERT INTO machines (class, name, fingerprint_hash, fingerprint) VALUES ('fill-cpu', 'host', 'f', '{}');
-- Number 1 is the oldest. The newest month ends an hour ago, so that no commit lies in the future.
INSERT INTO commits (project_id, sha, parents, author, time, subject)
SELECT p.id, lpad(to_hex(n), 40, '0'), CASE WHEN n > 1 THEN ARRAY[lpad(to_hex(n - 1), 40, '0')] ELSE '{}' END, 'Ada',
       b.begin + (k + 1) * (b.over - b.begin) / (:commits + 1), 'change ' || n
FROM projects p CROSS JOIN generate_series(1, :months * :commits) AS n
CROSS JOIN LATERAL (SELECT (n - 1) / :commits AS month, (n - 1) % :commits AS k) AS i
CROSS JOIN LATERAL (
    SELECT date_trunc('month', now()) - (:months - 1 - month) * interval '1 month' AS begin,
           least(now() - interval '1 hour',
                 date_trunc('month', now()) - (:months - 2 - month) * interval '1 month') AS over) AS b
WHERE p.name = 'fill' ORDER BY n;
INSERT INTO branch_commits (project_id, branch, commit_id, position)
SELECT c.project_id, 'main', c.id, row_number() OVER (ORDER BY c.id)
FROM commits c JOIN projects p ON p.id = c.project_id WHERE p.name = 'fill';
INSERT INTO benchmarks (project_id, name)
SELECT p.id, 'group' || lpad((n / 1000)::text, 3, '0') || '/gemm/f32/m' || 64 * (n % 1000 + 1) || 'n64k64'
FROM projects p, generate_series(0, :series - 1) AS n WHERE p.name = 'fill' ORDER BY n;
INSERT INTO series (project_id, benchmark_id, metric, backend, machine_class, branch, unit,
                    higher_is_better, exact, headline, points, last_commit_id, last_median, spark, noise_rel)
SELECT b.project_id, b.id, 'time_ns', 'cpu-avx2', 'fill-cpu', 'main', 'ns', false, false, false, :commits,
       (SELECT max(id) FROM commits), 1000, array_fill(1000::float8, ARRAY[10]), 0.01
FROM benchmarks b JOIN projects p ON p.id = b.project_id WHERE p.name = 'fill' ORDER BY b.id;

ANALYZE;

-- A change with an alert in every hundredth series, at one of the newest commits.
INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id, commit_high_id, before, after,
                           rel_change, rel_low, rel_high, p, regression, confirmed)
SELECT s.project_id, s.id, c.id, c.id, c.id, 100, 110, 0.1, 0.09, 0.11, 1e-9, true, true
FROM series s JOIN commits c ON c.project_id = s.project_id
    AND c.id = (SELECT max(id) FROM commits) - s.id / 100 % greatest(1, :commits - 4)
WHERE s.id % 100 = 0;
INSERT INTO alerts (project_id, change_point_id, series_id)
SELECT project_id, id, series_id FROM change_points ORDER BY id;
VACUUM ANALYZE;

-- Month number `a_month`, 0 being the oldest: the runs of its commits and what they measured, in a partition whose
-- indexes are made once, by sorting.
CREATE FUNCTION fill_month(a_month int, a_month_has int) RETURNS void
LANGUAGE plpgsql SET timezone = 'UTC' SET synchronous_commit = off AS $$
DECLARE
    first   bigint := (SELECT min(id) FROM series);
    project bigint := (SELECT id FROM projects WHERE name = 'fill');
    begin_  timestamptz := (SELECT date_trunc('month', time) FROM commits WHERE sha = lpad(to_hex(a_month * a_month_has + 1), 40, '0'));
    part    text := 'measurements_' || to_char(begin_, 'YYYYMM');
BEGIN
    CREATE TEMP TABLE filled ON COMMIT DROP AS
    WITH made AS (
        INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash, machine_id, infra,
                          started_at, finished_at, received_at)
        SELECT c.project_id, md5(c.sha || g), '', c.id, 'main', 'group' || g, '', (SELECT min(id) FROM machines), false,
               c.time, c.time, c.time
        FROM commits c CROSS JOIN generate_series(0, (SELECT count(*) FROM series) / 1000 - 1) AS g
        WHERE c.project_id = project AND c.id IN (
            SELECT id FROM commits WHERE project_id = project AND sha BETWEEN lpad(to_hex(a_month * a_month_has + 1), 40, '0')
                                                                         AND lpad(to_hex((a_month + 1) * a_month_has), 40, '0'))
        ORDER BY c.id, g
        RETURNING id, commit_id, received_at, substr(suite, 6)::bigint AS place)
    SELECT * FROM made;
    INSERT INTO run_parts (project_id, run_id, body_hash, measurements, series, samples)
    SELECT project, id, '', 1000, 1000, 4000 FROM filled;
    IF to_regclass(part) IS NOT NULL THEN
        EXECUTE format('ALTER TABLE measurements DETACH PARTITION %I', part);
        EXECUTE format('DROP TABLE %I', part);
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE measurements INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
    EXECUTE format('INSERT INTO %I SELECT $1, s, r.id, r.commit_id, r.received_at, 4, x.m, x.m * 0.99, x.m * 1.01, x.m * 0.98,'
                   ' ARRAY[x.m * 0.98, x.m, x.m, x.m * 1.02], ARRAY[4]'
                   ' FROM filled r CROSS JOIN LATERAL generate_series($2 + 1000 * r.place, $2 + 1000 * r.place + 999) AS s'
                   ' CROSS JOIN LATERAL (SELECT (1000 + (r.id * 7919 + s * 104729) %% 10)::float8 AS m) AS x'
                   ' ORDER BY r.id, s', part) USING project, first;
    EXECUTE format('ALTER TABLE measurements ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, begin_,
                   begin_ + interval '1 month');
    EXECUTE format('ANALYZE %I', part);
END $$;
