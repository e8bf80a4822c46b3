perfci_fuzz(fuzz_explain SOURCES fuzz_explain.c DEPS pfc_explain pfc_analysis pfc_wire pfc_base CORPUS explain)
