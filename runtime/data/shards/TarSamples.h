// SPDX-License-Identifier: Apache-2.0
// Tar archives of samples in the format of WebDataset: POSIX (ustar, pax) and
// GNU long names.
#pragma once

#include "runtime/data/pictures/PictureSource.h"

#include <string>
#include <vector>

namespace dlc {

// Whether `path` means shards: its name ends in .tar, or in .tar.gz etc. (which
// openShards() rejects), or it is a folder with such files and neither folders
// nor pictures.
bool isShards(const std::string &path);

// Pictures and their classes. Consecutive members whose names are equal up to
// the first dot of the last path component are one sample: key.jpg (.jpeg,
// .png, .webp) and key.cls, a number from 0. Other members are ignored. Errors:
// a sample without a picture or with two, a class that is not a number, a class
// for only some samples. Archives are mapped; a sample uses 40 bytes. The hash
// covers archive names and all sizes and classes, not pixels.
Result<std::shared_ptr<const Pictures>> openShards(const std::string &path);

} // namespace dlc
