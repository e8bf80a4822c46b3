-- How much an alert is worth looking at: what it costs at least (the end of the 95 % interval nearer to
-- nothing, as a logarithm, so that twice as slow and half as fast weigh the same), times what else says
-- so, times how far it reaches.
CREATE FUNCTION alert_worth(rel_low float8, rel_high float8, evidence text, group_series int)
    RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN NOT (($1 > 0 AND $2 > 0) OR ($1 < 0 AND $2 < 0)) THEN 0
                ELSE abs(ln(greatest(1e-9, 1 + CASE WHEN abs($1) < abs($2) THEN $1 ELSE $2 END)))
           END
           * CASE $3 WHEN 'exact' THEN 2 WHEN 'corroborated' THEN 1.5 WHEN 'alone' THEN 0.5 ELSE 1 END
           * sqrt(greatest(1, $4))
$$;
