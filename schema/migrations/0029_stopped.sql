-- Why a bisection ended before it was decided, and what it would take to decide it:
-- {"stopped": "budget", "budget_runs", "candidates", "likeliest": {"commit", "probability"},
--  "probability_none", "expected_more_runs"}; NULL: it was decided, or ended for another reason.
ALTER TABLE bisections ADD COLUMN stopped jsonb;
