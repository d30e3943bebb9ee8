// SPDX-License-Identifier: Apache-2.0
// Pictures in a column of a Parquet table.
#pragma once

#include "runtime/data/SampleOptions.h"
#include "runtime/data/parquet/ParquetTable.h"
#include "runtime/data/pictures/PictureSource.h"

namespace dlc {

// Pictures and their classes, as Hugging Face's library datasets writes them
// (image.bytes, label). The pictures are the column that options.columns calls
// x, else the only one whose first value is a JPEG, PNG or WebP; the classes
// are the column that it calls y, else `y`, else `label`, if there is one:
// whole numbers, or names, which are numbered in the order of their bytes.
// Null: the column of x has no pictures. A row without a picture is an error
// when it is read.
// Bytes are decompressed once: in memory, or, if they are more than `held`, in
// a file of their size without a name in TMPDIR. Errors name file, row (from 0)
// and column. The hash is of the files' content.
Result<std::shared_ptr<const Pictures>>
openParquetPictures(std::shared_ptr<const ParquetTable> table,
                    const SampleOptions &options, uint64_t held);

} // namespace dlc
