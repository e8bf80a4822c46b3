// GET /bisections/{id}/replay for the mock: the belief in the culprit grows with every step.
export function replayOf(b) {
  const empty = { bisection_id: b.id, commits_per_place: 0, places: [], steps: [] };
  if (b.mode !== "remote") return { ...empty, reason: "the report of a local search has no options" };
  const places = b.line.map((c) => c.commit);
  const guilty = places.indexOf(b.culprits[0]?.commits[0]);
  const steps = b.steps.map((s, i) => {
    const share = 1 / places.length + ((i + 1) / b.steps.length) * (0.996 - 1 / places.length);
    return { n: i + 1, commit: s.commit, place: places.indexOf(s.commit), state: s.value === null ? "broken" : "measured", value: s.value,
      posterior: i === 4 ? null : places.map((_, k) => (k === guilty ? share : (1 - share) / (places.length - 1))) };
  });
  return { bisection_id: b.id, reason: null, commits_per_place: 1, places, steps };
}
