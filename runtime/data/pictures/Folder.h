// SPDX-License-Identifier: Apache-2.0
// A folder with a subfolder of pictures per class.
#pragma once

#include "runtime/data/pictures/PictureSource.h"

namespace dlc {

// Finds *.jpg, *.jpeg, *.png and *.webp (case-insensitive) in and below each
// subfolder of `path`, sorted by name as bytes; the subfolders, sorted
// likewise, are classes 0, 1, ... Without subfolders: the pictures in `path`,
// without classes. Hidden and other files are ignored. Errors: no pictures, a
// class without pictures, a link out of `path`. The hash covers names and
// sizes, not contents.
Result<std::shared_ptr<const Pictures>>
openPictureFolder(const std::string &path);

// Decided by the name, not the content.
bool isPictureName(std::string_view name);

} // namespace dlc
