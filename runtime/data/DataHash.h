// SPDX-License-Identifier: Apache-2.0
// What identifies the samples of a run, between ranks and to one that goes on.
#pragma once

#include "runtime/base/Status.h"

#include <span>
#include <string>

namespace dlc {

// 64 hex digits: the SHA-256 of the file's size and of the SHA-256s of its
// blocks of 4 MiB, which several threads take (at least 1).
Result<std::string> hashData(const std::string &path, int threads);

// That of each file, in lines.
Result<std::string> hashesOfData(std::span<const std::string> paths,
                                 int threads);

// Whether the file has this hash, of any version: older ones wrote XXH3-128.
// `own` is its hashData().
Result<bool> isOfData(const std::string &hash, const std::string &own,
                      const std::string &path);

} // namespace dlc
