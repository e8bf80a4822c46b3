perfci_fuzz(fuzz_pca SOURCES fuzz_pca.c DEPS pfc_kernels_accel CORPUS pca)
perfci_fuzz(fuzz_schedule SOURCES fuzz_schedule.c DEPS pfc_kernels_accel CORPUS schedule)
