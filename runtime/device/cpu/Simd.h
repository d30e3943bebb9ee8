// SPDX-License-Identifier: Apache-2.0
// Loops that the compiler vectorises, in one build that is fast on every x86-64
// machine.
#pragma once

// On a function: compiled for AVX-512, AVX2 and the baseline, chosen when the
// program is loaded. Not with sanitizers: their runtime is not up yet when the
// choice is made.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                   \
    !defined(__SANITIZE_THREAD__)
#define DLC_MULTIVERSION                                                       \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DLC_MULTIVERSION
#endif

// The expression in the namespace v4, v3 or baseline, the best for this CPU.
// Each includes the same loops with vectors of its size, which target_clones
// would not give: GCC lowers vectors of a fixed size before it clones a
// function.
#ifdef __x86_64__
#define DLC_OF_LEVEL(...)                                                      \
  (__builtin_cpu_supports("x86-64-v4")   ? v4::__VA_ARGS__                     \
   : __builtin_cpu_supports("x86-64-v3") ? v3::__VA_ARGS__                     \
                                         : baseline::__VA_ARGS__)
#else
#define DLC_OF_LEVEL(...) (baseline::__VA_ARGS__)
#endif

// On a template that a multiversioned function calls: it must become part of
// each version.
#define DLC_INLINE inline __attribute__((always_inline))
