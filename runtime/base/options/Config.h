// SPDX-License-Identifier: Apache-2.0
// Configuration files: YAML sections, which may extend other files by `_BASE_`
// or `BASE`.
//
//   _BASE_: common.yaml      # or a list; relative to this file; read first
//   train:
//     lr: 0.05               # the key "train.lr"; overrides the base's value
#pragma once

#include "runtime/base/Status.h"

#include <map>
#include <string>
#include <vector>

namespace dlc {

// A value as words: a list's elements, or a scalar's text; none for null.
struct ConfigValue {
  std::vector<std::string> words;
  std::string where; // of the value: "exp.yaml:2:7"
  std::string keyAt; // of its key: "exp.yaml:2:3"
};

// Values by "section.key".
using Config = std::map<std::string, ConfigValue>;

// Reads a file and its bases. Code::Usage, with file, line and column, for
// invalid syntax, a duplicate key, a value outside of a section, nested maps,
// and a base that includes itself; Code::Failed if a file cannot be read.
Result<Config> readConfig(const std::string &path);

// Parses "section.key=VALUE" or "section.key=[A, B]" with a value in YAML.
Result<std::pair<std::string, ConfigValue>>
parseOverride(const std::string &text);

} // namespace dlc
