// SPDX-License-Identifier: Apache-2.0
// Values with arguments: NAME(KEY=VALUE,KEY=[A,B],KEY).
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

struct Argument {
  std::string kind, key;          // NAME and KEY, with `_` for `-`
  std::vector<std::string> words; // of a key alone: "true"
};

// Takes what stands in parentheses behind one of `kinds` out of `text`:
// "a:focal(gamma=2),b:mse" becomes "a:focal,b:mse". Other parentheses stay.
// Code::Usage for arguments that are not written as above.
Result<std::vector<Argument>>
takeArguments(std::string &text, const std::vector<std::string> &kinds);

} // namespace dlc
