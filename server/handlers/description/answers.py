"""The schemas of the answers of server/API.md, for openapi.json (components/schemas); embed.py reads SCHEMAS.

An answer has these members, all of them and no others: what may be absent is named in `optional`. Where a
value may be null, `null()` says so. tests/server/http/test_openapi.py holds the running server to it.
"""
import copy

TEXT, NUMBER, TRUTH = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
COUNT, NUMERAL = {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
ANYTHING = {"type": "object"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
FORGE = {"enum": ["github", "gitlab", "gitea"]}
HASH = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def ref(name):
    return {"$ref": "#/components/schemas/" + name}


def null(schema):
    """It, or null."""
    if "null" in schema.get("type", ""):
        return schema
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "$ref" in schema or "properties" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def each(schema):
    return {"type": "array", "items": schema}


def one_of(*words):
    return {"enum": list(words)}


def members(optional="", description=None, **properties):
    """An object of these members and no others. A trailing underscore of a name is dropped."""
    properties = {name.rstrip("_"): schema for name, schema in properties.items()}
    required = [name for name in properties if name not in optional.split()]
    says = {"description": description} if description else {}
    return {"type": "object", **says, "additionalProperties": False, "required": required, "properties": properties}


def more(schema, optional="", without="", **properties):
    """The object `schema` with further members, and some left out or replaced."""
    added = members(optional, **properties)
    result = copy.deepcopy(schema)
    for name in [*without.split(), *added["properties"]]:
        result["properties"].pop(name, None)
    result["properties"].update(added["properties"])
    result["required"] = [n for n in result["required"] if n in result["properties"] and n not in added["properties"]]
    result["required"] += added["required"]
    return result


def page(name, item):
    cursor = {"type": ["integer", "null"], "minimum": 1, "description": "of the next page; null at the end"}
    return members(**{name: each(item), "next_cursor": cursor})


NIGHT = one_of("running", "done", "failed", "skipped", "nothing")
TIME, COMMIT, RUN_ID = ref("Time"), ref("CommitId"), ref("RunId")
FLOATS = {"type": "string", "description": "base64 of 32-bit little-endian floats, one a column; NaN: no value"}
BETTER, CHANGE, SEEN = ref("Better"), ref("Change"), one_of("provisional", "confirmed")
# The members that name a series, and those with its unit.
NAMED = {"benchmark": TEXT, "metric": TEXT, "backend": TEXT, "machine_class": TEXT}
SERIES = {**NAMED, "unit": TEXT, "direction": BETTER}
INTERVAL = {"rel_change": null(NUMBER), "rel_low": null(NUMBER), "rel_high": null(NUMBER)}
EFFECT = {"before": NUMBER, "after": NUMBER, "rel_change": NUMBER, "rel_low": NUMBER, "rel_high": NUMBER, "p": null(SHARE)}

REPRODUCIBILITY = one_of("exact", "confirmed", "single")
RERUN_ON = one_of("inconclusive", "canary", "infra", "broken", "suspected")
rerun_rule = members(on=RERUN_ON, times=NUMERAL, after_s=NUMBER, machine=one_of("any", "other"))
project = members(name=TEXT, branch=TEXT, repo_url=null(TEXT), rerun=each(rerun_rule), commits=COUNT, runs=COUNT, alerts_open=COUNT, groups_open=COUNT,
                  last_run_at=null(TIME), created_at=TIME)
headline = members(metric=TEXT, backend=TEXT, machine_class=TEXT, unit=TEXT, direction=BETTER, series_id=NUMERAL)
run_row = members(run_id=NUMERAL, id=RUN_ID, commit=COMMIT, suite=TEXT, machine_class=TEXT, started_at=TIME,
                  finished_at=null(TIME), measurements=COUNT, infra=TRUTH, unsandboxed=TRUTH, extra=TRUTH, quarantined=TRUTH,
                  reproducibility=null(REPRODUCIBILITY))
VERDICT = one_of("regression", "improvement", "same", "inconclusive", "broken")
verdicts = members(regression=COUNT, improvement=COUNT, same=COUNT, inconclusive=COUNT, broken=COUNT)
standing = members(level=one_of("bad", "warn", "good"), sentence=TEXT,
                   new_since=one_of("night", "day"), broken_builds=COUNT, silent_runners=COUNT,
                   alerts=members(open=COUNT, groups=COUNT, new_groups=COUNT, regression=COUNT, broken=COUNT, drift=COUNT, toolchain=COUNT, harness=COUNT, suppressed=COUNT),
                   headline=members(series=COUNT, regressed=COUNT, watching=COUNT, improved=COUNT, unchanged=COUNT))
effect = members(source=one_of("history", "bisection", "pairs"), bisection_id=null(NUMERAL), commit=null(COMMIT), **INTERVAL, n=COUNT)
place = {"type": ["integer", "null"], "minimum": 1, "description": "on the first-parent line, from 1; null: not on it"}
commit = members(id=COMMIT, parents=each(COMMIT), author=TEXT, time=TIME, subject=TEXT, position=place, runs=COUNT, alerts=COUNT, tags=each(TEXT),
                 releases=each(TEXT))
value = members(series_id=NUMERAL, **SERIES, median=null(NUMBER), low=null(NUMBER), high=null(NUMBER), n=COUNT,
                parent_median=null(NUMBER), rel_change=null(NUMBER), rel_low=null(NUMBER), rel_high=null(NUMBER),
                p=null(SHARE), p_adjusted=null(SHARE), margin_rel=null(NUMBER), verdict=null(VERDICT))

last = members(commit=COMMIT, time=TIME, median=null(NUMBER))
WITHHELD = one_of("improvement", "margin", "fdr", "not_firm", "needs_blocks", "identical", "gone", "budget", "rule_off", "machine")
WHY = {"alert_id": null(NUMERAL), "why_no_alert": null(members(code=WITHHELD, sentence=TEXT))}
change = members(rel_change=NUMBER, direction=CHANGE, status=SEEN, alertable=TRUTH, commit=COMMIT, **WHY)
series = members(id=NUMERAL, **SERIES, branch=TEXT, exact=TRUTH, headline=TRUTH, points=COUNT, last=null(last), change=null(change),
                 noise_rel=null(NUMBER), watching=COUNT, watching_of=COUNT, detectable_rel=null(NUMBER), points_for_1pct=null(COUNT), reason=null(TEXT),
                 judged=TRUTH, anchor=null(COMMIT), two_speeds=each(TEXT))
blocks = members(kind={"const": "blocks"}, session=RUN_ID, against=COMMIT, commit=COMMIT, place_after=COMMIT, place_until=COMMIT,
                 test=one_of("order", "pairs"), verdict=one_of("different", "same"), rounds=COUNT, rel_low=null(NUMBER), rel_high=null(NUMBER), margin=null(NUMBER), p=null(SHARE), p_adjusted=null(SHARE))
columns = members(description="columns of equal length, in the order of commits", commit=each(COMMIT), time=each(TIME),
                  subject=each(TEXT), author=each(TEXT), position=each(NUMERAL), median=each(null(NUMBER)),
                  low=each(null(NUMBER)), high=each(null(NUMBER)), min=each(null(NUMBER)), n=each(COUNT), run_id=each(NUMERAL),
                  fingerprint=each(HASH), infra=each(TRUTH), session=each(null(RUN_ID)), ratio=each(null(NUMBER)),
                  ratio_low=each(null(NUMBER)), ratio_high=each(null(NUMBER)), reproducibility=each(null(REPRODUCIBILITY)))
found = members(index=COUNT, index_low=COUNT, index_high=COUNT, commit=COMMIT, commit_low=null(COMMIT), commit_high=null(COMMIT),
                **EFFECT, direction=CHANGE, status=SEEN, alertable=TRUTH, blocks=null(blocks), **WHY)
replayed = members(position=NUMERAL, position_low=NUMERAL, position_high=NUMERAL, commit=COMMIT, **EFFECT, direction=CHANGE, status=SEEN)

measured = members("backend unit exact reason params extra operations bytes samples visits", benchmark=TEXT, metric=TEXT, backend=TEXT, unit=TEXT,
                   direction=BETTER, exact=TRUTH, status=one_of("ok", "broken", "skipped"), reason=TEXT, params=TEXTS, extra=TEXTS,
                   operations=NUMBER, bytes=NUMBER, samples=each(each(NUMBER)), visits=each(each(COUNT)))
ceiling = members("dtype level capacity_bytes backend at", name=TEXT, kind=one_of("compute", "memory"), unit=one_of("FLOP/s", "OP/s", "B/s"),
                  value=NUMBER, dtype=TEXT, level=TEXT, capacity_bytes=NUMBER, backend=TEXT, source=one_of("measured", "chip file"), at=TIME)
run = members("branch suite suite_hash finished_at job_id job_fence infra unsandboxed session ceilings",
              "the stored document, as schema/json/run.schema.json has it, with its number",
              schema={"const": "perfci.run/1"}, run_id=NUMERAL, reproducibility=null(REPRODUCIBILITY), quarantined=TRUTH, id=RUN_ID, project=TEXT, commit=COMMIT, branch=TEXT, suite=TEXT,
              suite_hash=TEXT, started_at=TIME, finished_at=TIME, job_id=COUNT, job_fence=COUNT, infra=TRUTH, unsandboxed=TRUTH,
              session=members(id=RUN_ID, anchor=COMMIT, base=COMMIT), machine=members("name", name=TEXT, class_=TEXT, fingerprint=TEXTS, hash=HASH), ceilings=each(ceiling),
              measurements=each(measured))

in_session = members(commit=COMMIT, status=one_of("measured", "identical", "broken", "not_measured"), reason=null(TEXT),
                     same_as=null(COMMIT), within=null(NUMBER), needs_s=null(NUMBER),
                     verdict=one_of("slower", "faster", "same", "undecided", "identical", "broken", "not_measured"),
                     worst=null(members(series_id=NUMERAL, benchmark=TEXT, metric=TEXT, backend=TEXT, rel_change=NUMBER, rel_low=NUMBER,
                                        rel_high=NUMBER, alert_id=null(NUMERAL))))
session_build = members(commit=COMMIT, median=null(NUMBER), visits=NUMERAL, ratio=null(NUMBER), ratio_low=null(NUMBER),
                        ratio_high=null(NUMBER))
session_boundary = members(commit=COMMIT, against=COMMIT, place_after=COMMIT, place_until=COMMIT, test=one_of("order", "pairs"), screen_p=null(SHARE), verdict=one_of("regression", "improvement", "same", "undecided"), **INTERVAL,
                           p=null(SHARE), p_adjusted=null(SHARE), rounds=COUNT, needs_rounds=COUNT, alert_id=null(NUMERAL))
session_series = members(series_id=NUMERAL, **NAMED, unit=TEXT, higher_is_better=TRUTH, exact=TRUTH, judged=TRUTH, margin_rel=NUMBER,
                         noise_rel=null(NUMBER), rounds=COUNT, builds=each(session_build), boundaries=each(session_boundary))
session = members(id=RUN_ID, branch=TEXT, anchor=COMMIT, base=COMMIT, machine_class=TEXT, machine=TEXT, started_at=TIME,
                  finished_at=TIME, budget_s=NUMBER, spent_s=NUMBER, blocks=COUNT, note=null(TEXT), commits=each(in_session))

side = members(median=null(NUMBER), low=null(NUMBER), high=null(NUMBER), n=COUNT, reproducibility=null(REPRODUCIBILITY), series_id=null(NUMERAL), backend=null(TEXT))
compared = members(series_id=null(NUMERAL), **SERIES, exact=TRUTH, a=side, b=side, **INTERVAL, p=null(SHARE),
                   p_adjusted=null(SHARE), margin_rel=NUMBER, verdict=VERDICT, noise_rel=null(NUMBER),
                   detectable_rel=null(NUMBER), between_rel=null(NUMBER), machine_moved=TRUTH, more_runs=null(COUNT), reproducibility=null(REPRODUCIBILITY), fingerprint_differs=each(TEXT), broken=each(one_of("a", "b")), reason=null(TEXT))
kernel_mean = members(kernel=TEXT, backend=TEXT, metric=TEXT, unit=TEXT, direction=BETTER, rel_change=null(NUMBER), n=COUNT, left_out=COUNT,
                      regressions=COUNT, improvements=COUNT)
differing = members(field=TEXT, a=null(TEXT), b=null(TEXT))
target = members(commit=COMMIT, kind=one_of("commit", "run", "tag", "branch", "date"), how=TEXT, runs=each(RUN_ID), hidden=COUNT)

resource = null(one_of("compute", "weights", "vector", "memory", "dma", "scratchpad", "latency", "pcie", "host"))
limiter_verdict = members(view=one_of("trace", "counters"), inconclusive=TRUTH, reason=TEXT, first=resource, second=resource, confidence=null(SHARE),
                          saving={"type": "object", "additionalProperties": null(NUMBER)},
                          causes=each(members(id=TEXT, text=TEXT, share=null(NUMBER))), disagreement=TEXT)
explained_side = members(run=RUN_ID, commit=null(COMMIT), machine=TEXT, value=NUMBER, low=null(NUMBER), high=null(NUMBER), samples=COUNT,
                         limiter=limiter_verdict,
                         metrics=each(members(name=TEXT, title=TEXT, unit=TEXT, value=null(NUMBER), peak=null(NUMBER), achievable=null(NUMBER),
                                              share=null(NUMBER), reason=TEXT)),
                         path=each(members(resource=resource, phase=TEXT, ticks=NUMBER)))
explanation = members("judged", "judged: of two runs; before, delta and total are null for one run alone",
                      claim=TEXT, metric=TEXT, benchmark=TEXT, backend=TEXT, unit=TEXT, direction=BETTER, exact=TRUTH, before=null(NUMBER),
                      after=NUMBER, delta=null(NUMBER),
                      judged=members(verdict=VERDICT, rel_change=null(NUMBER), rel_low=null(NUMBER), rel_high=null(NUMBER), p=null(NUMBER)),
                      contributions=each(members(resource=resource, phase=TEXT, value=NUMBER, ticks=NUMBER)),
                      limiter=members(before=resource, after=resource),
                      causes=each(members(kind=one_of("chip", "choice", "stream", "simulator", "unknown", "function"), resource=resource, ticks=NUMBER, text=TEXT)),
                      guidance=each(members(id=TEXT, symptom=TEXT, change=TEXT, action=TEXT, gain=NUMBER, low=NUMBER, high=NUMBER, risk=TEXT, effort=TEXT)),
                      evidence=each(members(run=RUN_ID, what=TEXT)), repeat=each(TEXT), warnings=each(TEXT),
                      total=null(members(basis=one_of("path", "units", "total"), before=NUMBER, after=NUMBER, delta=NUMBER, same_chip=TRUTH,
                                         same_stream=TRUTH, same_simulator=TRUTH,
                                         differences=each(members(name=TEXT, before=TEXT, after=TEXT, rel_change=null(NUMBER))),
                                         differences_more=COUNT)),
                      phases=each(members(from_=TEXT, to=TEXT, waits=NUMBER)),
                      runs=members(before=null(explained_side), after=explained_side))

covered = members(series_id=NUMERAL, benchmark=TEXT, params=TEXTS, backend=TEXT, machine_class=TEXT, missing=COUNT,
                  cells={"type": "string", "pattern": "^[x!.-]*$",
                         "description": "a sign a commit: x measured, ! ran and was broken, - missing, . not there yet"})

suspected = members(commit=COMMIT, subject=null(TEXT), author=null(TEXT), named=TRUTH, bisection_id=null(NUMERAL),
                    description="named: the culprit; else the commit that this search found, or where the step most likely lies")
group_member = members(id=NUMERAL, series_id=NUMERAL, **NAMED, **INTERVAL, state=ref("AlertState"))
group = members(id=NUMERAL, series=COUNT, measured=COUNT, summary=TEXT)
reference = members(tag=TEXT, commit=COMMIT, **INTERVAL)
drift = members(first=COMMIT, last=COMMIT, commits=COUNT, weeks=null(NUMBER), rel_per_week=null(NUMBER),
                rel_per_week_low=null(NUMBER), rel_per_week_high=null(NUMBER), rel_per_commit=null(NUMBER),
                reference=null(reference),
                description="no commit is the one: its range, its slope, and the change since the last release")
ALERT_KIND = one_of("step", "drift", "broken", "toolchain", "harness")
alert = members(id=NUMERAL, project=TEXT, series_id=NUMERAL, **NAMED, branch=TEXT, unit=TEXT, state=ref("AlertState"),
                direction=CHANGE, better=BETTER, **{name: null(schema) for name, schema in EFFECT.items()}, commit=null(COMMIT), commit_low=null(COMMIT), commit_high=null(COMMIT),
                culprit=null(COMMIT), created_at=TIME, updated_at=TIME, note=TEXT, repro=TEXT, accepted=TRUTH,
                undone_by=null(COMMIT), group_id=NUMERAL, group=null(group), kind=ALERT_KIND, reason=null(TEXT), title=TEXT,
                drift=null(drift), boundary=null(each(members(name=TEXT, before=null(TEXT), now=null(TEXT)))),
                evidence=null(one_of("exact", "corroborated", "alone", "single")), two_speeds=each(TEXT), blocks=null(blocks), worth=null(NUMBER), event_id=null(NUMERAL),
                reproducibility=null(REPRODUCIBILITY), hidden=COUNT, suspect=null(suspected), owner=null(TEXT),
                suppression=null(members(id=NUMERAL, owner=TEXT, reason=TEXT, expires_at=TIME)))
suppression = {"id": NUMERAL, "owner": TEXT, "reason": TEXT, "benchmark": null(TEXT), "params": TEXTS, "backend": null(TEXT),
               "machine_class": null(TEXT), "metric": null(TEXT), "direction": null(one_of("up", "down")), "max_change": null(NUMBER),
               "created_by": null(TEXT), "created_at": TIME, "expires_at": TIME, "ended_at": null(TIME), "ended_by": null(TEXT),
               "hidden": COUNT, "hidden_total": COUNT, "notices": COUNT}
suppressed_alert = members(id=NUMERAL, series_id=NUMERAL, **NAMED, kind=ALERT_KIND, state=ref("AlertState"), **INTERVAL,
                           hidden_at=null(TIME), released_at=null(TIME), notices=COUNT)
worst = members(alert_id=NUMERAL, series_id=NUMERAL, **NAMED, unit=TEXT, better=BETTER, before=null(NUMBER), after=null(NUMBER), **INTERVAL)
group_issue = members(forge=one_of("github", "gitlab", "gitea"), repo=TEXT, number=null(NUMERAL), url=TEXT, state=one_of("waiting", "open", "closed", "gone"),
                      trouble=null(TEXT), asked_at=TIME, asked_by=null(TEXT))
alert_group = members(id=NUMERAL, project=TEXT, branch=TEXT, direction=one_of("regression", "recovery"), alerts=NUMERAL, suppressed=COUNT,
                      series=NUMERAL, measured=NUMERAL, summary=TEXT, state=ref("AlertState"), states={"type": "object", "additionalProperties": NUMERAL},
                      worth=null(NUMBER), rel_least=null(NUMBER), rel_most=null(NUMBER), placed=TRUTH, assignee=null(TEXT), opened_first=TIME,
                      opened_last=TIME, updated_at=TIME, spark=each(null(NUMBER)), issue=null(group_issue), worst=worst, owner=null(TEXT),
                      lead=ref("AlertAnswer"))
improvement = members(project=TEXT, branch=TEXT, direction=one_of("improvement"), commit=COMMIT, subject=TEXT, author=TEXT, series=NUMERAL,
                      summary=TEXT, rel_least=NUMBER, rel_most=NUMBER, opened_first=TIME, opened_last=TIME, spark=each(null(NUMBER)),
                      best=more(worst, without="alert_id"))
group_step = members(at=TIME, actor=TEXT, from_=null(ref("AlertState")), to=ref("AlertState"), reason=TEXT, culprit=null(TEXT), alerts=NUMERAL)
witness = members(series_id=NUMERAL, metric=TEXT, backend=TEXT, machine_class=TEXT, unit=TEXT, exact=TRUTH,
                  rel_change=null(NUMBER), moved=one_of("worse", "better", "still", "unknown"))
step_of_alert = members(at=TIME, actor=TEXT, from_=null(ref("AlertState")), to=ref("AlertState"), reason=TEXT, culprit=null(TEXT))
in_range = members(id=COMMIT, position=null(NUMERAL), author=TEXT, time=TIME, subject=TEXT, paths=each(TEXT), measured=TRUTH)
suspect = members("commit position subject author time measured field before now",
                  "a commit has commit to measured, a boundary field to now, none neither",
                  kind=one_of("commit", "toolchain", "harness", "machine", "none"), probability=SHARE, ruled_out=TRUTH,
                  reasons=each(TEXT), commit=COMMIT, position=null(NUMERAL), subject=TEXT, author=TEXT, time=TIME,
                  measured=TRUTH, field=TEXT, before=null(TEXT), now=null(TEXT))
event = members("branch loss loss_low loss_high series moved judged reasons cause dismissed_by dismissed_reason runs first_run_id "
                "last_run_id first_commit last_commit",
                "what only a step has (branch and what follows) is absent from a canary's; a fault (missed_night, silent_runner, "
                "stalled_series) has its sentence as cause and no runs",
                id=NUMERAL, project=TEXT, kind=one_of("canary", "step", "missed_night", "silent_runner", "stalled_series"),
                machine_class=null(TEXT), machine=null(TEXT), runs=COUNT,
                first_run_id=COUNT, last_run_id=COUNT, first_commit=null(COMMIT), last_commit=null(COMMIT), opened_at=TIME,
                closed_at=null(TIME), branch=null(TEXT), loss=null(NUMBER), loss_low=null(NUMBER), loss_high=null(NUMBER),
                series=COUNT, moved=COUNT, judged=COUNT, reasons=each(TEXT), cause=null(TEXT), dismissed_by=null(TEXT),
                dismissed_reason=null(TEXT))

job_wait = members(seconds=COUNT, low=COUNT, high=COUNT, description="until it begins: the middle, and what four in five keep to")
job_blocks = members("known margin rounds reuse", commits=each(COMMIT), known=each(COMMIT), base=COMMIT, anchors=each(COMMIT), budget_s=NUMBER, margin=NUMBER, rounds=NUMERAL, reuse=TRUTH,
                     description="builds that are measured together in blocks, in the order of history")
rerun = members(rule=RERUN_ON, number=NUMERAL, times=NUMERAL, of=null(NUMERAL))
job = members(id=NUMERAL, project=TEXT,
              kind=one_of("measure", "nightly", "pull_request", "backfill", "bisect", "verify", "detect", "notify"),
              state=one_of("queued", "leased", "done", "failed", "cancelled"), commit=null(COMMIT), branch=null(TEXT),
              suite=null(TEXT), priority={"type": "integer", "minimum": 0, "maximum": 100}, tries=COUNT, labels=TEXTS,
              runner=null(TEXT), position=null(COUNT), expected_wait=null(job_wait), wait_reason=null(TEXT), reason=null(TEXT),
              progress=null(TEXT), run_ids=each(RUN_ID), parents=each(NUMERAL), blocks=null(job_blocks), session=null(RUN_ID),
              cancel_requested=TRUTH, rerun=null(rerun), rerun_note=null(TEXT), not_before=null(TIME),
              reproducibility=null(REPRODUCIBILITY), unsandboxed=TRUTH, created_at=TIME,
              started_at=null(TIME), finished_at=null(TIME))
# SECRET-NUMBER
STEP_TIMES = members(n=COUNT, median_s=null(NUMBER), p90_s=null(NUMBER))
QUALITY = {"alerts": COUNT, "confirmed": COUNT, "false_alarms": COUNT, "untriaged": COUNT, "withdrawn": COUNT, "recovered": COUNT,
           "precision": null(SHARE), "triage": STEP_TIMES, "culprit": STEP_TIMES, "fix": STEP_TIMES}
MONTH = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"}
LEASE = {"type": "string", "pattern": "^[0-9a-f]{32}-[1-9][0-9]{0,18}$"}
LEASE_TOKEN = {"type": "string", "pattern": "^pfl_[0-9a-f]{64}$"}
leased = more(job, without="expected_wait wait_reason parents rerun rerun_note not_before reproducibility unsandboxed", lease=LEASE, token=LEASE_TOKEN, fence=NUMERAL,
              lease_s=NUMERAL, source=null(TEXT),
              build=null(TEXT), measure=null(TEXT), task=ANYTHING)
runner = members(name=TEXT, project=null(TEXT), machine_class=TEXT,
                 state=one_of("idle", "busy", "silent", "draining", "drained", "revoked"), last_seen_at=TIME, job_id=null(NUMERAL),
                 labels=TEXTS, backends=each(TEXT), version=null(TEXT), sandbox=null(TEXT), results=COUNT, alarm=null(TEXT),
                 drained_at=null(TIME), drained_by=null(TEXT), revoked_at=null(TIME), revoked_by=null(TEXT),
                 quarantine=null(members(id=NUMERAL, since=TIME, runs=COUNT, actor=TEXT, reason=TEXT)),
                 spool=null(members(documents=COUNT, oldest_s=null(COUNT), disk_free_bytes=COUNT, reported_at=TIME)))
revocation = members(runner=TEXT, dry_run=TRUTH, tokens=each(members(id=NUMERAL, name=TEXT, other_runners=null(TEXT))),
                     jobs_returned=COUNT, quarantine=null(NUMERAL), hidden=members(runs=COUNT, results=COUNT, series=COUNT, commits=COUNT))
machine = members(id=NUMERAL, machine_class=TEXT, name=TEXT, fingerprint_hash=HASH, fingerprint=TEXTS,
                  changed=null(each(members(name=TEXT, before=null(TEXT), now=null(TEXT)))), first_seen_at=TIME,
                  last_seen_at=TIME, first_measured_at=null(TIME), last_measured_at=null(TIME), runs=COUNT)

cost = members(commits=COUNT, stored_runs=COUNT, runs=null(NUMBER), builds=null(NUMBER), run_seconds=null(NUMBER),
               wait_seconds=null(NUMBER), seconds=null(NUMBER), runners=COUNT, jobs_waiting=COUNT)
culprit = members("probability rel_change rel_low rel_high unmeasurable", commits=each(TEXT), probability=null(SHARE), **INTERVAL,
                  unmeasurable=TRUTH)
difference = members(rel_change=null(NUMBER), rel_low=null(NUMBER), rel_high=null(NUMBER), margin=null(NUMBER), within=TRUTH,
                     more_runs=null(NUMBER))
counts = members(stored=COUNT, measured=COUNT, broken=COUNT, failed=COUNT, timed_out=COUNT, waiting=COUNT)
failure = members(commit=TEXT, job_id=null(NUMERAL), state=one_of("broken", "failed", "timed_out"), reason=TEXT, infrastructure=TRUTH)
step_reported = members("value build confirm", commit=TEXT, value=null(NUMBER), build=COUNT, confirm=TRUTH)
step_asked = members(n=NUMERAL, commit=COMMIT, value=null(NUMBER), state=one_of("asked", "measured", "broken", "failed", "timed_out"),
                     build=COUNT, job_id=null(NUMERAL), run=null(RUN_ID), repro=TEXT, stored=TRUTH, job_state=null(TEXT),
                     runner=null(TEXT), reason=null(TEXT), seconds=null(NUMBER))
verification = members(id=NUMERAL, before=COMMIT, commit=COMMIT, state=one_of("running", "confirmed", "refuted", "open"),
                       pairs=COUNT, layouts=COUNT, repro=TEXT, **INTERVAL, p=null(SHARE), runners=null(TEXT), reason=null(TEXT))
bisection = members(id=NUMERAL, project=TEXT, metric=TEXT, benchmark=null(TEXT), backend=null(TEXT), good=TEXT, bad=TEXT,
                    verdict=null(one_of("found", "range", "no-regression", "inconclusive")), culprits=each(culprit), repro=TEXT,
                    mode=one_of("report", "remote"), state=one_of("running", "done", "cancelled"), reason=TEXT, branch=null(TEXT),
                    machine_class=null(TEXT), commits=null(COUNT), expected_runs=null(NUMBER), runs=COUNT, builds=COUNT,
                    commits_measured=COUNT, seconds=null(NUMBER), steps=each(step_reported), alert_id=null(NUMERAL),
                    counts=null(counts), failure=null(failure), stopped=null(one_of("budget")), budget_runs=null(COUNT),
                    candidates=null(COUNT), likeliest=null(members(commit=TEXT, probability=SHARE)), probability_none=null(SHARE),
                    expected_more_runs=null(NUMBER), difference=null(difference),
                    created_at=TIME, finished_at=null(TIME), actor=TEXT)
searching = more(bisection, steps=each(step_asked), verifications=each(verification),
                 line=each(members(commit=COMMIT, probability=null(SHARE))), options=ANYTHING, expected=ref("Cost"))

token = members(id=NUMERAL, name=TEXT, scopes=each(ref("Scope")), project=null(TEXT), created_at=TIME, expires_at=null(TIME),
                revoked_at=null(TIME), last_used_at=null(TIME))
delivery = members(receiver=TEXT, state=one_of("waiting", "sending", "sent", "dead"), tries=COUNT, reason=null(TEXT),
                   next_at=null(TEXT))
notice = members(id=NUMERAL, project=TEXT, kind=one_of("culprit_confirmed", "toolchain", "harness", "regression",
                                                               "worsened", "infrastructure", "recovered"),
                 alert_id=null(NUMERAL), event_id=null(NUMERAL), commit=null(COMMIT), subject=null(TEXT), author=null(TEXT), text=TEXT,
                 repro=null(TEXT), owner=null(TEXT), created_at=TIME, deliveries=each(delivery))
browser_session = members(id=NUMERAL, token_id=NUMERAL, token_name=TEXT, address=TEXT, created_at=TIME, expires_at=TIME,
                          last_used_at=null(TIME), current=TRUTH)
audit = members(id=NUMERAL, at=TIME, actor=TEXT, action=TEXT, project=null(TEXT), object=TEXT, detail=TEXT)

WHOLE = {"type": "integer"}
trace = members(id=NUMERAL, project=TEXT, run_id=NUMERAL, run=TEXT, commit=TEXT, benchmark=null(TEXT), title=TEXT, digest=HASH,
                size=NUMERAL, records=COUNT, span_ns=COUNT, units=NUMERAL, actor=TEXT, stored_at=TIME)
trace_side = members(run_id=NUMERAL, commit=COMMIT, job=null(members(
    id=NUMERAL, state=one_of("queued", "leased", "done", "failed", "cancelled"))), traces=each(trace))
slice_columns = members(begin=each(COUNT), end=each(COUNT), name=each(COUNT), correlation=each(COUNT), unfinished=each(COUNT))
roofline_point = members(
    commit=COMMIT, position=NUMERAL, run_id=NUMERAL, value=NUMBER, operations=null(NUMBER), bytes=null(NUMBER),
    intensity=null(NUMBER), rate=null(NUMBER), limit=null(NUMBER), fraction=null(NUMBER), compute=null(COUNT),
    memory=null(COUNT), limited_by=null(one_of("compute", "memory")))

SCHEMAS = {
    "Time": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", "description": "RFC 3339, in milliseconds"},
    "CommitId": {"type": "string", "pattern": "^[0-9a-f]{40}$"},
    "RunId": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "Better": {"enum": ["lower", "higher"], "description": "which way is better"},
    "Change": one_of("regression", "improvement"),
    "Scope": one_of("read", "ingest", "runner", "triage", "admin"),
    "AlertState": one_of("untriaged", "acknowledged", "investigating", "fixed", "backed_out", "wont_fix", "noise",
                         "infrastructure", "duplicate", "verified_fixed"),
    "VersionAnswer": members(version=TEXT, schema_version=COUNT),
    "StatusAnswer": members(status={"const": "ok"}),
    "DescriptionAnswer": {"type": "object", "description": "OpenAPI 3.1", "required": ["openapi", "info", "paths", "components"]},
    "StatsAnswer": members(runs=COUNT, measurements=COUNT, series=COUNT, alerts_open=COUNT, jobs_queued=COUNT, jobs_leased=COUNT,
                           detection_lag_s=null({"type": "number", "minimum": 0})),
    "ProjectAnswer": project,
    "ProjectsAnswer": page("projects", ref("ProjectAnswer")),
    "ProjectGoneAnswer": members(rows=COUNT, done=TRUTH, rest=null(TEXT),
                                 description="rest: what is left is called so until it is gone"),
    "ProjectDetailAnswer": more(project, headline=each(headline), standing=standing),
    "CommitsStoredAnswer": members(received=COUNT, new=COUNT),
    "CommitsAnswer": page("commits", commit),
    "CommitAnswer": more(commit, runs=each(ref("RunRow")), paths=each(TEXT), values=each(value),
                         against_parent=null(members(commit=COMMIT, margin_rel=NUMBER, summary=verdicts)),
                         broken=each(members(**NAMED, reason=TEXT, run_id=NUMERAL)),
                         changes=each(members(series_id=NUMERAL, **NAMED, branch=TEXT, rel_change=NUMBER, rel_low=NUMBER, rel_high=NUMBER,
                                              p=null(SHARE), direction=CHANGE, status=SEEN, alertable=TRUTH, **WHY))),
    "SessionStoredAnswer": members(id=RUN_ID, commits=COUNT),
    "CandidatesAnswer": members(candidates=each(members(id=NUMERAL, series_id=NUMERAL, **NAMED, branch=TEXT, against=COMMIT, commit=COMMIT,
                                                        rel_change=NUMBER, p=null(SHARE), why_no_alert=members(code=WITHHELD, sentence=TEXT)))),
    "SessionsAnswer": page("sessions", session),
    "SessionAnswer": more(session, series=each(session_series)),
    "RunRow": run_row,
    "RunsAnswer": page("runs", ref("RunRow")),
    "SeriesListAnswer": page("series", more(series, "spark", spark=each(null(NUMBER)))),
    "SeriesAnswer": members(series=more(series, project=TEXT), columns=columns, changes=each(found),
                            boundaries=each(members(index=NUMERAL, fields=each(TEXT))), bucketed=TRUTH, hidden=COUNT,
                            broken=each(members(commit=COMMIT, position=NUMERAL, subject=TEXT, time=TIME, reason=TEXT, run_id=NUMERAL))),
    "DetectorAnswer": members(version=COUNT, detector=ref("Detector"), actor=null(TEXT), at=null(TIME)),
    "SeriesReplayAnswer": members(series_id=NUMERAL, points=COUNT, noise_rel=null(NUMBER), watching=COUNT,
                                  watching_odds=null(NUMBER), changes=each(replayed)),
    "ProjectReplayAnswer": members(
        branch=TEXT, series=COUNT, points=COUNT, changes=COUNT,
        alerts=each(more(replayed, series_id=NUMERAL, label=null(one_of("regression", "noise")))), unlabelled=COUNT,
        labels=members(regressions=COUNT, noise=COUNT, regressions_found=COUNT, noise_found=COUNT),
        precision=null(SHARE), recall=null(SHARE), f1=null(SHARE)),
    "IngestAnswer": members(run_id=NUMERAL, id=RUN_ID, series=COUNT, samples=COUNT),
    "RunAnswer": run,
    "CompareAnswer": members(object_code=one_of("identical", "different", "unknown"),
                             functions=each(members(name=TEXT, before=COUNT, after=COUNT)), a=target, b=target, across=TRUTH, margin_rel=NUMBER, differs=each(differing), rows=each(compared),
                             between=members(branch=null(TEXT), commits=null(COUNT), backwards=TRUTH, sentence=TEXT), means=each(kernel_mean),
                             only_a=each(TEXT), only_b=each(TEXT), summary=verdicts),
    "CoverageAnswer": more(
        page("rows", covered), branch=TEXT,
        commits=each(members(id=COMMIT, position=NUMERAL, time=TIME, subject=TEXT, measured=COUNT, missing=COUNT)),
        fills=each(members(commit=COMMIT, machine_class=TEXT, missing=COUNT)),
        never=each(members(benchmark=TEXT, backend=TEXT, machine_class=TEXT))),
    "PlotAnswer": members(
        branch=TEXT, matched=COUNT, left_out=COUNT, places=COUNT, unknown=each(TEXT), samples=TRUTH,
        columns=members(commit=each(COMMIT), position=each(NUMERAL), time=each(TIME), subject=each(TEXT)),
        lines=each(members(
            series_id=null(NUMERAL), key=null(TEXT), benchmark=null(TEXT), params=null(TEXTS), metric=TEXT,
            backend=null(TEXT), machine_class=null(TEXT), unit=TEXT, direction=BETTER, members=COUNT, points=COUNT,
            partial=COUNT, moved=COUNT, base=null(NUMBER), median=FLOATS, low=null(FLOATS), high=null(FLOATS),
            samples=each(each(null(NUMBER))))),
        broken=each(members(line=COUNT, column=COUNT, position=NUMERAL, run_id=NUMERAL, reason=TEXT))),
    "PlotNamesAnswer": members(
        branch=TEXT, series=COUNT, names=each(members(name=TEXT, numeric=TRUTH, series=COUNT, left_out=COUNT,
                                                      values=each(members(value=TEXT, series=COUNT))))),
    "RooflineAnswer": members(
        branch=TEXT, a=null(COMMIT), b=null(COMMIT), a_how=null(TEXT), b_how=null(TEXT), statistic=one_of("median"), matched=COUNT, unknown_fields=each(TEXT),
        benchmarks=each(members(
            series_id=NUMERAL, benchmark=TEXT, params=TEXTS, metric=TEXT, backend=TEXT, machine_class=TEXT, unit=TEXT,
            exact=TRUTH, a=null(roofline_point), b=roofline_point)),
        ceilings=each(members(
            machine_class=TEXT, name=TEXT, kind=one_of("compute", "memory"), unit=one_of("FLOP/s", "OP/s", "B/s"), value=NUMBER,
            dtype=TEXT, level=TEXT, capacity_bytes=null(NUMBER), backend=TEXT, source=one_of("measured", "chip file"), at=TIME,
            run_id=NUMERAL)),
        unknown=each(members(
            series_id=NUMERAL, benchmark=TEXT, backend=TEXT, machine_class=TEXT,
            reason=one_of("no time", "no result", "no operations and bytes", "no operations", "no bytes"))),
        left_out=COUNT),
    "TraceFile": {"type": "string", "format": "binary", "description": "a trace in the binary format, at most 16 MiB"},
    "TraceStoredAnswer": members(id=NUMERAL, run=TEXT, run_id=NUMERAL),
    "TracesAnswer": page("traces", trace),
    "AlertTracesAnswer": members(before=trace_side, after=trace_side),
    "TraceAnswer": more(
        trace, begin_ns=WHOLE, details=COUNT,
        clocks=each(members(name=TEXT, nominal_hz=NUMERAL, width_bits=NUMERAL, reference=TRUTH,
                            method=one_of("clock_pairs", "first clock_pair", "nominal"), offset_ns=WHOLE, knots=COUNT,
                            bound_ns=null(COUNT), pairs_left_out=COUNT)),
        unit_list=each(members(name=TEXT, id=COUNT, kind=one_of("host", "queue", "tensor", "vector", "dma", "hbm", "link", "scalar", "power", "counters", "collective"), device=COUNT, clock=COUNT, overlaps=TRUTH, records=COUNT,
                               left_out=COUNT, unmatched=COUNT, dropped=COUNT)),
        counters=each(members(unit=COUNT, name=TEXT, measure=TEXT, values=COUNT)), values_left_out=COUNT,
        metadata=each(members(key=TEXT, value=TEXT))),
    "TimelineAnswer": members(
        span_ns=COUNT, from_=COUNT, to=COUNT, cells=NUMERAL, names=each(TEXT),
        lines=each(members(unit=COUNT, kind=one_of("slices", "waits", "states", "points"), number=COUNT, total=COUNT,
                           shown=COUNT, slices=null(slice_columns),
                           cells=null(members(at=each(COUNT), count=each(COUNT), busy=each(COUNT))))),
        calls=more(slice_columns, line=each(COUNT)),
        counters=each(members(unit=COUNT, name=TEXT, measure=TEXT, before=null(NUMBER),
                              values=null(members(ns=each(COUNT), value=each(null(NUMBER)))),
                              ranges=null(members(at=each(COUNT), low=each(null(NUMBER)), high=each(null(NUMBER)))))),
        found=null(more(slice_columns, line=each(COUNT), all=COUNT))),
    "ExplanationAnswer": explanation,
    "AlertAnswer": alert,
    "AlertsAnswer": page("alerts", ref("AlertAnswer")),
    "AlertDetailAnswer": more(alert, witnesses=each(witness), history=each(step_of_alert), range=each(in_range),
                              members=each(group_member), effects=each(effect), effects_differ=null(TEXT)),
    "GroupAnswer": alert_group,
    "GroupsAnswer": more(page("groups", ref("GroupAnswer")), improvements=each(improvement)),
    "GroupDetailAnswer": more(alert_group, members=each(group_member), history=each(group_step)),
    "GroupsChangedAnswer": members(alerts=COUNT, groups=each(ref("GroupAnswer"))),
    "SuspectsAnswer": members(alert_id=NUMERAL, culprit=null(COMMIT), suspects=each(suspect), series=COUNT, sources=COUNT, project=TEXT,
                              kind=ALERT_KIND, title=TEXT,
                              drift=null(drift), reason=null(TEXT), effects=each(effect), effects_differ=null(TEXT)),
    "SourcesAnswer": members(benchmark=TEXT, files=COUNT, globs=COUNT, runtime=COUNT),
    "QualityAnswer": members(months=COUNT, total=members(**QUALITY), by_month=each(members(month=MONTH, **QUALITY)),
                             by_kernel=each(members(kernel=TEXT, **QUALITY)), more_kernels=TRUTH, truncated=TRUTH),
    "OwnersAnswer": members(rules=TEXT, codeowners=null(members(path=TEXT, commit=COMMIT, text=TEXT)), updated_at=null(TIME)),
    "CodeownersAnswer": members(stored=TRUTH, reason=null(TEXT), rules=COUNT, skipped=COUNT),
    "EventAnswer": event,
    "EventsAnswer": page("events", ref("EventAnswer")),
    "JobAnswer": job,
    "JobsAnswer": page("jobs", ref("JobAnswer")),
    "LeaseAnswer": members(job=leased),
    "HeartbeatAnswer": members(lease_s=NUMERAL, cancel=TRUTH),
    "EarlierAnswer": members(session=null(RUN_ID), run=null(NUMERAL), measured_at=null(TIME)),
    "RunnersAnswer": members(runners=each(runner)),
    "DrainAnswer": members(runner=TEXT, drained=TRUTH, changed=TRUTH),
    "RevocationAnswer": revocation,
    "ReleaseAnswer": members(runner=TEXT, runs=COUNT),
    "MachinesAnswer": page("machines", machine),
    "CanariesAnswer": members(canaries=each(members(
        series_id=NUMERAL, machine_class=TEXT, machine=TEXT, metric=TEXT, backend=TEXT, branch=TEXT, unit=TEXT, time=each(TIME),
        median=each(NUMBER), infra=each(TRUTH)))),
    "BisectionsAnswer": page("bisections", ref("Bisected")),
    "BisectionAnswer": {"anyOf": [ref("Bisected"), searching]},
    "BisectionReplayAnswer": members(
        bisection_id=NUMERAL, reason=null(TEXT), commits_per_place=COUNT, places=each(COMMIT),
        steps=each(members(n=NUMERAL, commit=COMMIT, place=COUNT, state=one_of("measured", "broken", "failed", "timed_out"), value=null(NUMBER),
                           posterior=null(each(SHARE))))),
    "Bisected": bisection,
    "Cost": cost,
    "BisectionStartedAnswer": {"anyOf": [ref("Bisected"), more(bisection, expected=ref("Cost")),
                                         members(description="what a search would cost (dry_run)", expected=ref("Cost"))]},
    "SessionAccountAnswer": members(token_id=NUMERAL, name=TEXT, scopes=each(ref("Scope")), project=null(TEXT), expires_at=null(TIME)),
    "TokensAnswer": page("tokens", token),
    "TokenAnswer": members(id=NUMERAL, name=TEXT, token={"type": "string", "pattern": "^pfc_[0-9a-f]{64}$"},
                           scopes=each(ref("Scope")), project=null(TEXT), expires_at=null(TIME)),
    "BrowserSessionsAnswer": page("browser_sessions", browser_session),
    "AuditAnswer": page("audit", audit),
    "NoticesAnswer": page("notices", notice),
    "DeliveriesAnswer": members(deliveries=COUNT),
    "WebhookAnswer": members(repeated=TRUTH, description="repeated: a delivery of this id is stored already"),
    "WebhooksAnswer": page("deliveries", members(
        id=NUMERAL, project=null(TEXT), forge=FORGE, delivery=TEXT, event=TEXT,
        kind=one_of("ignored", "ping", "push", "pull", "closed", "comment", "again", "installed"), repo=TEXT, sender=TEXT,
        pull=null(NUMERAL), state=one_of("new", "done", "ignored"), note=TEXT, received_at=null(TIME), done_at=null(TIME))),
    "PullsAnswer": page("pulls", members(
        number=NUMERAL, title=TEXT, author=TEXT, url=TEXT, head=null(COMMIT), base=null(COMMIT), base_branch=null(TEXT),
        fork=TRUTH, draft=TRUTH, open=TRUTH, allowed=TRUTH,
        verdict=null(one_of("regression", "improvement", "same", "identical", "inconclusive", "broken", "nothing", "outage")),
        reason=null(TEXT), job_id=null(NUMERAL), job_state=null(TEXT), session=null(TEXT), accepted_by=null(TEXT),
        accepted_reason=null(TEXT), trouble=null(TEXT), updated_at=null(TIME))),
    "SchedulesAnswer": members(schedules=each(ref("ScheduleAnswer"))),
    "ScheduleAnswer": members(
        name=TEXT, cron=TEXT, zone=TEXT, branch=TEXT, suite=null(TEXT), backends=each(TEXT), labels=TEXTS, max_commits=COUNT,
        budget_s=NUMBER, enabled=TRUTH, next_at=null(TIME), last_at=null(TIME), trouble=null(TEXT), created_at=null(TIME),
        night=null(members(id=NUMERAL, state=NIGHT, reason=TEXT))),
    "NightAnswer": members(
        id=NUMERAL, schedule=TEXT, state=NIGHT, reason=TEXT, job_id=null(NUMERAL), head=null(COMMIT), base=null(COMMIT),
        commits=COUNT, left_out=COUNT, due_at=null(TIME), started_at=null(TIME), finished_at=null(TIME), actor=null(TEXT)),
    "NightsAnswer": page("nights", ref("NightAnswer")),
    "SuppressionsAnswer": page("suppressions", ref("SuppressionAnswer")),
    "SuppressionAnswer": members(**suppression),
    "SuppressionDetailAnswer": members(**suppression, **page("alerts", suppressed_alert)["properties"]),
    "SuppressionPreviewAnswer": members(open=COUNT, visible=COUNT, past=COUNT, series=COUNT, alerts=each(suppressed_alert)),
    "ForgeAnswer": members(forge=FORGE, repo=TEXT, policy=one_of("always", "on_change", "on_regression"), budget_s=NUMBER,
                           patience_s=NUMBER, machine_class=null(TEXT), created_at=null(TIME)),
}
