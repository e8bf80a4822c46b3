# Writes OUT, a C file with a hash over VERSION and the content of SOURCES (a comma list).
string(REPLACE "," ";" SOURCES "${SOURCES}")
set(all "${VERSION}")
foreach(path ${SOURCES})
  file(SHA256 ${path} one)
  string(APPEND all " ${one}")
endforeach()
string(SHA256 hash "${all}")
file(WRITE ${OUT} "/* Made at build time. */\n#include \"bench/machine/machine.h\"\n\nconst char *pfc_harness_hash(void)\n{\n    return \"${hash}\";\n}\n")
