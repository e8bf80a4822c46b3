perfci_fuzz(fuzz_trace SOURCES fuzz_trace.c DEPS pfc_trace CORPUS trace ../trace)
