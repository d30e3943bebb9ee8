// SPDX-License-Identifier: Apache-2.0
// What the stand-in driver offers beyond CUDA's interface: to the other
// stand-in libraries, whose work runs on its streams, and to tests. Exported
// from the look-alike libcuda.so.1; find it with standin() below.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>

namespace dlc::standin {

// A range of device or pinned memory that a piece of work reads or writes.
struct Access {
  const void *data;
  uint64_t bytes;
  bool writes;
};

// A kernel as a function of the host: the values of its parameters (pointers to
// them, then null) and its launch.
struct Launch {
  unsigned grid[3], block[3], shared;
  void **parameters;
};
using KernelFunction = void (*)(const Launch &);
// Calls sink(context, access) for all that a launch touches.
using KernelAccesses = void (*)(const Launch &, void *context,
                                void (*sink)(void *, Access));

// Work of a library on a stream; `run` is called once for each execution, from
// the thread that plays the GPU, so a captured one is called at every launch.
// `release` is called when it can never run again; it may be null.
struct Work {
  const char *name; // for the trace: "allReduce count=4"
  CUresult (*run)(void *data);
  void *data;
  void (*release)(void *data);
  const Access *accesses;
  int accessCount;
};

struct Interface {
  CUresult (*enqueue)(CUstream stream, const Work &work);
  // `accesses` may be null: then the kernel is no party to races.
  void (*registerKernel)(const char *name, KernelFunction function,
                         KernelAccesses accesses);
  // Uses of CUDA that the stand-in found wrong so far; the last one's text.
  int (*violations)();
  const char *(*lastViolation)();
  // The trace so far, when DLC_STANDIN_TRACE is set; a line a call.
  const char *(*trace)();
  void (*clearTrace)();
  // Adds a line to the trace.
  void (*note)(const char *line);
  // For a library: a wrong use of it, counted like the driver's own.
  void (*complain)(const char *what);
  // The GPU whose context is current on this thread, -1 if there is none.
  int (*currentDevice)();
  // Whether work on the stream goes into a graph.
  bool (*isCaptured)(CUstream stream);
  // What this thread has waited for and its context, for one thread that a
  // library starts, which adopts it.
  void *(*shareOrder)();
  void (*adoptOrder)(void *order);
  // Has all work done that was enqueued, as a GPU does without being asked.
  void (*wantAll)();
  int (*driverVersion)();
};

// Null when the process has the real driver, or none.
inline const Interface *standin() {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW);
  void *symbol = library ? ::dlsym(library, "dlcStandin") : nullptr;
  return static_cast<const Interface *>(symbol);
}

} // namespace dlc::standin
