// SPDX-License-Identifier: Apache-2.0
// Files that a program writes in place in its own folder, such as a run's
// folder. A link in it could lead to another user's file, so nothing is opened,
// created or truncated through a link.
#pragma once

#include "runtime/base/Status.h"

#include <string>

namespace dlc {

// A plain file, opened with the `flags` of open(2) (O_WRONLY, O_APPEND, O_CREAT
// ...); the caller closes the descriptor. Fails if a link or anything else has
// the name. A file with a second name (a hard link) is replaced by a copy
// first: the other name keeps the content.
Result<int> openOwnFile(const std::string &path, int flags);

// Creates the folder if it does not exist. Fails if a link has the name.
Status makeOwnFolder(const std::string &path);

} // namespace dlc
