// SPDX-License-Identifier: Apache-2.0
// The compressions of Parquet's pages.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace dlc {

// Fills `to`, which has as many bytes as were compressed, from `from`: by the
// format's number of a codec (0 none, 1 Snappy, 2 gzip, 6 Zstandard, 7 LZ4).
// An error has no place: damaged, or another codec, by its name.
Status decompress(int codec, std::span<const std::byte> from,
                  std::span<std::byte> to);

} // namespace dlc
