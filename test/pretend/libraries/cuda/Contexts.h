// SPDX-License-Identifier: Apache-2.0
// Primary contexts of the stand-in: one a GPU, which dies when it was released
// as often as it was retained, with all that was made in it.
#pragma once

#include <cuda.h>

namespace dlc::standin {

CUresult retainPrimary(CUcontext *context, int device);
CUresult releasePrimary(int device);

// Of the calling thread; null: none.
CUresult setCurrent(CUcontext context);
CUcontext currentContext();
int currentDevice(); // -1: no context, or one that died

// Success if the thread has a context: else `call` is not allowed.
CUresult checkContext(const char *call);

} // namespace dlc::standin
