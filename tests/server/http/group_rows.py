"""Groups of alerts of project demo, for test_openapi.py: bodies of changes that find something to change."""

import pull_rows
import support

WRITES = {("patch", "/api/v1/groups"), ("post", "/api/v1/groups/{id}/merge"), ("post", "/api/v1/groups/{id}/split")}


def paths(server, alert):
    """The number for each path with a group: that of the alert."""
    return dict.fromkeys((f"/api/v1/groups/{{id}}{verb}" for verb in ("", "/merge", "/split", "/issue")), group_of(server, alert))


def group_of(server, alert):
    return int(support.sql(server.database, f"SELECT group_id FROM alerts WHERE id = {alert}"))


def other_alert(server, alert):
    """Another alert of the same project and branch."""
    return int(support.sql(server.database, "SELECT max(o.id) FROM alerts a JOIN series s ON s.id = a.series_id JOIN alerts o ON"
                           " o.project_id = a.project_id AND o.id <> a.id JOIN series t ON t.id = o.series_id AND t.branch = s.branch"
                           f" WHERE a.id = {alert}"))


def body(server, method, pattern, alert):
    """A body that changes something of the group of `alert`: another alert is moved to where it has to be first. None: not of groups."""
    if "/groups" not in pattern:
        return None
    if (method, pattern.replace(f"/{group_of(server, alert)}/", "/{id}/")) not in WRITES:
        return None
    group, other = group_of(server, alert), other_alert(server, alert)
    if method == "patch":
        return {"groups": [{"id": group}], "state": "acknowledged", "reason": "one cause", "assignee": "Ada"}
    if pattern.endswith("/split"):
        support.sql(server.database, f"UPDATE alerts SET group_id = {group} WHERE id = {other}")
        return {"alerts": [other], "reason": "another cause"}
    support.sql(server.database, f"UPDATE alerts SET group_id = nextval('alert_group_ids') WHERE id = {other}")
    return {"groups": [group_of(server, other)], "reason": "one cause"}


def ask_about_groups(server, ask, alert):
    """Changes that are refused, an issue, an improvement, and the account of a token with a project and an end."""
    group = group_of(server, alert)
    issue, forge = f"/api/v1/groups/{group}/issue", "/api/v1/projects/demo/forge"
    assert server.as_admin("DELETE", forge).status == 204
    ask("post", "/api/v1/groups/{id}/issue", path=issue)
    assert server.as_admin("POST", forge, pull_rows.FORGE).status == 200
    assert server.as_admin("POST", issue).status == 202
    support.sql(server.database, "UPDATE group_issues SET state = 'open', number = 7, url = 'https://h/7', trouble = 'the token has ended',"
                f" due_at = now() + interval '1 day' WHERE group_id = {group}")
    _ = ask("get", "/api/v1/groups"), ask("get", "/api/v1/groups/{id}", path=f"/api/v1/groups/{group}")
    ask("patch", "/api/v1/groups", {"groups": [{"id": group, "seen": "duplicate"}], "state": "investigating"})
    turn = f"UPDATE change_points SET regression = NOT regression WHERE id = (SELECT change_point_id FROM alerts WHERE id = {alert})"
    support.sql(server.database, turn)
    assert ask("get", "/api/v1/groups", query="?direction=improvement").json["improvements"]
    support.sql(server.database, turn)
    ask_about_quality(server, ask)
    token = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"], "project": "demo", "name": "account", "expires_at": "2100-01-01T00:00:00Z"})
    ask("get", "/api/v1/session", token=token.json["token"])


def ask_about_quality(server, ask):
    """With an alert that a person has fixed; it has its state again after that."""
    alert, state = support.sql(server.database, "SELECT a.id, a.state FROM alerts a JOIN projects p ON p.id = a.project_id JOIN change_points x ON x.id ="
                               " a.change_point_id WHERE p.name = 'demo' AND x.kind <> 'broken' ORDER BY a.id LIMIT 1").strip().split("|")
    support.sql(server.database, "INSERT INTO alert_events (project_id, alert_id, actor, state_from, state_to) SELECT project_id, id, 'token 1', state, 'fixed'"
                f" FROM alerts WHERE id = {alert}; UPDATE alerts SET state = 'fixed' WHERE id = {alert}")
    assert ask("get", "/api/v1/projects/{p}/quality", query="?months=36").json["total"]["confirmed"] > 0
    support.sql(server.database, f"UPDATE alerts SET state = '{state}' WHERE id = {alert}")
