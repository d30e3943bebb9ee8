// SPDX-License-Identifier: Apache-2.0
// Which files this process has hashed, so that a start hashes the weights once.
#pragma once

#include <string>

#include <sys/stat.h>

namespace dlc {

// A file is the same as long as its inode, size and time of change are: the
// kernel sets that time, whatever a program says. Not for files changed within
// the last second, since clocks tick slowly. Any thread.
bool isChecked(const struct stat &file, const std::string &hash);
void setChecked(const struct stat &file, const std::string &hash);

} // namespace dlc
