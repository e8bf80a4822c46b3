"""Where histories come from: the made repository, or a real one with an adapter (repos/*.json)."""

import os
import shutil

import made
import nights
import pairs
import plan
import score

REAL = 0.01  # an alert without a plant is real when 40 pairs show this much at least, with an interval above nothing


def open_source(args):
    if not args.repo:
        return Made(args)
    import real
    return real.Real(args)


class Made:
    """The made repository. Sizes of plants are measured once a study, for each kernel and size."""

    name = "made repository"

    def __init__(self, args):
        self.args = args
        self.adapter = {"measure": "./kernels"}
        self.measured = {}

    def kernel_of(self, metric):
        return metric.removesuffix("_us")

    def prepare(self, lab):
        self.adapter["build"] = made.replay_build_command(lab.objects) if lab.trace else made.build_command(lab.objects)
        if lab.trace:
            return
        self.base = made.build_base(os.path.join(lab.folder, "base"), self.adapter["build"])
        lab.visit_s = nights.time_visit(self.adapter["measure"], self.base, "timing")

    def plan(self, number, args):
        return plan.history(number, args, made.KERNELS)

    def night_of(self, history, index):
        return score.night_of(history, index)

    def write(self, folder, seed, wanted):
        entries = made.write_history(folder, seed, wanted["commits"], wanted["plants"])
        for entry in entries:
            entry["metric_factors"] = {f"{kernel}_us": factor for kernel, factor in entry["factors"].items()}
        return entries, [i for i, entry in enumerate(entries) if entry["identical"]]

    def measure_plants(self, history, run, lab):
        """Replayed: the factor itself. Live: 40 interleaved pairs of the base program and the one with the plant."""
        for plant in history["plants"]:
            kernel = plant["kernels"][0]
            if lab.trace:
                plant["measured"] = history["entries"][plant["index"]]["factors"][kernel] - 1
                continue
            key = (kernel, plant["percent"])
            if key not in self.measured:
                files = made.template()
                made.plant(files, kernel, plant["percent"])
                folder = os.path.join(lab.folder, "planted")
                made.write_tree(folder, files)
                made.build(folder, self.adapter["build"])
                self.measured[key] = pairs.measure(self.base, folder, "./kernels", f"{kernel}/{plant['percent']}")[f"{kernel}_us"]
                shutil.rmtree(folder)
            plant["measured"], plant["measured_low"], plant["measured_high"] = self.measured[key]

    def check_alerts(self, history, run, lab):
        """Does a change that was not planted show in pairs of its own? Another layout of the code can cost, too."""
        if lab.trace:
            return
        score.attribute(history)
        for alert in history["false"]:
            if alert["index"] in history["identical"] or alert["index"] == 0:
                continue
            folders = []
            for index in score.ends_of(alert):
                folder = os.path.join(run.dir, f"check{index}")
                made.checkout(run.repo, history["entries"][index]["commit"], folder)
                folders.append(made.build(folder, self.adapter["build"]))
            change, low, high = pairs.measure(*folders, "./kernels", f"check/{alert['id']}")[f"{alert['kernel']}_us"]
            alert.update(pairs=change, pairs_low=low, pairs_high=high, real=low > 0 and change >= REAL)
            for folder in folders:
                shutil.rmtree(folder)
