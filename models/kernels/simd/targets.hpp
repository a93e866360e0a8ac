// The instruction sets that the vector kernels are compiled for: whatever the compiler's flags
// allow, AVX2 and AVX-512 on x86, Neon on Arm. Highway takes the best of them at run time. Comes
// before any of Highway's headers.
#pragma once

// Left out: steps between those (SSSE3, SSE4), sets beyond plain AVX-512 (bits 0 to 7), which would
// gain nothing, and those whose vectors have no size at compile time, which no array can hold.
#define HWY_DISABLED_TARGETS \
  (0xFFLL | HWY_SSE4 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// The portable fallback with vectors of 16 bytes. Highway avoids it under g++ before 12.3 for a bug
// in the high halves of products (GCC 106322), which nothing here takes.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
