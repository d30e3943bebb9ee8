// SPDX-License-Identifier: Apache-2.0
// A folder of pictures in a folder for each class.
#pragma once

#include "runtime/data/pictures/PictureSource.h"

namespace dlc {

// The files *.jpg, *.jpeg, *.png and *.webp (in any case) below each folder
// that is in `path`, in the order of their names' bytes; the folders, in the
// same order, are the classes 0, 1, ... Without folders: the pictures in `path`
// itself, without classes. Names that begin with a dot and other files are
// passed over. Errors: no pictures, a class without any, a link that leads out
// of `path`. The hash is of names and sizes, not of content.
Result<std::shared_ptr<const Pictures>>
openPictureFolder(const std::string &path);

// By its name, not its content.
bool isPictureName(std::string_view name);

} // namespace dlc
