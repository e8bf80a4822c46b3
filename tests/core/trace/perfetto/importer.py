"""Perfetto's rules for traces in JSON, as its importer applies them, and the counters of its errors that they raise.

Perfetto's own reader is in no package registry that this project uses, so this file states its rules. Sources, in the
repository google/perfetto under src/trace_processor/importers:

json/json_trace_parser_impl.cc (0ba84ac3)  members that each phase needs
common/slice_tracker.cc (0a92ff06)         open slices of a track
common/flow_tracker.cc (098b19e5)          flows
json/json_trace_tokenizer.cc (04c583cd)    keys of the file

The names of the counters are Perfetto's, but for end_without_begin, end_missing and flow_outside_slice, which it does
not count."""
import collections

Slice = collections.namedtuple("Slice", "ts dur key")
OPEN = -1  # no end yet
MAX_DEPTH = 512


class Importer:
    def __init__(self):
        self.errors = collections.Counter()
        self.flow_links = 0
        self.slices = 0
        self.stacks = collections.defaultdict(list)
        self.flows = set()

    # ---- slices: SliceTracker::MaybeCloseStack and StartSlice ----

    def close(self, stack, ts, dur):
        """Removes slices that are over; whether a slice may begin here."""
        open_above = False
        for i in range(len(stack) - 1, -1, -1):
            end = stack[i].ts + stack[i].dur
            if stack[i].dur == OPEN:
                open_above = True
            elif open_above:
                if ts > end:
                    self.errors["misplaced_end_event"] += 1
                    del stack[i:]
                    open_above = False
            elif end < ts or (end == ts and not (stack[i].dur == 0 and dur == 0)):
                stack.pop()
            elif dur != OPEN and ts < end < ts + dur:
                self.errors["slice_drop_overlapping_complete_event"] += 1
                return False
        return True

    def begin(self, track, ts, dur, key=None):
        stack = self.stacks[track]
        if dur != OPEN and dur < 0:
            self.errors["slice_negative_duration"] += 1
        elif self.close(stack, ts, dur):
            if len(stack) >= MAX_DEPTH:
                self.errors["slice_max_depth_exceeded"] += 1
            else:
                self.slices += 1
                stack.append(Slice(ts, dur, key))

    def end(self, track, ts, key):
        stack = self.stacks[track]
        self.close(stack, ts, OPEN)
        for i in range(len(stack) - 1, -1, -1):
            if stack[i].dur == OPEN and stack[i].key == key:
                stack[i] = Slice(stack[i].ts, ts - stack[i].ts, key)
                if i == len(stack) - 1:
                    stack.pop()
                return
        self.errors["end_without_begin"] += 1

    # ---- flows: FlowTracker ----

    def flow(self, event, track, ts):
        if not isinstance(event.get("id"), (int, str)):
            self.errors["flow_invalid_id"] += 1
            return
        flow = (event["id"], event.get("cat"), event.get("name"))
        if event["ph"] == "f" and event.get("bp") != "e":
            self.flow_links += 1  # to the next slice of the track
            return
        if not self.stacks[track]:
            self.errors["flow_no_enclosing_slice"] += 1
            return
        top = self.stacks[track][-1]
        self.errors["flow_outside_slice"] += not (top.ts <= ts <= top.ts + top.dur or top.dur == OPEN)
        if event["ph"] == "s":
            self.errors["flow_duplicate_id"] += flow in self.flows
            self.flows.add(flow)
        elif flow not in self.flows:
            self.errors["flow_step_without_start" if event["ph"] == "t" else "flow_end_without_start"] += 1
        else:
            self.flow_links += 1

    # ---- events: JsonTraceParserImpl::ParseJsonPacket ----

    def parse(self, event, ts):
        phase, track = event.get("ph"), (event.get("pid"), event.get("tid"))
        number = isinstance(event.get("pid"), int) and isinstance(event.get("tid"), int)
        if not isinstance(phase, str) or not number or "name" in event and not isinstance(event["name"], str):
            self.errors["json_parser_failure"] += 1
        elif phase == "X":
            if "dur" not in event:
                self.errors["json_parser_failure"] += 1
            else:
                self.begin(track, ts, nanoseconds(event["dur"]))
        elif phase in "bne":
            name = event.get("id") or next((v for v in event.get("id2", {}).values() if v), None)
            if name is None:
                self.errors["json_parser_failure"] += 1
                return
            own = ("async", event["pid"], event.get("cat"), str(name))
            key = (event.get("cat"), event.get("name"))
            if phase == "e":
                self.end(own, ts, key)
            else:
                self.begin(own, ts, OPEN if phase == "b" else 0, key)
        elif phase == "C":
            args = event.get("args")
            numbers = isinstance(args, dict) and all(isinstance(v, (int, float)) for v in args.values())
            self.errors["json_parser_failure"] += not numbers
        elif phase in "iIR":
            scope = event.get("s", "t")
            self.errors["json_parser_failure"] += scope not in ("g", "p", "t")
            self.begin(track if scope == "t" else (scope, event["pid"]), ts, 0)
        elif phase in "stf":
            self.flow(event, track, ts)
        elif phase != "M":
            self.errors["json_parser_failure"] += 1


def nanoseconds(us):
    return round(us * 1000)


def read(document):
    """Imports a file: its events in the order of their times, those of one time in the order of the file."""
    one = Importer()
    # the tokenizer looks for this key before the events alone
    keys = list(document)
    if document.get("displayTimeUnit") not in ("ns", "ms") or keys.index("displayTimeUnit") > keys.index("traceEvents"):
        one.errors["json_display_time_unit"] += 1
    events = []
    for e in document["traceEvents"]:
        if e.get("ph") != "M" and not isinstance(e.get("ts"), (int, float)):
            one.errors["json_tokenizer_failure"] += 1
        else:
            events.append(e)
    for e in sorted(events, key=lambda e: nanoseconds(e.get("ts", 0))):
        one.parse(e, nanoseconds(e.get("ts", 0)))
    one.errors["end_missing"] += sum(s.dur == OPEN for stack in one.stacks.values() for s in stack)
    one.errors = +one.errors
    return one
