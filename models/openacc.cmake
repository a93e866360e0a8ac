# Gives models/kernels/forms/openacc_decode.cpp its OpenACC directives where g++ has them and libgomp links;
# elsewhere they are skipped, and the loops mean the same. Included after qfs_kernels.
set(openacc_source ${here}/kernels/forms/openacc_decode.cpp)
set_source_files_properties(${openacc_source} PROPERTIES COMPILE_OPTIONS -Wno-unknown-pragmas)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fopenacc)  # compiled and linked with it
  check_cxx_source_compiles("int main() {
      float sum = 0;
      #pragma acc parallel loop reduction(+ : sum)
      for (int i = 0; i < 3; ++i) { sum += 1; }
      return sum != 3; }" QFS_OPENACC)
  unset(CMAKE_REQUIRED_FLAGS)
endif()

if(QFS_OPENACC)
  # An object library of its own: clang-tidy 14 does not know the flag and would stumble over it in
  # compile_commands.json, where the second one, which is never built, stands for the source instead.
  get_target_property(kernel_sources qfs_kernels SOURCES)
  list(REMOVE_ITEM kernel_sources ${openacc_source})
  set_target_properties(qfs_kernels PROPERTIES SOURCES "${kernel_sources}")
  add_library(qfs_openacc OBJECT ${openacc_source})
  set_target_properties(qfs_openacc PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
  target_compile_options(qfs_openacc PRIVATE -fopenacc)
  add_library(qfs_openacc_skipped OBJECT EXCLUDE_FROM_ALL ${openacc_source})
  foreach(target qfs_openacc qfs_openacc_skipped)
    target_include_directories(${target} PRIVATE ${here})
  endforeach()
  target_sources(qfs_kernels PRIVATE $<TARGET_OBJECTS:qfs_openacc>)
  target_link_options(qfs_kernels INTERFACE -fopenacc)  # libgomp
endif()
