// SPDX-License-Identifier: Apache-2.0
// Device memory of the stand-in, on the host: every range is checked.
#pragma once

#include "test/pretend/libraries/Standin.h"

#include <string>

namespace dlc::standin {

// A block that fills with a pattern which is NaN in every float type; freed
// addresses are never used again, and touching them ends the process.
CUresult allocateBlock(uint64_t bytes, bool pinned, void *&data);
CUresult freeBlock(void *data, bool pinned);
void freeBlocks(int device); // all that were allocated in its context

uint64_t deviceMemoryFree();
uint64_t deviceMemoryTotal();

// "d1+64" in device memory, "h1+0" in pinned memory, "host" elsewhere.
std::string placeOf(const void *data);

// Success if [data, data + bytes) lies in one live block of device memory.
CUresult checkDevice(const char *call, const void *data, uint64_t bytes);
// The same for host memory that an asynchronous copy touches: it must be
// pinned.
CUresult checkPinned(const char *call, const void *data, uint64_t bytes);

// Which block, and what it has seen, for the races in Engine.cpp: null if the
// address lies in none.
struct Block;
Block *blockOf(const void *data);

} // namespace dlc::standin
