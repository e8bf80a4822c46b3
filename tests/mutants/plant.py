"""Draws mutants by a seed and writes a copy of the tree in which all of them are planted, each asleep until the
environment names it (mutant.h). One build then serves all mutants, and one run of each test says which it reaches.
"""

import collections
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import shlex
import subprocess

import sites

FOLDERS = ('core', 'runner', 'server', 'cli', 'kernels', 'bench')
# Programs that grade perfci and are not installed: no build depends on their output.
STUDIES = tuple(f'bench/{name}/' for name in ('accel', 'bisect', 'detect', 'import', 'night', 'pairs', 'peers',
                                              'service', 'studies', 'suspects'))
LEAST = 12  # mutants of a folder, where it has so many sites


def folder_of(name):
    """The room of a source file: two folders, or one where there is no second."""
    parts = name.split('/')[:-1]
    return '/'.join(parts[:2])


def product_files(root):
    names = subprocess.run(['git', '-C', root, 'ls-files', '-z', '--'] + [f'{f}/*.c' for f in FOLDERS],
                           check=True, stdout=subprocess.PIPE).stdout.decode().split('\0')
    return sorted(n for n in names if n and not n.startswith(STUDIES))


def flags_of(root, name, build):
    """Includes and definitions of the file, from the compilation database of a configured build."""
    entry = build.get(str(pathlib.Path(root, name)))
    if entry is None:
        return None
    words = shlex.split(entry['command'])
    keep = [w for w in words if w.startswith(('-I', '-D', '-std=', '-m'))]
    for i, word in enumerate(words[:-1]):
        if word in ('-I', '-isystem', '-D'):
            keep += [word, words[i + 1]]
    return keep


def read_database(folder):
    with open(pathlib.Path(folder, 'compile_commands.json'), encoding='utf-8') as file:
        return {entry['file']: entry for entry in json.load(file)}


def find_kept(kept, path, name, flags):
    """The file's sites; what was found in the same text by the same program before is read back."""
    digest = hashlib.sha256()
    for part in (pathlib.Path(path).read_bytes(), pathlib.Path(sites.__file__).read_bytes(), ' '.join(flags).encode()):
        digest.update(hashlib.sha256(part).digest())
    file = pathlib.Path(kept, digest.hexdigest())
    if file.exists():
        return [sites.Site(**item) for item in json.loads(file.read_text(encoding='utf-8'))]
    found = sites.find(path, name, flags)
    file.with_suffix('.new').write_text(json.dumps([dataclasses.asdict(s) for s in found]), encoding='utf-8')
    file.with_suffix('.new').rename(file)
    return found


def find_all(root, database, only, jobs, kept):
    """{file: [Site]} of all product files that are compiled here."""
    names = [n for n in product_files(root) if not only or any(n.startswith(o) for o in only)]
    flags = {n: flags_of(root, n, database) for n in names}
    names = [n for n in names if flags[n] is not None]
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        found = pool.map(find_kept, itertools.repeat(kept), [str(pathlib.Path(root, n)) for n in names], names,
                         [flags[n] for n in names], chunksize=8)
        return dict(zip(names, found))


def overlaps(a, b):
    return a.begin < b.end and b.begin < a.end


def shares(sizes, count):
    """How many mutants of each folder: by its number of sites, LEAST or all of them where that is more."""
    total = sum(sizes.values())
    want = {f: min(n, max(LEAST, round(count * n / total))) for f, n in sizes.items()}
    while sum(want.values()) > max(count, sum(min(n, LEAST) for n in sizes.values())):
        most = max(want, key=lambda f: want[f] / sizes[f] if want[f] > LEAST else 0)
        want[most] -= 1
    return want


def shuffled(items, seed):
    """In an order that the seed and each site's own text decide: a change elsewhere moves no site in it."""
    seen, ranked = collections.Counter(), []
    for site in items:
        key = site.key()
        seen[key] += 1
        ranked.append((hashlib.sha256(f'{seed} {seen[key]} {key}'.encode()).digest(), site))
    return [site for _, site in sorted(ranked, key=lambda r: r[0])]


