// SPDX-License-Identifier: Apache-2.0
// Pictures from a list of paths.
#pragma once

#include "runtime/data/pictures/PictureSource.h"

namespace dlc {

// The pictures in this order, without classes; a folder is replaced by the
// pictures that openPictureFolder() finds. The format is determined by content,
// not by name. A missing file is an error when it is read, so BadSamples::Skip
// applies. Errors: an empty list, a folder without pictures.
Result<std::shared_ptr<const Pictures>>
openPictureList(const std::vector<std::string> &paths);

} // namespace dlc
