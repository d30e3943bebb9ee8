// SPDX-License-Identifier: Apache-2.0
// Picture files: a folder with a subfolder per class, or a list of paths.
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

// The pictures in this order, without classes; a folder is replaced by the
// pictures that openPictureFolder() finds. The format is determined by content,
// not by name. A missing file is an error when it is read, so BadSamples::Skip
// applies. Errors: an empty list, a folder without pictures.
Result<std::shared_ptr<const Pictures>>
openPictureList(const std::vector<std::string> &paths);

// Decided by the name, not the content.
bool isPictureName(std::string_view name);

} // namespace dlc
