// SPDX-License-Identifier: Apache-2.0
// Files of samples: their names, hashes and formats.
#pragma once

#include "runtime/base/Status.h"

#include <span>
#include <string>
#include <vector>

namespace dlc {

// Expands "train-{000..127}.tar" in order, with the same number of digits;
// `path` itself if it has no braces or exists. Code::Usage for a descending
// range, or one of more than kMaxRange.
constexpr int64_t kMaxRange = 60000;
Result<std::vector<std::string>> expandRange(const std::string &path);

// Code::Failed if the first bytes or the name identify a format that dlc does
// not read, with the format and how to convert it. Success for other files and
// for those that cannot be opened.
Status refuseForeign(const std::string &path);

// Hashes that identify the samples of a run, between ranks and on resumption.

// 64 hex digits: the SHA-256 of the file's size and the SHA-256s of its 4 MiB
// blocks, computed by `threads` threads (at least 1).
Result<std::string> hashData(const std::string &path, int threads);

// The hash of each file, one per line.
Result<std::string> hashesOfData(std::span<const std::string> paths,
                                 int threads);

} // namespace dlc
