"""The made repository: a small C program of six kernels (made/), 60 to 120 commits by seed, most of them neutral.

A plant makes one to three kernels do that many per cent more rows of work. A neutral commit is one of several kinds; some
give the same object code (a comment, a document, a name), some another one that costs the same (a function that is not
called, a message, a table entry that is not reached)."""

import os
import random
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATE = os.path.join(HERE, "made")
KERNELS = ("stream", "matrix", "sorting", "list", "text", "table")
FIRST_DATE = 1760000000  # 2025-10-09, an arbitrary fixed day
ROWS = re.compile(r"\bROWS = ([0-9]+)")


def compiler(cache=None):
    """`cache`: folder for object files, used where ccache is not installed."""
    if shutil.which("ccache"):
        return "ccache cc"
    return f"{os.path.join(HERE, 'cached_cc.sh')} {cache}" if cache else "cc"


def build_command(cache=None):
    return f"make -s CC='{compiler(cache)}'"


def replay_build_command(cache):
    """The program is not run: see replay_build.sh."""
    return f"{os.path.join(HERE, 'replay_build.sh')} {cache}"


def template():
    """{path: text} of the first commit."""
    files = {}
    for name in sorted(os.listdir(TEMPLATE)):
        with open(os.path.join(TEMPLATE, name), encoding="utf-8") as file:
            files[name] = file.read()
    files[".gitignore"] = "*.o\n/kernels\n"
    files["NOTES"] = "The program's notes.\n"
    return files


def write_tree(folder, files):
    os.makedirs(folder)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def build(folder, command=None):
    subprocess.run(command or build_command(), shell=True, cwd=folder, check=True, stdin=subprocess.DEVNULL)
    return folder


def build_base(folder, command=None):
    write_tree(folder, template())
    return build(folder, command)


def rows_of(files, kernel):
    return int(ROWS.search(files[f"{kernel}.c"]).group(1))


def plant(files, kernel, percent):
    """Makes the kernel do that many per cent more rows. Returns the exact factor of its rows."""
    rows = rows_of(files, kernel)
    more = rows + max(1, round(rows * percent / 100))
    files[f"{kernel}.c"] = ROWS.sub(f"ROWS = {more}", files[f"{kernel}.c"], count=1)
    return more / rows


# ---- neutral commits: each changes `files` and returns the subject ----

def note(files, rng, n):
    files["NOTES"] += f"Note {n}.\n"
    return f"notes: number {n}"


def comment(files, rng, n):
    kernel = rng.choice(KERNELS)
    files[f"{kernel}.c"] += f"\n/* Remark {n}: see NOTES. */\n"
    return f"{kernel}: remark {n}"


def rename(files, rng, n):
    kernel = rng.choice(KERNELS)
    name = f"{kernel}.c"
    old = re.search(r"double (sum\w*) = 0;\n\n(?:    if[^;]*\n[^;]*;[^;]*;[^;]*;\n)?    for \(int row", files[name])
    if not old:
        return comment(files, rng, n)
    head, tail = files[name][:old.start()], files[name][old.start():]
    files[name] = head + re.sub(rf"\b{old.group(1)}\b", f"sum{n}", tail)
    return f"{kernel}: another name of the sum"


def unused(files, rng, n):
    files["report.c"] += f"\nint report_version_{n}(void)\n{{\n    return {n} * 3 + 1;\n}}\n"
    return f"report: version function {n}"


def message(files, rng, n):
    files["report.c"] += f'\nconst char *const report_text_{n} = "{"text " * rng.randint(1, 30)}{n}";\n'
    return f"report: text {n}"


def helper(files, rng, n):
    kernel = rng.choice(KERNELS)
    files[f"{kernel}.c"] += f"\nint {kernel}_limit_{n}(int a)\n{{\n    return a > {n} ? {n} : a;\n}}\n"
    return f"{kernel}: a limit for callers"


def startup(files, rng, n):
    files["main.c"] = files["main.c"].replace("    for (int k = 0; k < KERNELS; k++)\n        sum += kernels[k](); /* warm-up */",
                                              f"    if (getenv(\"KERNELS_DEBUG_{n}\"))\n        fputs(\"start {n}\\n\", stderr);\n"
                                              "    for (int k = 0; k < KERNELS; k++)\n        sum += kernels[k](); /* warm-up */", 1)
    return f"main: debug switch {n}"


IDENTICAL = (note, comment, rename)
OTHER = (unused, message, helper, startup)


def neutral(files, rng, n):
    """Returns the subject, and whether the programs stay the same."""
    kinds = IDENTICAL if rng.random() < 0.4 else OTHER
    return rng.choice(kinds)(files, rng, n), kinds is IDENTICAL


def commits(seed, count, plants):
    """Yields (subject, files, {kernel: factor}, identical) for `count` commits. `plants`: {index: {"percent", "kernels"}}."""
    rng = random.Random(f"made/{seed}")
    files = template()
    yield "kernels: first version", dict(files), {}, False
    for index in range(1, count):
        if index in plants:
            want = plants[index]
            factors = {kernel: plant(files, kernel, want["percent"]) for kernel in want["kernels"]}
            yield f"{want['kernels'][0]}: more rows", dict(files), factors, False
        else:
            subject, identical = neutral(files, rng, index)
            yield subject, dict(files), {}, identical


def write_history(folder, seed, count, plants):
    """Makes the repository; returns [{"commit", "subject", "factors", "identical"}], oldest first. One git process for all of it."""
    os.makedirs(folder)
    stream, made = [], []
    before = {}
    for index, (subject, files, factors, identical) in enumerate(commits(seed, count, plants)):
        who = f"Ada Moreno <ada@example.org> {FIRST_DATE + index * 3600} +0000"
        stream.append(f"commit refs/heads/all\nmark :{index + 1}\nauthor {who}\ncommitter {who}\ndata {len(subject.encode())}\n{subject}\n")
        if index:
            stream.append(f"from :{index}\n")
        for name in sorted(files):
            if before.get(name) != files[name]:
                stream.append(f"M 644 inline {name}\ndata {len(files[name].encode())}\n{files[name]}\n")
        before = files
        made.append({"subject": subject, "factors": factors, "identical": identical})
    git(folder, "init", "-q", "-b", "main")
    subprocess.run(["git", "-C", folder, "fast-import", "--quiet"], input="".join(stream).encode(), check=True)
    ids = git(folder, "rev-list", "--reverse", "all").split()
    for entry, commit in zip(made, ids):
        entry["commit"] = commit
    return made


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout.strip()


def checkout(repo, commit, folder):
    os.makedirs(folder)
    archive = subprocess.run(["git", "-C", repo, "archive", commit], check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
