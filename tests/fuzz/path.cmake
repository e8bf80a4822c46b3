perfci_fuzz(fuzz_path SOURCES fuzz_path.c DEPS pfc_analysis CORPUS path ../trace)
