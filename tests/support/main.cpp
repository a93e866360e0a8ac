// The main program of every test executable. Each is a SystemC program, so that any case may build
// modules and simulate; one case is one process.
#include <cstddef>
#include <cstdlib>
#include <systemc>

#ifdef QFS_SANITIZE
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define CATCH_CONFIG_RUNNER
#include "tests/support/catch.hpp"

namespace {

// SystemC tells the address sanitizer which stack it runs on, but not that it is back on the first
// one, and the leak check at the end would crash on a stack that is gone.
void name_the_stack() {
#ifdef QFS_SANITIZE
  pthread_attr_t attributes;
  void* bottom = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &bottom, &size);
  pthread_attr_destroy(&attributes);
  __sanitizer_start_switch_fiber(nullptr, bottom, size);
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

}  // namespace

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
  name_the_stack();
  return status;
}
