/* Suppression rules: those that are active, what each hides, a form with a preview, and ending one. */
import { useState } from "preact/hooks";
import { ApiError, request, session } from "../api/client";
import type { Preview, SuppressedAlert, Suppression, SuppressionDetail } from "../api/suppressions";
import { mayTriage } from "../api/scopes";
import { usePages } from "../api/use";
import { formatChange, formatWhen, parseTime, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { matcherText, readMatcher, type MatcherFields } from "../base/matcher";
import { href, withQuery } from "../base/route";
import { ActionButton } from "../widgets/action";
import { StateBadge } from "../widgets/badge";
import { Select } from "../widgets/field";
import { Icon } from "../widgets/icons";
import { BenchName, Clamped, Page, Section, When } from "../widgets/parts";
import { SignIn } from "../widgets/sign_in";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

const DAYS_MAX = 90;

const sentence = (error: unknown) => (error instanceof ApiError ? error.message : String(error));

function Alerts(props: { rows: SuppressedAlert[]; caption: string; hidden?: boolean }) {
  return (
    <Table caption={props.caption} rows={props.rows} keyOf={(a) => a.id} columns={[
      { name: "Alert", head: true, cell: (a) => <BenchName benchmark={a.benchmark} metric={a.metric} backend={a.backend} to={href.alert(a.id)} /> },
      { name: "Change", numeric: true, cell: (a) => (a.rel_change === null ? a.kind : formatChange(a.rel_change)) },
      { name: "State", cell: (a) => <StateBadge state={a.state} /> },
      { name: "Machine", wide: true, cell: (a) => a.machine_class },
      { name: props.hidden ? "Notices withheld" : "Notices not sent yet", numeric: true, cell: (a) => a.notices },
      ...(props.hidden ? [
        { name: "Hidden", cell: (a: SuppressedAlert) => <When time={a.hidden_at} /> },
        { name: "Shown again", cell: (a: SuppressedAlert) => (a.released_at ? <When time={a.released_at} /> : "still hidden") },
      ] : []),
    ]} />
  );
}

/** The alerts that a rule has hidden, under the table. */
function Hidden(props: { project: string; id: number }) {
  const { load, more, loadingMore } = usePages<SuppressionDetail, SuppressedAlert>(
    withQuery(`/projects/${encodeURIComponent(props.project)}/suppressions/${props.id}`, { limit: 200 }), (rule) => rule.alerts, ["alert"]);
  return (
    <Section title={`Alerts that rule ${props.id} has hidden`} side={<button type="button" class="button" onClick={() => setQuery({ rule: null }, true)}>Close</button>}>
      <View load={load} what="the alerts">
        {(rows) => rows.length === 0 ? <Empty title="The rule has hidden no alert" /> : (
          <>
            <Alerts rows={rows} caption={`Alerts that rule ${props.id} has hidden`} hidden />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>)}
      </View>
    </Section>
  );
}

const BLANK: MatcherFields = { benchmark: "", params: "", backend: "", machine_class: "", metric: "", direction: "", below: "" };

function Add(props: { project: string; done: () => void }) {
  const [fields, setFields] = useState(BLANK);
  const [owner, setOwner] = useState("");
  const [reason, setReason] = useState("");
  const [days, setDays] = useState("14");
  const [seen, setSeen] = useState<Preview | null>(null); /* of the fields as they are */
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);
  const base = `/projects/${encodeURIComponent(props.project)}/suppressions`;

  const act = async (body: (matcher: object) => Promise<void>) => {
    const read = readMatcher(fields);
    if ("fault" in read) return setSaid({ ok: false, text: read.fault });
    setBusy(true);
    setSaid(null);
    try {
      await body(read.matcher);
    } catch (error) {
      setSaid({ ok: false, text: sentence(error) });
    } finally {
      setBusy(false);
    }
  };
  const why = mayTriage() ?? (busy ? "the last request is being answered" : null);
  const preview = () => act(async (matcher) => { setSeen(await request<Preview>("POST", `${base}/preview`, matcher)); });
  const store = () => act(async (matcher) => {
    const rule = await request<Suppression>("POST", base, { ...matcher, owner: owner.trim(), reason: reason.trim(), days: Number(days) });
    setSaid({ ok: true, text: `Rule ${rule.id} hides ${plural(rule.hidden, "alert")} until ${formatWhen(parseTime(rule.expires_at))}.` });
    setFields(BLANK);
    setReason("");
    setSeen(null);
    props.done();
  });
  const field = (key: keyof MatcherFields, label: string, hint: string) => (
    <label class="field"><span>{label}</span>
      <input type="text" maxLength={200} placeholder={hint} value={fields[key]} onInput={(e) => { setFields({ ...fields, [key]: e.currentTarget.value }); setSeen(null); }} /></label>
  );

  return (
    <form class="card suppress" onSubmit={(e) => { e.preventDefault(); if (!why) void store(); }}>
      <fieldset><legend>Alerts to hide: those that fit every filled field; * matches any text</legend>
        <div class="row">
          {field("benchmark", "Benchmark", "gemm/*")}{field("params", "Parameters", "dtype=bf16 k=4096")}{field("backend", "Backend", "cpu-*")}
          {field("machine_class", "Machine", "epyc-*")}{field("metric", "Metric", "time_ns")}
          <Select label="Value goes" value={fields.direction} options={[["", "up or down"], ["up", "up"], ["down", "down"]]}
            onChange={(direction) => { setFields({ ...fields, direction }); setSeen(null); }} />
          {field("below", "Changes below, %", "3")}
        </div>
      </fieldset>
      <div class="row">
        <label class="field"><span>Owner</span><input type="text" required maxLength={200} value={owner} onInput={(e) => setOwner(e.currentTarget.value)} /></label>
        <label class="field grow"><span>Reason</span><input type="text" required maxLength={2000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
        <label class="field"><span>Ends after days</span><input type="number" required min={1} max={DAYS_MAX} step={1} value={days} onInput={(e) => setDays(e.currentTarget.value)} /></label>
      </div>
      <div class="row">
        <ActionButton why={why} quiet onClick={() => void preview()}>Preview</ActionButton>
        <ActionButton submit primary why={why}>Hide these alerts</ActionButton>
      </div>
      <p role="status" class={said ? (said.ok ? "said good" : "said bad") : "said"}>{said && <><Icon name={said.ok ? "check" : "alert"} /> {said.text}</>}</p>
      {seen && (
        <div class="preview" role="region" aria-label="Preview">
          <p>Such a rule fits {plural(seen.series, "series", "series")}. It would hide <b>{plural(seen.open, "open alert")}</b>, {seen.visible} of them not hidden yet, and concerns {plural(seen.past, "alert")} of the last 90 days.</p>
          {seen.alerts.length > 0 && <Alerts rows={seen.alerts} caption="Alerts that the rule would hide" />}
          {seen.open > seen.alerts.length && seen.alerts.length > 0 && <p class="muted">The newest {seen.alerts.length} of them are listed.</p>}
        </div>
      )}
      {!session.value && <details><summary>Sign in</summary><SignIn /></details>}
    </form>
  );
}

function State(props: { rule: Suppression; end: () => void }) {
  const { rule } = props;
  if (rule.ended_at) return <span class="muted">ended <When time={rule.ended_at} />{rule.ended_by ? ` by ${rule.ended_by}` : ""}</span>;
  return <span class="stacked"><span class="nowrap">until <time dateTime={rule.expires_at}>{formatWhen(parseTime(rule.expires_at))}</time></span>
    <span class="job-actions"><ActionButton why={mayTriage()} quiet label={`End now: rule ${rule.id}`} onClick={props.end}>End now</ActionButton></span></span>;
}

export function Suppressions(props: { project: string }) {
  const ended = query.value.get("ended") === "true";
  const shown = Number(query.value.get("rule") ?? 0);
  const [fault, setFault] = useState("");
  const [turn, setTurn] = useState(0);
  const base = `/projects/${encodeURIComponent(props.project)}/suppressions`;
  const { load, more, loadingMore } = usePages<{ suppressions: Suppression[]; next_cursor?: number | null }, Suppression>(
    withQuery(base, { ended: ended ? "true" : null, limit: 200 }), (r) => r.suppressions, ["alert"]);
  const reload = () => { setTurn(turn + 1); if (load.state === "data") load.reload(); };
  const end = async (id: number) => {
    try {
      await request<Suppression>("DELETE", `${base}/${id}`);
      setFault("");
      reload();
    } catch (error) {
      setFault(sentence(error));
    }
  };
  return (
    <Page title="Suppression rules" lead="Each hides open alerts for a time. Hidden alerts are kept, and their notices are sent when the rule ends.">
      <div class="filters"><Select label="Rules" value={ended ? "true" : "false"} options={[["false", "active"], ["true", "active and ended"]]}
        onChange={(v) => setQuery({ ended: v === "true" ? v : null }, true)} /></div>
      <p role="status" class={fault ? "said bad" : "said"}>{fault}</p>
      <View load={load} what="suppression rules">
        {(rules) => rules.length === 0 ? <Empty title={ended ? "No rule yet" : "No rule is active"}><p>Every open alert is listed, and every notice is sent.</p></Empty> : (
          <>
            <Table caption="Suppression rules, newest first" rows={rules} keyOf={(r) => r.id} rowClass={(r) => (r.id === shown ? "current" : "")} columns={[
              { name: "Rule", head: true, cell: (r) => <span class="bench"><span>{matcherText(r)}</span><small>rule {r.id}, owner {r.owner}</small></span> },
              { name: "Reason", cell: (r) => <Clamped text={r.reason} /> },
              { name: "Hides", cell: (r) => <button type="button" class="link" aria-label={`${r.hidden} now, ${r.hidden_total} ever: alerts of rule ${r.id}`} onClick={() => setQuery({ rule: String(r.id) }, true)}>{r.hidden} now, {r.hidden_total} ever</button> },
              { name: "Notices withheld", numeric: true, cell: (r) => r.notices },
              { name: "State", cell: (r) => <State rule={r} end={() => void end(r.id)} /> },
            ]} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>
        )}
      </View>
      {shown > 0 && <Hidden key={`${shown} ${turn}`} project={props.project} id={shown} />}
      <Section title="New rule"><Add project={props.project} done={reload} /></Section>
    </Page>
  );
}
