perfci_fuzz(fuzz_webhook SOURCES fuzz_webhook.c DEPS pfc_forge CORPUS webhook)
