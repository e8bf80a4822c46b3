# cmake --install: the programs, the units, the users and an example of the settings. The components are the Debian
# packages (packages.cmake); `source` is left out of them, and what is EXCLUDE_FROM_ALL is in them alone.
install(TARGETS perfci perfci-bench RUNTIME DESTINATION bin COMPONENT perfci)
install(TARGETS perfci-server RUNTIME DESTINATION bin COMPONENT perfci-server)
install(TARGETS perfci-runner perfci-sandbox RUNTIME DESTINATION bin COMPONENT perfci-runner)

# The units name the programs where they are only now: --prefix may have been given just then.
foreach(part "perfci;perfci-nightly@*" "perfci;perfci-store@*" "perfci-server;perfci-server*" "perfci-runner;perfci-runner*"
    "perfci-runner;perfci-sandbox*" "perfci-runner;perfci-dispatcher*")
  list(POP_FRONT part component)
  install(CODE "set(perfci_units \"${PROJECT_SOURCE_DIR}/deploy/systemd\")
  set(perfci_work \"${PROJECT_BINARY_DIR}/units\")
  set(perfci_part \"${part}\")" COMPONENT ${component})
  install(CODE [[
    file(GLOB units "${perfci_units}/${perfci_part}.service" "${perfci_units}/${perfci_part}.socket"
      "${perfci_units}/${perfci_part}.timer" "${perfci_units}/../slurm/${perfci_part}.service"
      "${perfci_units}/../ci/${perfci_part}.service" "${perfci_units}/../ci/${perfci_part}.timer")
    foreach(unit ${units})
      get_filename_component(name ${unit} NAME)
      file(READ ${unit} text)
      string(REPLACE "=/usr/bin/perfci" "=${CMAKE_INSTALL_PREFIX}/bin/perfci" text "${text}")
      file(WRITE ${perfci_work}/${name} "${text}")
      file(INSTALL ${perfci_work}/${name} DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
    endforeach()
  ]] COMPONENT ${component})
endforeach()
set(systemd ${PROJECT_SOURCE_DIR}/deploy/systemd)
install(FILES ${systemd}/perfci.sysusers DESTINATION lib/sysusers.d RENAME perfci.conf COMPONENT source)
install(FILES ${systemd}/perfci.tmpfiles DESTINATION lib/tmpfiles.d RENAME perfci.conf COMPONENT source)
install(FILES ${systemd}/server.env DESTINATION share/doc/perfci COMPONENT source)
install(DIRECTORY ${systemd}/drop-ins DESTINATION share/doc/perfci COMPONENT perfci-runner)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/ha DESTINATION share/doc/perfci COMPONENT perfci-server)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/slurm/slurm.conf.example DESTINATION share/doc/perfci COMPONENT perfci-runner)

# In the packages: each has its own user, and the settings are a file that dpkg keeps as the administrator left it.
file(STRINGS ${systemd}/perfci.sysusers users REGEX "^u ")
foreach(line ${users})
  string(REGEX REPLACE "^u ([^ ]+) .*" "\\1" user "${line}")
  file(WRITE ${PROJECT_BINARY_DIR}/sysusers/${user}.conf "${line}\n")
  install(FILES ${PROJECT_BINARY_DIR}/sysusers/${user}.conf DESTINATION lib/sysusers.d COMPONENT ${user} EXCLUDE_FROM_ALL)
endforeach()
install(FILES ${systemd}/perfci.tmpfiles DESTINATION lib/tmpfiles.d RENAME perfci-runner.conf COMPONENT perfci-runner EXCLUDE_FROM_ALL)
install(FILES ${systemd}/server.env DESTINATION /etc/perfci COMPONENT perfci-server EXCLUDE_FROM_ALL)
