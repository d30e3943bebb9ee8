// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes as text.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>

namespace dlc {

// Parses "4GiB", "512 MiB", "1.5GB", "4096": a non-negative number and a unit
// based on 1000 (kB, MB, GB, TB) or 1024 (KiB, MiB, GiB, TiB). The error
// (Usage) has no context.
Result<int64_t> parseBytes(std::string_view text);

// The shortest text that parseBytes parses to `bytes`: "4GiB", "1000".
std::string exactBytes(int64_t bytes);

// Rounded to three digits, in units based on 1024: "3.21 GiB".
std::string roundBytes(double bytes);

} // namespace dlc
