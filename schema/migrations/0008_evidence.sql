-- Which other metrics of the benchmark moved with an alert, at the last grouping: 'exact' (a metric without
-- noise moved), 'corroborated' (another metric moved the same way), 'alone' (others were measured and
-- did not move), 'single' (nothing else is measured).
ALTER TABLE alerts ADD COLUMN evidence text NOT NULL DEFAULT 'single'
    CHECK (evidence IN ('exact', 'corroborated', 'alone', 'single'));
