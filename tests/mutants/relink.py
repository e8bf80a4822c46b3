"""A build with planted mutants that compiles the planted files alone, and links each target with the objects of a
configured build for all others: a folder is judged within minutes. Only files whose text is the build's may lie beside
them, so the build has to be up to date.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess

import plant

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOW = ('-O', '-W', '-g', '-fstack', '-D_FORTIFY', '-U_FORTIFY')


class Relinked:
    """Used in place of run.Build: has its member `tests` and its method ctest(), which runs one of them."""

    def __init__(self, out, database, targets, wanted, mutants):
        self.out, self.database = pathlib.Path(out), pathlib.Path(database)
        self.folder = self.out / 'relinked'
        self.targets = targets
        self.wanted = wanted or '|'.join(map(re.escape, targets))
        self.mutants = mutants
        self.tests, self.commands = {}, {}

    def make(self, jobs):
        entries = plant.read_database(self.database)
        by_file = {}
        for mutant in self.mutants:
            by_file.setdefault(mutant.site.file, []).append((mutant.number, mutant.site))
        for name in ('objects', 'bin', 'tests'):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            objects = dict(zip(by_file, pool.map(lambda name: self.compile(name, by_file[name], entries), by_file)))
            list(pool.map(lambda target: self.link(target, objects), self.targets))
        for program in (self.database / 'bin').iterdir():
            if not (self.folder / 'bin' / program.name).exists():
                (self.folder / 'bin' / program.name).symlink_to(program)
        self.read_tests()

    def compile(self, name, numbered, entries):
        """The object of one file with its mutants, without optimisation."""
        entry = entries[str(ROOT / name)]
        words = [w for w in shlex.split(entry['command']) if not w.startswith(SLOW) and not w.endswith('ccache')]
        words = words[:words.index('-o')]
        words = words[:words.index('-MD')] if '-MD' in words else words
        source = pathlib.Path(self.out, 'source', name)
        target = self.folder / 'objects' / (name.replace('/', '+') + '.o')
        include = ['-I' + str((ROOT / name).parent)]
        subprocess.run([*words, *include, '-w', '-o', target, '-c', source], cwd=entry['directory'], check=True)
        return target

    def link(self, target, objects):
        """The target, whose planted objects go before the libraries that hold the files without a mutant."""
        text = subprocess.run(['ninja', '-C', self.database, '-t', 'commands', target], check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        line = next(x for x in reversed(text.splitlines()) if re.search(rf' -o \S*/?{re.escape(target)} ', x))
        words = shlex.split(line.replace(': &&', '').replace('&& :', ''))
        at = words.index('-o')
        place = self.folder / words[at + 1]
        words[at + 1] = str(place)
        own = {w: self.source_of(w) for w in words if w.endswith('.c.o')}
        words = [w for w in words if own.get(w) not in objects]
        libraries = ' '.join(w for w in words if w.endswith('.a'))
        add = [str(objects[name]) for name in objects if name in own.values() or self.is_in(name, libraries)]
        at = words.index('-o') + 2
        subprocess.run([*words[:at], *add, *words[at:]], cwd=self.database, check=True)

    @staticmethod
    def source_of(word):
        return os.path.normpath(re.sub(r'CMakeFiles/[^/]+\.dir/', '', word).replace('__/', '../'))[:-2]

    def is_in(self, name, libraries):
        """Whether one of these libraries holds the file's object."""
        for word in libraries.split():
            listed = self.members(word)
            if pathlib.Path(name).name + '.o' in listed and name.startswith(os.path.dirname(word)):
                return True
        return False

    def members(self, library):
        if library not in self.commands:
            self.commands[library] = set(subprocess.run(['ar', 't', self.database / library], check=True,
                                                        stdout=subprocess.PIPE).stdout.decode().split())
        return self.commands[library]

    def read_tests(self):
        text = subprocess.run(['ctest', '--test-dir', self.database, '--show-only=json-v1'], check=True,
                              stdout=subprocess.PIPE).stdout
        doc = json.loads(text)
        graph = doc['backtraceGraph']
        for test in doc['tests']:
            if not re.fullmatch(self.wanted, test['name']) or 'command' not in test:
                continue
            properties = {p['name']: p['value'] for p in test['properties']}
            node = graph['nodes'][test['backtrace']]
            while 'parent' in node and not graph['files'][node['file']].endswith('CMakeLists.txt'):
                node = graph['nodes'][node['parent']]
            place = pathlib.Path(graph['files'][node['file']]).parent
            command = [self.moved(w) for w in test['command']]
            env = dict(pair.split('=', 1) for pair in properties.get('ENVIRONMENT', ()))
            env['PERFCI_BIN_DIR'] = str(self.folder / 'bin')
            digest = hashlib.sha256()
            for word in command:
                digest.update(pathlib.Path(word).read_bytes() if os.path.isfile(word) else word.encode())
            self.tests[test['name']] = {
                'folder': str(place).rpartition('/tests/')[2], 'digest': digest.hexdigest()[:12],
                'labels': properties.get('LABELS', []), 'command': command, 'env': env,
                'cwd': properties.get('WORKING_DIRECTORY', str(self.out))}

    def moved(self, word):
        """The relinked program in place of the build's."""
        here = self.folder / 'tests' / pathlib.Path(word).name
        return str(here) if word.startswith(str(self.database / 'tests')) and here.exists() else word

    def ctest(self, name, env, limit):
        """Whether the test passes; None where it does not end within the limit."""
        test = self.tests[name]
        with subprocess.Popen(test['command'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, cwd=test['cwd'], env={**os.environ, **test['env'], **env},
                              start_new_session=True) as child:
            try:
                return child.wait(limit) in (0, 77)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                return None
