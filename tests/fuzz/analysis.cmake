# The files of metrics, rules and guidance, and the expressions in them.
perfci_fuzz(fuzz_expr SOURCES fuzz_expr.c DEPS pfc_analysis CORPUS expr)
perfci_fuzz(fuzz_metrics SOURCES fuzz_metrics.c DEPS pfc_analysis CORPUS metrics ../../../core/analysis/data)
perfci_fuzz(fuzz_limiter SOURCES fuzz_limiter.c DEPS pfc_analysis CORPUS limiter ../../../core/analysis/data)
perfci_fuzz(fuzz_guidance SOURCES fuzz_guidance.c DEPS pfc_analysis CORPUS guidance ../../../core/analysis/data)
