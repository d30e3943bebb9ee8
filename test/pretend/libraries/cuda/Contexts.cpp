// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cuda/Contexts.h"
#include "test/pretend/libraries/cuda/Engine.h"
#include "test/pretend/libraries/cuda/Memory.h"
#include "test/pretend/libraries/cuda/Modules.h"
#include "test/pretend/libraries/cuda/Trace.h"

#include <map>

namespace dlc::standin {
namespace {

struct Context {
  int device = 0, retained = 0;
};

// By GPU. A context that is made again has the address that it had.
std::map<int, Context> &contexts() {
  static auto *contexts = new std::map<int, Context>;
  return *contexts;
}

thread_local Context *current = nullptr;

} // namespace

CUresult retainPrimary(CUcontext *context, int device) {
  Context &made = contexts()[device];
  made.device = device;
  ++made.retained;
  *context = reinterpret_cast<CUcontext>(&made);
  return CUDA_SUCCESS;
}

CUresult releasePrimary(int device) {
  const auto found = contexts().find(device);
  if (found == contexts().end() || found->second.retained == 0)
    return violation(CUDA_ERROR_INVALID_CONTEXT,
                     "a context is released that nobody retained");
  if (--found->second.retained > 0)
    return CUDA_SUCCESS;
  forgetStreams(device);
  forgetModules(device);
  freeBlocks(device);
  return CUDA_SUCCESS;
}

CUresult setCurrent(CUcontext context) {
  auto *wanted = reinterpret_cast<Context *>(context);
  if (wanted && wanted->retained == 0)
    return violation(CUDA_ERROR_INVALID_CONTEXT,
                     "cuCtxSetCurrent of a context that died");
  current = wanted;
  return CUDA_SUCCESS;
}

CUcontext currentContext() { return reinterpret_cast<CUcontext>(current); }

int currentDevice() {
  return current && current->retained > 0 ? current->device : -1;
}

CUresult checkContext(const char *call) {
  if (currentDevice() >= 0)
    return CUDA_SUCCESS;
  return violation(CUDA_ERROR_INVALID_CONTEXT,
                   fmt::format("{} on a thread with no context", call));
}

} // namespace dlc::standin
