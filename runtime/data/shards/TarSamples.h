// SPDX-License-Identifier: Apache-2.0
// Tar archives of samples, as WebDataset has them.
#pragma once

#include "runtime/data/pictures/PictureSource.h"

#include <string>
#include <vector>

namespace dlc {

// Whether `path` means shards: a name that ends in .tar,
// or .tar.gz and the like, which openShards() refuses, or a folder that has
// such files and neither folders nor pictures.
bool isShards(const std::string &path);

// The archives that `path` means, in order: all of a folder, or a range
// (Range.h), which may be one.
Result<std::vector<std::string>> shardsOf(const std::string &path);

// Pictures and their classes. Members whose names are equal up to the first dot
// of the last part, in a row, are a sample: key.jpg (.jpeg, .png, .webp) and
// key.cls, a number from 0. Others are passed over. Errors: a sample without a
// picture or with two, a class that is no number, a class for some samples
// only. The archives are mapped; a sample takes 40 bytes. The hash is of the
// archives' names and of all sizes and classes, not of pixels.
Result<std::shared_ptr<const Pictures>> openShards(const std::string &path);

} // namespace dlc
