// SPDX-License-Identifier: Apache-2.0
// Libraries with user-defined operators, through the interface of
// runtime/plan/ops/dlc_op.h.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/process/SharedLibrary.h"
#include "runtime/plan/KernelFiles.h"
#include "runtime/plan/ops/dlc_op.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// Runs the library's code, which is never unloaded, since it may have threads
// and exit handlers. Copies share the library.
class OpLibrary {
public:
  // Loads a library, called `name` in errors, from its bytes, once per process.
  // Incompatible if it is not an operator library, has another version or has
  // an incomplete table. Thread-safe.
  static Result<OpLibrary> load(std::string_view bytes, std::string name);

  std::span<const dlc_op> ops() const {
    return {table_->ops, table_->op_count};
  }
  // Null if it does not have that operator.
  const dlc_op *find(std::string_view domain, std::string_view name) const;
  const std::string &name() const { return name_; }

private:
  std::string name_;
  const dlc_op_library *table_ = nullptr;
};

// The operator's code for a device of that name, or null.
const dlc_op_code *codeFor(const dlc_op &op, std::string_view device);

// A call of an operator, which owns everything it points to.
class OpCall {
public:
  // `attributes`: the text from attributesText(); Corrupt for other texts.
  static Result<OpCall> make(std::string_view attributes);

  std::vector<dlc_op_tensor> inputs, outputs;

  // Failed, with the function's message, if it does not return 0; `what` names
  // the call in errors. Does not allocate except for errors.
  Status run(dlc_op_function function, std::string_view what,
             void *stream = nullptr);

private:
  struct Attribute {
    std::string name, text;
    std::vector<int64_t> integers;
    std::vector<double> numbers;
    bool isText = false, isInteger = false;
  };

  std::vector<Attribute> kept_;
  std::vector<dlc_op_attribute> attributes_;
};

// The attributes of a node by name: texts, numbers and lists of numbers.
//   {"alpha": [0.5], "mode": "wrap", "pads": [1, 1]}
using OpAttributes =
    std::map<std::string, std::variant<std::string, std::vector<int64_t>,
                                       std::vector<double>>>;
std::string attributesText(const OpAttributes &attributes);

// The libraries of an artifact, each loaded on first use.
class OpLibraries {
public:
  void setFiles(KernelFiles files) { files_ = std::move(files); }
  // Corrupt if the artifact has no such file.
  Result<const OpLibrary *> get(const std::string &file);

private:
  KernelFiles files_;
  std::map<std::string, OpLibrary> loaded_;
};

} // namespace dlc
