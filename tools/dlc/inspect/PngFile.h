// SPDX-License-Identifier: Apache-2.0
// Encodes pictures as PNG.
#pragma once

#include "runtime/data/augment/Picture.h"

#include <string>

namespace dlc {

// An 8-bit RGB PNG.
std::string encodePng(const Picture &picture);
// The same as an address for a page: data:image/png;base64,...
std::string addressOf(const Picture &picture);

} // namespace dlc
