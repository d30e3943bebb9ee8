// SPDX-License-Identifier: Apache-2.0
// Tables as samples: an array is some of their columns.
#pragma once

#include "runtime/data/Source.h"

namespace dlc {

// No more bytes of parsed rows are kept in memory; of larger tables rows are
// parsed each time that they are read.
constexpr uint64_t kHeldTable = 256 << 20;

// What `path` names (CsvFiles.h). Arrays are those of options.columns; besides,
// each column by its own name [N], and x [N, columns], which are all that
// neither options.columns nor the name y takes. shaped() gives x, or any other
// array, the shape of the input where that has as many entries. Arrays are i64
// if all their numbers are whole, else f64. A label may be the name of a class:
// its number in options.classes, or, if that is empty, in the order of the
// names' bytes. All rows are read once, when the first head is asked for:
// errors as of scanRows(). The index takes 8 bytes a row. The hash is of the
// files' content. Of a .parquet with pictures: ParquetPictures.h.
Result<std::shared_ptr<const Source>> openTable(const std::string &path,
                                                const SampleOptions &options,
                                                uint64_t held = kHeldTable);

} // namespace dlc
