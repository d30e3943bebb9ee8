// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace dlc {

// Writes all of `data` to a file descriptor, in several calls where one is
// interrupted or writes less. Returns the number of bytes written: if it is
// less than all, errno has the reason.
size_t writeAll(int descriptor, std::string_view data);

} // namespace dlc
