// SPDX-License-Identifier: Apache-2.0
// Tables as samples: .parquet, .csv, .tsv.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/pictures/PictureSource.h"

namespace dlc {

// Whether the name of `path` is that of a table.
bool isTable(const std::string &path);

// Opens a table in files with the same columns: one file, a numbered range
// (Range.h), or several separated by commas. Arrays: those of options.columns;
// each column under its name [N]; and x [N, columns] of the columns that
// neither options.columns nor the name y uses; i64 if all numbers are integers,
// else f64. Labels may be class names: numbers are positions in options.classes
// or, if that is empty, in the names sorted as bytes. shaped() has dlc-data
// write the requested arrays (Spool.h), in the input's shape if the number of
// entries matches; without shaped() the source has those of options.columns, x
// and labels. The hash is that of the files' contents. A .parquet with a column
// of pictures becomes a pictureSource().
Result<std::shared_ptr<const Source>> openTable(const std::string &path,
                                                const SampleOptions &options);

// dlc-data's description of the columns, as JSON; {"pictures": true} for a
// table with pictures.
Result<std::string> surveyTable(const std::string &path, BadSamples bad);

// The pictures of a table that has some.
Result<std::shared_ptr<const Pictures>>
picturesOfTable(const std::string &path);

} // namespace dlc
