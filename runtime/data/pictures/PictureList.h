// SPDX-License-Identifier: Apache-2.0
// Files of pictures by their names.
#pragma once

#include "runtime/data/pictures/PictureSource.h"

namespace dlc {

// In this order, without classes; a folder stands for the pictures that
// openPictureFolder() finds in it. What a file holds decides, not its name. A
// file that is missing is an error when it is read, so that BadSamples::Skip
// passes it over. Errors: no name at all, a folder without pictures.
Result<std::shared_ptr<const Pictures>>
openPictureList(const std::vector<std::string> &paths);

} // namespace dlc
