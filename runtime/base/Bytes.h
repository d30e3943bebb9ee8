// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes as people write them.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>

namespace dlc {

// "4GiB", "512 MiB", "1.5GB", "4096": a number of at least 0 and a unit, of
// 1000 (kB, MB, GB, TB) or of 1024 (KiB, MiB, GiB, TiB). The error (Usage) has
// no context.
Result<int64_t> parseBytes(std::string_view text);

// The shortest text that parseBytes reads back: "4GiB", "1000".
std::string exactBytes(int64_t bytes);

// To three digits, in units of 1024: "3.21 GiB".
std::string roundBytes(double bytes);

} // namespace dlc
