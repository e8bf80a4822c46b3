perfci_fuzz(fuzz_webhook SOURCES fuzz_webhook.c DEPS pfc_forge CORPUS webhook)
perfci_fuzz(fuzz_comment SOURCES fuzz_comment.c DEPS pfc_comment CORPUS comment)
