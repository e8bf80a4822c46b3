# perfci_loops(LIBRARY FILE...): files with the loops that vectors gain most in; no result depends on their width. No
# code reads errno after a sqrt or a rounding, which without it are one instruction.
function(perfci_loops library)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS
    "$<$<CONFIG:Release>:-O3>;-fno-math-errno")
  # Under libFuzzer a call for each comparison of these loops takes six tenths of the time and teaches it
  # nothing: no input is a magic number. Counted branches guide it.
  if(PERFCI_FUZZ)
    target_compile_options(pfc_${library} PRIVATE -O2 -fno-sanitize-coverage=trace-cmp)
  elseif(PERFCI_SANITIZE)
    # Hundreds of whole histories are judged: without this that is a tenth of the suite's second half.
    target_compile_options(pfc_${library} PRIVATE -O1)
  endif()
endfunction()
