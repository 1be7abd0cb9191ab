# In a build with a sanitizer: what programs built without it need, and a last test that reads every process's reports.
#
# When a server or a compiler ends with a report, the test that started it often notices, but no test notices a leak at its end
# or a race in a process that is killed later. So all processes write their reports into one folder (CMakePresets.json), and the
# last test fails if there are any.

if(NOT TUTTI_SANITIZE)
  return()
endif()

# All tests in and below `folder`.
function(tutti_tests_below folder result)
  get_property(tests DIRECTORY ${folder} PROPERTY TESTS)
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${subfolders})
    tutti_tests_below(${subfolder} more)
    list(APPEND tests ${more})
  endforeach()
  set(${result} ${tests} PARENT_SCOPE)
endfunction()

set(TUTTI_SANITIZER_REPORTS ${CMAKE_BINARY_DIR}/sanitizer)
file(MAKE_DIRECTORY ${TUTTI_SANITIZER_REPORTS})
# Servers of other users report, too.
file(CHMOD ${TUTTI_SANITIZER_REPORTS} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_WRITE GROUP_EXECUTE
  WORLD_READ WORLD_WRITE WORLD_EXECUTE)

tutti_tests_below(${CMAKE_SOURCE_DIR} tests)
add_test(NAME sanitizer/no_process_was_found_out COMMAND bash ${CMAKE_SOURCE_DIR}/cmake/sanitizer_reports.sh ${TUTTI_SANITIZER_REPORTS})
set_tests_properties(sanitizer/no_process_was_found_out PROPERTIES DEPENDS "${tests}")
