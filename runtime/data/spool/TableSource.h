// SPDX-License-Identifier: Apache-2.0
// Tables of other programs as samples: .parquet, .csv, .tsv.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/pictures/PictureSource.h"

namespace dlc {

// Whether `path` means tables, by its name.
bool isTable(const std::string &path);

// A table in files with the same columns: one, numbered ones (Range.h), or
// several with commas between them. Arrays are those of options.columns;
// besides, each column by its own name [N], and x [N, columns], which are all
// that neither options.columns nor the name y takes; i64 if all their numbers
// are whole, else f64. A label may be the name of a class: its number in
// options.classes, or, if that is empty, in the order of the names' bytes.
// shaped() has dlc-data write the arrays that it is asked for (Spool.h), in the
// shape of the input where that has as many entries; a source that was not
// shaped has them of options.columns, x and labels. The hash is of the files'
// content. Of a .parquet with a column of pictures: a pictureSource().
Result<std::shared_ptr<const Source>> openTable(const std::string &path,
                                                const SampleOptions &options);

// What dlc-data says of its columns, as JSON; of one with pictures
// {"pictures": true}.
Result<std::string> surveyTable(const std::string &path, BadSamples bad);

// Those of a table that has some.
Result<std::shared_ptr<const Pictures>>
picturesOfTable(const std::string &path);

} // namespace dlc
