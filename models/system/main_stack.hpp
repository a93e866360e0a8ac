// SystemC tells the address sanitizer which thread's stack it switches to, but not that it is back
// on the first one. What is thrown or checked for leaks after that would be taken for an overflow
// of a stack that is gone (github.com/google/sanitizers/issues/189).
#pragma once

// QFS_SANITIZE: of a file that is not itself instrumented, in a program that is.
#if defined(__SANITIZE_ADDRESS__) || defined(QFS_SANITIZE)
#define QFS_NAME_MAIN_STACK
#endif

#ifdef QFS_NAME_MAIN_STACK
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>

#include <cstddef>
#endif

namespace qfs {

/// To be called on the process's first stack after sc_start; does nothing without the sanitizer.
inline void name_the_main_stack() {
#ifdef QFS_NAME_MAIN_STACK
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

}  // namespace qfs
