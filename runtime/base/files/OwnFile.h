// SPDX-License-Identifier: Apache-2.0
// What a program writes where it stands in a folder of its own, such as a
// run's. A link in place of it leads to what is another's: nothing is opened,
// made or shortened through one.
#pragma once

#include "runtime/base/Status.h"

#include <string>

namespace dlc {

// A plain file, opened as `flags` of open(2) say (O_WRONLY, O_APPEND, O_CREAT
// ...); the caller closes the descriptor. Fails if a link or anything else has
// the name. A file with a second name (a hard link) is made a copy of it first:
// the other one keeps its content.
Result<int> openOwnFile(const std::string &path, int flags);

// Is there already, or is made. Fails if a link has the name.
Status makeOwnFolder(const std::string &path);

} // namespace dlc
