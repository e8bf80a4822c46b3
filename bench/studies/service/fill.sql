-- A service of two years: `commits` commits on one line, `series` series, a run a commit that measures
-- all of them. psql -v commits=100000 -v series=100 -f fill.sql, on a database that was migrated.
\set ON_ERROR_STOP on
SET synchronous_commit = off;
SET timezone = 'UTC';

INSERT INTO projects (name) VALUES ('fill');
INSERT INTO branches (project_id, name) SELECT id, 'main' FROM projects WHERE name = 'fill';
INSERT INTO machines (class, name, fingerprint_hash, fingerprint) VALUES ('fill-cpu', 'host', 'f', '{}');
INSERT INTO commits (project_id, sha, parents, author, time, subject)
SELECT p.id, lpad(to_hex(n), 40, '0'), ARRAY[lpad(to_hex(n - 1), 40, '0')], 'Ada',
       timestamptz '2024-01-01' + n * (interval '730 days' / :commits), 'change ' || n
FROM projects p, generate_series(1, :commits) AS n WHERE p.name = 'fill' ORDER BY n;
INSERT INTO branch_commits (project_id, branch, commit_id, position)
SELECT c.project_id, 'main', c.id, row_number() OVER (ORDER BY c.id)
FROM commits c JOIN projects p ON p.id = c.project_id WHERE p.name = 'fill';
INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash, machine_id, infra,
                  started_at, finished_at, received_at)
SELECT c.project_id, md5(c.sha), '', c.id, 'main', 'quick', '', m.id, false, c.time, c.time, c.time
FROM commits c JOIN projects p ON p.id = c.project_id, machines m WHERE p.name = 'fill' AND m.name = 'host'
ORDER BY c.id;
INSERT INTO run_parts (project_id, run_id, body_hash, measurements, series, samples)
SELECT r.project_id, r.id, '', :series, :series, 4 * :series
FROM runs r JOIN projects p ON p.id = r.project_id WHERE p.name = 'fill';
INSERT INTO benchmarks (project_id, name)
SELECT p.id, 'gemm/f32/m' || 64 * n || 'n64k64' FROM projects p, generate_series(1, :series) AS n
WHERE p.name = 'fill';
INSERT INTO series (project_id, benchmark_id, metric, backend, machine_class, branch, unit,
                    higher_is_better, exact, headline, points)
SELECT b.project_id, b.id, 'time_ns', 'cpu-avx2', 'fill-cpu', 'main', 'ns', false, false, false, :commits
FROM benchmarks b JOIN projects p ON p.id = b.project_id WHERE p.name = 'fill';

-- Each month beside the table, then attached: its indexes are made once, by sorting.
SELECT format('CREATE TABLE measurements_%1$s (LIKE measurements INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
INSERT INTO measurements_%1$s
SELECT r.project_id, s.id, r.id, r.commit_id, r.received_at, 4, x.m, x.m * 0.99, x.m * 1.01, x.m * 0.98,
       ARRAY[x.m * 0.98, x.m, x.m, x.m * 1.02], ARRAY[4]
FROM runs r JOIN projects p ON p.id = r.project_id JOIN series s ON s.project_id = p.id
CROSS JOIN LATERAL (SELECT (1000 + s.id + (r.id * 7919 + s.id * 104729) %% 10)::float8 AS m) AS x
WHERE p.name = ''fill'' AND r.received_at >= %2$L AND r.received_at < %3$L ORDER BY r.id, s.id;
ALTER TABLE measurements ATTACH PARTITION measurements_%1$s FOR VALUES FROM (%2$L) TO (%3$L)',
              to_char(m, 'YYYYMM'), m, m + interval '1 month')
FROM generate_series(timestamptz '2024-01-01', timestamptz '2025-12-01', interval '1 month') AS m
\gexec

-- One change in every tenth series, each with an alert, so that the page of alerts has something to show.
INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id, commit_high_id, before, after,
                           rel_change, rel_low, rel_high, p, regression, confirmed)
SELECT s.project_id, s.id, c.id, c.id, c.id, 100, 110, 0.1, 0.09, 0.11, 1e-9, true, true
FROM series s JOIN projects p ON p.id = s.project_id AND p.name = 'fill'
CROSS JOIN generate_series(1, 100) AS k
JOIN commits c ON c.project_id = p.id AND c.sha = lpad(to_hex((k * :commits / 101)::int), 40, '0');
INSERT INTO alerts (project_id, change_point_id, series_id)
SELECT project_id, id, series_id FROM change_points;
VACUUM ANALYZE;
