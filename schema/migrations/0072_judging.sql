-- Judging at the cost of the new points.

-- Of a series of which a part is settled: no point from its anchor on is of a run with a lower number. So the runs
-- before it are not read. 0: not known.
ALTER TABLE series ADD COLUMN anchor_run bigint NOT NULL DEFAULT 0;

-- Another number after each judgement of the series with its history: as long as the number and the position stay, so
-- does the history, which a server keeps in memory for the next point. 0: not known.
ALTER TABLE series_states ADD COLUMN generation bigint NOT NULL DEFAULT 0;

-- A row of a series, 2 kB with its newest medians, is replaced with each point. In a full page every new version went
-- to another page, with an entry in each of four indexes: 17 to 33 % of the updates could do without, now 94 %.
ALTER TABLE series SET (fillfactor = 40);

-- Those that are gone are read, too, whenever their series is judged: without an index, all of the project.
DROP INDEX change_points_of_series;
CREATE INDEX change_points_of_series ON change_points (project_id, series_id);
