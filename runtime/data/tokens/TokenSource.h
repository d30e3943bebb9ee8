// Windows of token files as samples: x the tokens, y the next ones.
#pragma once

#include "runtime/data/Source.h"

namespace dlc {

// Files of tokens (TokenFile.h), one after the other, which the shape [T] that
// shaped() is asked for divides: a window is T tokens, and y is what follows
// each of them. A file of n tokens has (n - 1) / T windows, one behind the
// other; what is left is less than one. In training they begin at an offset
// below T that (seed, epoch) gives, so that their borders are others in each
// epoch; the last of a file then reaches back. No window is of two files. The
// hash is of the files' content.
std::shared_ptr<const Source> tokenSource(std::string path,
                                          std::vector<std::string> files);

} // namespace dlc
