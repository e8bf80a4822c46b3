perfci_fuzz(fuzz_explain SOURCES fuzz_explain.c DEPS pfc_explain pfc_analysis pfc_wire pfc_base CORPUS explain)
perfci_fuzz(fuzz_callgrind SOURCES fuzz_callgrind.c DEPS pfc_analysis pfc_base CORPUS callgrind)
perfci_fuzz(fuzz_stacks SOURCES fuzz_stacks.c DEPS pfc_analysis pfc_base CORPUS stacks)
