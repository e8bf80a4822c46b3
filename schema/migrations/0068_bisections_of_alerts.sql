-- The list of alerts names the commit that a finished search of the alert has found.
CREATE INDEX bisections_of_alert ON bisections (project_id, alert_id) WHERE alert_id IS NOT NULL;
