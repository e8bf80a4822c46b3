"""perfci init: what it finds in a repository, what it writes, and that it tries it."""

import os
import re

import support

GOOGLE = """find_package(benchmark REQUIRED)
add_executable({name} {name}.cc)
target_link_libraries({name} PRIVATE mylib benchmark::benchmark_main)
"""
RESULT = 'Benchmark{0}-2   100  {1} ns/op\n'


class Init(support.Case):
    def setUp(self):
        super().setUp()
        self.repo = self.path("repo")
        os.mkdir(self.repo)
        self.git("init", "-q", "-b", "trunk", cwd=self.repo)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first", cwd=self.repo)

    def files(self, **texts):
        for name, text in texts.items():
            self.write("repo/" + name, text)

    def init(self, *args, status=0):
        return self.expect(self.perfci("init", *args, cwd=self.repo), status)

    def inspect(self, files):
        """build and measure of what it would write for these files."""
        for name, text in files.items():
            self.write("repo/" + name, text)
        text = self.init("--dry-run").stdout
        self.assertFalse(os.path.exists(self.path("repo/perfci.yaml")))
        value = lambda key: next(iter(re.findall(rf"^{key}: (.*)$", text, re.M)), None)
        plain = lambda v: v[1:-1].replace("''", "'") if v and v[0] == "'" else v
        return text, plain(value("build")), plain(value("measure"))

    def test_cmake_and_google_benchmark(self):
        _, build, measure = self.inspect({"CMakeLists.txt": "project(x)\noption(X_BUILD_BENCHMARKS \"Build them\" OFF)\n"
                                       "add_subdirectory(perf)\n", "perf/CMakeLists.txt": GOOGLE.format(name="sort_bench"),
                                       "third_party/g/CMakeLists.txt": GOOGLE.format(name="other_bench")})
        self.assertEqual(build, "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DX_BUILD_BENCHMARKS=ON && "
                         "cmake --build build --target sort_bench -j \"$(nproc)\"")
        self.assertEqual(measure, "./build/perf/sort_bench --benchmark_format=json")

    def test_of_several_programs_one_is_taken_and_the_others_are_named(self):
        text, _, measure = self.inspect({"CMakeLists.txt": GOOGLE.format(name="alpha") + GOOGLE.format(name="my_bench")})
        self.assertEqual(measure, "./build/my_bench --benchmark_format=json")
        self.assertIn("# Other programs that measure: alpha.", text)

    def test_a_makefiles_target_is_found_behind_other_uses_of_its_word(self):
        for text, target in (("all: bench-data\n# bench words\nBENCH := bench\nbench := 1\nbench: all\n\t./x\n", "bench"),
                             ("bench = 1\nxbench:\nbenchmark:\n\t./x\n", "benchmark"),
                             ("benchmarks:\n\t./x\n", "benchmarks"), ("bench:=1\nall:\n", None), ("mybench: x\n", None)):
            with self.subTest(text):
                measure = self.inspect({"Makefile": text})[2]
                self.assertEqual(measure, f"make -s {target}" if target else measure)
                if not target:
                    self.assertNotIn("make", measure or "")

    def test_cmake_and_catch2_nvbench(self):
        link = "add_executable(t t.cc)\ntarget_link_libraries(t {0})\n"
        self.assertEqual(self.inspect({"CMakeLists.txt": link.format("Catch2::Catch2WithMain"),
                                    "t.cc": "#include <catch2/catch_all.hpp>\nTEST_CASE(\"x\", \"[!benchmark]\") { BENCHMARK(\"a\") {}; }\n"})[2],
                         './build/t "[!benchmark]" --reporter xml')
        self.assertEqual(self.inspect({"CMakeLists.txt": link.format("nvbench::main")})[2], "./build/t --json stdout --quiet")

    def test_meson(self):
        _, build, measure = self.inspect({"meson.build": "project('x', 'cpp')\ndep = dependency('benchmark')\n"
                                       "b = executable('x_bench', 'b.cc', dependencies: dep)\nbenchmark('x', b)\n"})
        self.assertIn("ninja -C build", build)
        self.assertEqual(measure, "./build/x_bench --benchmark_format=json")

    def test_cargo_go_pytest_and_triton(self):
        self.assertEqual(self.inspect({"Cargo.toml": "[dev-dependencies]\ncriterion = \"0.5\"\n[[bench]]\nname = \"parse\"\nharness = false\n"})[1:],
                         ("cargo bench --no-run", "cargo bench --bench parse"))
        os.remove(self.path("repo/Cargo.toml"))
        self.assertEqual(self.inspect({"go.mod": "module x\n", "a/a_test.go": "package a\nfunc BenchmarkA(b *testing.B) {}\n"})[2],
                         "go test -run '^$' -bench . ./...")
        os.remove(self.path("repo/go.mod"))
        self.assertIn("--benchmark-only", self.inspect({"tests/test_a.py": "def test_sum(benchmark):\n    benchmark(sum, [1])\n"})[2])
        os.remove(self.path("repo/tests/test_a.py"))
        text, _, measure = self.inspect({"soft.py": "import triton\n@triton.testing.perf_report(x)\ndef f(): pass\n"})
        self.assertEqual(measure, "python3 soft.py")
        self.assertIn("# TODO: ", text)

    def test_what_cannot_be_found_is_marked(self):
        for files, build in (({"CMakeLists.txt": "project(x)\n"}, "cmake -S . -B build"), ({"Makefile": "all:\n\ttrue\n"}, "make"), ({}, None)):
            text, found, measure = self.inspect(files)
            self.assertIn("# TODO: ", text)
            self.assertIsNone(measure)
            self.assertEqual(found and found[:len(build)], build)
            for name in files:
                os.remove(self.path("repo", name))

    def test_a_source_that_includes_a_library_says_so(self):
        text = self.inspect({"Makefile": "all:\n", "b.cc": "#include <benchmark/benchmark.h>\n"})[0]
        self.assertIn("# TODO: name the program that uses Google Benchmark.", text)

    def test_what_it_writes_is_tried_and_names_the_metric(self):
        self.files(Makefile="all:\n\ttrue\nbench:\n\t@printf '%s' '" + RESULT.format("X", 125).strip() + "'\n\t@echo\n")
        done = self.init()
        self.assertRegex(done.stdout, r"BenchmarkX-2 .*125")
        with open(self.path("repo/perfci.yaml"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn("project: repo\n", text)
        self.assertIn('branch: "trunk"', text)
        self.assertIn("measure: make -s bench\n", text)
        self.assertRegex(text, r"(?m)^metric: time_ns$")
        self.expect(self.perfci("run", cwd=self.repo), 0)
        self.assertIn("--force", self.init(status=2).stderr)
        self.init("--force", "--no-run")

    def test_a_trial_that_fails_is_status_four_and_leaves_the_file(self):
        self.files(Makefile="all:\n\techo no such header >&2; exit 3\nbench:\n\techo\n")
        done = self.init(status=4)
        self.assertIn("the trial failed: the build failed", done.stderr)
        self.assertIn("perfci.yaml is written: correct it", done.stderr)
        self.assertTrue(os.path.exists(self.path("repo/perfci.yaml")))

    def test_a_program_that_was_built_elsewhere_is_found(self):
        """A stub replaces CMake: it puts the program below build/bin, as CMAKE_RUNTIME_OUTPUT_DIRECTORY does."""
        self.write("bin/cmake", "#!/bin/sh\nmkdir -p build/bin\nprintf '#!/bin/sh\\necho BenchmarkX-2 100 7 ns/op\\n' > build/bin/b\n"
                   "chmod +x build/bin/b\n", 0o755)
        self.env["PATH"] = self.path("bin") + ":" + self.env["PATH"]
        self.write("repo/CMakeLists.txt", GOOGLE.format(name="b"))
        self.init()
        with open(self.path("repo/perfci.yaml"), encoding="utf-8") as f:
            self.assertIn("measure: ./build/bin/b --benchmark_format=json\n", f.read())

    def test_json_is_one_document(self):
        self.files(Makefile="bench:\n\t@echo BenchmarkX-2 100 5 ns/op\n")
        doc = self.json_of(self.perfci("init", "--json", cwd=self.repo))
        self.assertEqual((doc["found"], doc["run"]["measurements"][0]["benchmark"]),
                         ("Makefile with a target for benchmarks", "BenchmarkX-2"))

    def test_links_and_large_trees_are_not_followed(self):
        os.symlink("/", self.path("repo/root"))
        self.write("repo/CMakeLists.txt", "#" * 200000 + "\n" + GOOGLE.format(name="late"))
        self.assertIsNone(self.inspect({})[2])

    def test_a_clone_without_a_working_tree_is_refused(self):
        self.git("init", "-q", "--bare", self.path("bare.git"), cwd=self.dir)
        self.assertIn("no working tree", self.expect(self.perfci("init", cwd=self.path("bare.git")), 2).stderr)


if __name__ == "__main__":
    support.main()
