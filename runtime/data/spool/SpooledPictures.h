// SPDX-License-Identifier: Apache-2.0
// Encoded pictures of a table, from dlc-data's output.
#pragma once

#include "runtime/data/pictures/PictureSource.h"
#include "runtime/data/spool/Spool.h"

namespace dlc {

// Reads a .safetensors: "pictures", u8, concatenated files; "offsets", i64 [N +
// 1]; "labels", i64 [N] or [0]. Its metadata are class names, warnings, and the
// number of rows from each of `files`. The file is mapped. A table row without
// picture is empty, which is an error when it is read. Errors: inconsistent
// contents.
Result<std::shared_ptr<const Pictures>>
spooledPictures(std::shared_ptr<const SpooledFile> made, std::string name,
                std::vector<std::string> files, std::string hash);

} // namespace dlc
