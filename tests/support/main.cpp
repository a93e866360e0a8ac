// The main program of every test executable. Each is a SystemC program, so that any case may build
// modules and simulate; one case is one process.
#include <cstdlib>
#include <systemc>

#define CATCH_CONFIG_RUNNER
#include "system/main_stack.hpp"
#include "tests/support/catch.hpp"

int sc_main(int argc, char* argv[]) {
  Catch::Session runner;
  const int status = runner.applyCommandLine(argc, argv);
  if (status != 0) {
    return status;
  }
  // A case that checks nothing fails. So does a name that matches no case: a `;` in a case's name
  // tears it apart on its way through ctest. (The newer Catch2 does the latter by itself.)
  auto& config = runner.configData();
  int warnings = Catch::WarnAbout::NoAssertions;
#if CATCH_VERSION_MAJOR < 3
  warnings |= Catch::WarnAbout::NoTests;
#endif
  config.warnings = static_cast<Catch::WarnAbout::What>(config.warnings | warnings);
  return runner.run();
}

int main(int argc, char* argv[]) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  const int status = sc_core::sc_elab_and_sim(argc, argv);
  qfs::name_the_main_stack();
  return status;
}
