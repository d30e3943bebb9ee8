// SPDX-License-Identifier: Apache-2.0
// Vectorised loops in one build that is fast on every x86-64 machine.
#pragma once

// For functions: compiles versions for AVX-512, AVX2 and the baseline, chosen
// when the program is loaded. Not with sanitizers, whose runtime is not
// initialised yet when the choice is made.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                   \
    !defined(__SANITIZE_THREAD__)
#define DLC_MULTIVERSION                                                       \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DLC_MULTIVERSION
#endif

// The expression in the namespace v4, v3 or baseline, whichever is best for
// this CPU. Each namespace includes the same loops with its vector size;
// target_clones does not support this, because GCC lowers fixed-size vectors
// before it clones a function.
#ifdef __x86_64__
#define DLC_OF_LEVEL(...)                                                      \
  (__builtin_cpu_supports("x86-64-v4")   ? v4::__VA_ARGS__                     \
   : __builtin_cpu_supports("x86-64-v3") ? v3::__VA_ARGS__                     \
                                         : baseline::__VA_ARGS__)
#else
#define DLC_OF_LEVEL(...) (baseline::__VA_ARGS__)
#endif

// For templates that a multiversioned function calls: they must be inlined into
// each version.
#define DLC_INLINE inline __attribute__((always_inline))
