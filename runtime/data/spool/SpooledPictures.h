// SPDX-License-Identifier: Apache-2.0
// Encoded pictures of a table, as dlc-data writes them.
#pragma once

#include "runtime/data/pictures/PictureSource.h"
#include "runtime/data/spool/Spool.h"

namespace dlc {

// Of a .safetensors: "pictures", u8, one behind the other, "offsets" [N + 1],
// i64, of each and of their end, "labels" [N] or [0], i64; its metadata have
// the classes' names, warnings, and how many rows of `files` each has. Mapped.
// A row of the table that has no picture is an empty one, so an error when it
// is read. Errors: a file that disagrees with itself.
Result<std::shared_ptr<const Pictures>>
spooledPictures(std::shared_ptr<const SpooledFile> made, std::string name,
                std::vector<std::string> files, std::string hash);

} // namespace dlc
