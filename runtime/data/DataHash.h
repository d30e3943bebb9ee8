// SPDX-License-Identifier: Apache-2.0
// Hashes that identify the samples of a run, between ranks and on resumption.
#pragma once

#include "runtime/base/Status.h"

#include <span>
#include <string>

namespace dlc {

// 64 hex digits: the SHA-256 of the file's size and the SHA-256s of its 4 MiB
// blocks, computed by `threads` threads (at least 1).
Result<std::string> hashData(const std::string &path, int threads);

// The hash of each file, one per line.
Result<std::string> hashesOfData(std::span<const std::string> paths,
                                 int threads);

} // namespace dlc
