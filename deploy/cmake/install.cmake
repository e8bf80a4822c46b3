# cmake --install: the four programs, the units, the users and an example of the settings.
install(TARGETS perfci perfci-server perfci-runner perfci-bench RUNTIME DESTINATION bin)

# The units name the programs where they are only now: --prefix may have been given just then.
install(CODE "set(perfci_units \"${PROJECT_SOURCE_DIR}/deploy/systemd\")\nset(perfci_work \"${PROJECT_BINARY_DIR}/units\")")
install(CODE [[
  file(GLOB units "${perfci_units}/*.service" "${perfci_units}/*.socket" "${perfci_units}/*.timer"
    "${perfci_units}/../slurm/*.service")
  foreach(unit ${units})
    get_filename_component(name ${unit} NAME)
    file(READ ${unit} text)
    string(REPLACE "=/usr/bin/perfci" "=${CMAKE_INSTALL_PREFIX}/bin/perfci" text "${text}")
    file(WRITE ${perfci_work}/${name} "${text}")
    file(INSTALL ${perfci_work}/${name} DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
  endforeach()
]])
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/perfci.sysusers DESTINATION lib/sysusers.d RENAME perfci.conf)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/perfci.tmpfiles DESTINATION lib/tmpfiles.d RENAME perfci.conf)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/server.env DESTINATION share/doc/perfci)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/systemd/drop-ins DESTINATION share/doc/perfci)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/slurm/slurm.conf.example DESTINATION share/doc/perfci)