def draw(found, count, seed):
    """Disjoint sites, by folder; within a folder each kind of fault as often as the others, as far as it has sites."""
    by_folder = {}
    for name, items in found.items():
        by_folder.setdefault(folder_of(name), []).extend(items)
    by_folder = {f: items for f, items in by_folder.items() if items}
    want = shares({f: len(items) for f, items in by_folder.items()}, count)
    chosen = []
    for folder in sorted(by_folder):
        kinds = {}
        for site in by_folder[folder]:
            kinds.setdefault(site.kind, []).append(site)
        for kind in kinds:
            kinds[kind] = shuffled(kinds[kind], seed)
        taken = []
        while len(taken) < want[folder] and any(kinds.values()):
            for kind in sorted(kinds):
                while kinds[kind] and len(taken) < want[folder]:
                    site = kinds[kind].pop()
                    if not any(o.file == site.file and overlaps(o, site) for o in taken):
                        taken.append(site)
                        break
        chosen += taken
    return sorted(chosen, key=lambda s: (s.file, s.begin))


def rendered(text, begin, end, items):
    """text[begin:end] with these (number, site) of it, outer sites first: an inner one is planted in the outer's
    original, and sleeps while the outer is awake."""
    out, at = [], begin
    while items:
        (number, site), items = items[0], items[1:]
        inner = [i for i in items if i[1].begin < site.end]
        items = items[len(inner):]
        original = rendered(text, site.begin, site.end, inner)
        out += [text[at:site.begin],
                f'(pfc_mutant({number}) ? ({site.mutated}) : ('.encode(), original, b'))']
        at = site.end
    return b''.join([*out, text[at:end]])


def planted_text(root, name, numbered):
    """The file with these (number, site): each pair disjoint, or one within the other. The header is named in its
    first line, so that a file without a mutant is compiled as in any other build."""
    text = pathlib.Path(root, name).read_bytes()
    items = sorted(numbered, key=lambda n: (n[1].begin, -n[1].end, n[0]))
    header = pathlib.Path(__file__).with_name('mutant.h')
    return b'#include "%s"\n#line 1\n' % os.fsencode(header) + rendered(text, 0, len(text), items)


def nested(numbered):
    """Without the sites that overlap another one and neither contains the other."""
    kept = []
    for number, site in sorted(numbered, key=lambda n: (n[1].begin, -n[1].end, n[0])):
        if not any(o.end > site.begin and site.end > o.end for _, o in kept):
            kept.append((number, site))
    return kept


def compiles(root, database, name, text, scratch):
    """Does gcc take the file? Variable-length arrays, which a mutated constant makes, count as a refusal."""
    path = pathlib.Path(scratch, name.replace('/', '+'))
    path.write_bytes(text)
    folder = pathlib.Path(root, name).parent
    command = ['gcc', '-fsyntax-only', '-w', '-Werror=vla', f'-iquote{folder}', *flags_of(root, name, database),
               str(path)]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def compilable(root, database, name, numbered, scratch):
    """Those of the file's mutants that compile."""
    numbered = nested(numbered)
    if compiles(root, database, name, planted_text(root, name, numbered), scratch):
        return numbered
    good = []
    for item in numbered:
        if compiles(root, database, name, planted_text(root, name, [*good, item]), scratch):
            good.append(item)
    return good


def write_if_changed(path, data, mode):
    """Keeps the time of a file that is as it was, so that the next build compiles what changed alone."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    path.chmod(mode)


def plant(root, out, database, chosen, jobs):
    """Writes the tree with the chosen (number, Site) to out/source, and returns those that compile."""
    source, scratch = pathlib.Path(out, 'source'), pathlib.Path(out, 'scratch')
    scratch.mkdir(parents=True, exist_ok=True)
    by_file = {}
    for number, site in chosen:
        by_file.setdefault(site.file, []).append((number, site))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        kept = pool.map(lambda name: compilable(root, database, name, by_file[name], scratch), by_file)
        by_file = dict(zip(by_file, kept))
    names = subprocess.run(['git', '-C', root, 'ls-files', '-z'], check=True,
                           stdout=subprocess.PIPE).stdout.decode().split('\0')
    for name in filter(None, names):
        path = pathlib.Path(root, name)
        if path.is_symlink() or not path.is_file():
            continue
        data = planted_text(root, name, by_file[name]) if by_file.get(name) else path.read_bytes()
        write_if_changed(source / name, data, os.stat(path).st_mode & 0o777)
    return sorted((item for items in by_file.values() for item in items), key=lambda n: n[0])
