-- The smallest change that a series can show depends on the length of the level before the change, not on
-- that of the whole series. level_points: length of the newest confirmed level; watching_of:
-- points that the watched ones must become for an alert.
ALTER TABLE series ADD COLUMN level_points bigint NOT NULL DEFAULT 0,
                   ADD COLUMN watching_of bigint NOT NULL DEFAULT 0;
UPDATE series SET level_points = points, watching_of = CASE WHEN watching > 0 THEN greatest(5, watching) ELSE 0 END;
