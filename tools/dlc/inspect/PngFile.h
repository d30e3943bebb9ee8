// SPDX-License-Identifier: Apache-2.0
// Pictures as PNG files.
#pragma once

#include "runtime/data/augment/Picture.h"

#include <string>

namespace dlc {

// A whole PNG, RGB of 8 bits, without filters.
std::string encodePng(const Picture &picture);
// The same as an address for a page: data:image/png;base64,...
std::string addressOf(const Picture &picture);

} // namespace dlc
