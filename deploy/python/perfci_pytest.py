"""pytest plugin of perfci: a test that is marked perf is measured, and a regression fails it.

    @pytest.mark.perf                  the test is what is measured
    def test_f(perf): perf(f, 1000)    a call is measured; perf.record(values, ...) judges values of one's own

Loaded by its entry point where perfci is installed, else by -p perfci_pytest.
"""
import json
import time

import perfci


def pytest_addoption(parser):
    group = parser.getgroup("perfci")
    group.addoption("--perfci-baseline", metavar="FILE", help="run document to compare with: a regression fails the test")
    group.addoption("--perfci-save", metavar="FILE", help="write what was measured as a run document")
    group.addoption("--perfci-project", metavar="P", help="upload what was measured to this project of the service")
    group.addoption("--perfci-margin", metavar="R", type=float, default=0.0, help="relative change that does not matter")


def _sampled(function, samples, least_s=1e-3):
    """Seconds per call: `samples` values, each over as many calls as take least_s, after one warm-up of both."""
    calls, spent = 1, 0.0
    while spent < least_s:
        begun = time.perf_counter()
        for _ in range(calls):
            function()
        spent = time.perf_counter() - begun
        calls = calls if spent >= least_s else calls * 2
    values = []
    for _ in range(samples):
        begun = time.perf_counter()
        for _ in range(calls):
            function()
        values.append((time.perf_counter() - begun) / calls)
    return values


class _Perf:
    """The fixture `perf` of one test: perf(function) measures and judges; perf.record(values, ...) judges values."""

    def __init__(self, plugin, benchmark, margin=0.0, samples=30):
        self.plugin, self.benchmark, self.margin, self.samples = plugin, benchmark, margin, samples

    def __call__(self, function, *args, **named):
        return self.record([1e9 * s for s in _sampled(lambda: function(*args, **named), self.samples)])

    def record(self, values, *, metric="time_ns", **more):
        self.plugin.run.record(self.benchmark, values, metric=metric, **more)
        return self.plugin.judge(self.benchmark, metric, self.margin)


class _Plugin:
    def __init__(self, config, fail):
        self.config, self.fail, self.lines, self.session, self.begun = config, fail, [], None, None
        path = config.getoption("--perfci-baseline")
        self.baseline = json.loads(open(path, encoding="utf-8").read())["measurements"] if path else []

    @property
    def run(self):
        """Begun with the first measurement: a session of tests without one costs nothing."""
        if self.begun is None:
            option = self.config.getoption
            self.session = perfci.run(option("--perfci-project"), file=option("--perfci-save"), suite="pytest")
            self.begun = self.session.__enter__()
        return self.begun

    def judge(self, benchmark, metric, margin):
        find = lambda rows: next((m for m in rows if (m["benchmark"], m["metric"]) == (benchmark, metric)), None)
        before, now = find(self.baseline), find(self.run.document["measurements"])
        if before is None:
            return None
        row = perfci.compare(before["samples"], now["samples"], higher_is_better=now["direction"] == "higher", exact=now["exact"],
                      margin=margin or self.config.getoption("--perfci-margin"))
        self.lines.append(f"{benchmark} {metric}: {row.verdict} {100 * row.rel_change:+.2f} % "
                          f"[{100 * row.rel_low:+.2f}, {100 * row.rel_high:+.2f}], p {row.p:.2g}")
        if row.verdict == "regression":
            self.fail(self.lines[-1], pytrace=False)
        return row

    def perf_of(self, item):
        marker = item.get_closest_marker("perf")
        named = dict(marker.kwargs) if marker else {}
        return _Perf(self, named.pop("benchmark", item.nodeid), **named)

    def pytest_pyfunc_call(self, pyfuncitem):
        """A marked test that does not use the fixture is itself what is measured."""
        if not pyfuncitem.get_closest_marker("perf") or "perf" in pyfuncitem.fixturenames:
            return None
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        self.perf_of(pyfuncitem)(pyfuncitem.obj, **arguments)
        return True

    def pytest_sessionfinish(self):
        if self.begun is not None and self.begun.document["measurements"]:
            self.session.__exit__(None, None, None)

    def pytest_terminal_summary(self, terminalreporter):
        for line in self.lines:
            terminalreporter.write_line("perfci: " + line)


def pytest_configure(config):
    import pytest
    config.addinivalue_line("markers", "perf(benchmark=NAME, margin=R, samples=N): measure this test; a regression fails it")
    plugin = _Plugin(config, pytest.fail)
    # A fixture is found on an object by its class.
    type(plugin).perf = pytest.fixture(lambda self, request: self.perf_of(request.node), name="perf")
    config.pluginmanager.register(plugin, "perfci-run")
