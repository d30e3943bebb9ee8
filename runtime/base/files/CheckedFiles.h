// SPDX-License-Identifier: Apache-2.0
// Records which files this process has hashed, so that weights are hashed once.
#pragma once

#include <string>

#include <sys/stat.h>

namespace dlc {

// A file counts as unchanged while its inode, size and change time are, as
// programs cannot set the change time. Not for files changed within the last
// second, because of the clock's resolution. Thread-safe.
bool isChecked(const struct stat &file, const std::string &hash);
void setChecked(const struct stat &file, const std::string &hash);

} // namespace dlc
