// Reads files of Trace Event Format with the trace engine of Chrome DevTools and prints its slices, tracks and flows: a line
// of JSON for each file. read.mjs MODULES FILE...
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, ...files] = process.argv.slice(2);
const engine = join(modules, "@paulirish/trace_engine/models/trace/trace.js");
const { Processor, Types } = await import(pathToFileURL(engine));

const SLACK = 5e-4; /* microseconds; files have three decimals */

/** Slices of a track that start in another one and end after it. */
function crossings(slices) {
  const open = [];
  let crossed = 0;
  for (const slice of [...slices].sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    while (open.length > 0 && open.at(-1) <= slice.ts + SLACK) open.pop();
    if (open.length > 0 && slice.ts + slice.dur > open.at(-1) + SLACK) crossed++;
    open.push(slice.ts + slice.dur);
  }
  return crossed;
}

async function read(file) {
  const events = JSON.parse(readFileSync(file, "utf8")).traceEvents;
  const processor = Processor.TraceProcessor.createWithAllHandlers();
  await processor.parse(events, { isFreshRecording: false });
  const { Meta, Renderer } = processor.data;
  const tracks = [];
  for (const [pid, process] of Renderer.processes) {
    for (const [tid, thread] of process.threads) {
      const slices = thread.entries.map((e) => ({ name: e.name, ts: e.ts, dur: e.dur ?? 0 }));
      tracks.push({ pid, tid, name: thread.name, slices: slices.length, crossings: crossings(slices),
        names: [...new Set(slices.map((s) => s.name))].sort(), busy: slices.reduce((sum, s) => sum + s.dur, 0) });
    }
  }
  const flows = events.filter((e) => Types.Events.isFlowPhaseEvent(e));
  const inside = (flow) => Renderer.processes.get(flow.pid)?.threads.get(flow.tid)?.entries
    .some((e) => e.ts - SLACK <= flow.ts && flow.ts <= e.ts + (e.dur ?? 0) + SLACK) ?? false;
  return { generic: Meta.traceIsGeneric, processes: Object.fromEntries([...Meta.processNames].map(([pid, e]) => [pid, e.args.name])),
    tracks, flows: new Set(flows.map((e) => e.id)).size, flow_points: flows.length,
    flow_points_outside: flows.filter((flow) => !inside(flow)).length };
}

for (const file of files) console.log(JSON.stringify(await read(file)));
