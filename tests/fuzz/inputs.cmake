# Everything that reads what comes from outside.
perfci_fuzz(fuzz_run SOURCES fuzz_run.c DEPS pfc_wire CORPUS run)
perfci_fuzz(fuzz_commits SOURCES fuzz_commits.c DEPS pfc_wire CORPUS commits)
perfci_fuzz(fuzz_conf SOURCES fuzz_conf.c DEPS pfc_base CORPUS conf)
perfci_fuzz(fuzz_suite SOURCES fuzz_suite.c DEPS pfc_bench_suite CORPUS suite)
perfci_fuzz(fuzz_import SOURCES fuzz_import.c DEPS pfc_import CORPUS import import-csv import-text
  ../import/bmf ../import/github-action ../import/google-benchmark ../import/hyperfine)
perfci_fuzz(fuzz_import_csv SOURCES fuzz_import_csv.c DEPS pfc_import CORPUS import-csv ../import/triton
  ../import/ncu ../import/rocprof ../import/cutlass ../import/otava ../import/criterion)
perfci_fuzz(fuzz_import_text SOURCES fuzz_import_text.c DEPS pfc_import CORPUS import-text import
  ../import/go ../import/catch2 ../import/asv ../import/nccl-tests ../import/nvbandwidth)
perfci_fuzz(fuzz_import_json SOURCES fuzz_import_json.c DEPS pfc_import CORPUS import ../import/bmf
  ../import/github-action ../import/google-benchmark ../import/hyperfine ../import/pytest-benchmark
  ../import/nvbench ../import/asv ../import/conbench ../import/jmh ../import/lnt)
perfci_fuzz(fuzz_import_map SOURCES fuzz_import_map.c DEPS pfc_import CORPUS import-map)
perfci_fuzz(fuzz_objects SOURCES fuzz_objects.c DEPS pfc_objects CORPUS objects)
perfci_fuzz(fuzz_series SOURCES fuzz_series.c DEPS pfc_cli CORPUS series)
perfci_fuzz(fuzz_mcp SOURCES fuzz_mcp.c DEPS pfc_cli CORPUS mcp)
perfci_fuzz(fuzz_query SOURCES fuzz_query.c DEPS pfc_server_http CORPUS query)
perfci_fuzz(fuzz_request SOURCES fuzz_request.c DEPS pfc_server_http CORPUS request)
perfci_fuzz(fuzz_chip SOURCES fuzz_chip.c DEPS pfc_kernels_accel CORPUS chip
  ../../../kernels/accel/chips)
if(TARGET pfc_server_settings)
  perfci_fuzz(fuzz_settings SOURCES fuzz_settings.c DEPS pfc_server_settings CORPUS settings)
endif()
