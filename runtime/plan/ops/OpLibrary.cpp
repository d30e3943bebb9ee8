// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/ops/OpLibrary.h"

#include "runtime/base/Json.h"
#include "runtime/base/numbers/Hash.h"

#include <algorithm>
#include <array>
#include <mutex>

namespace dlc {

static Status checkOp(const dlc_op &op, const std::string &library) {
  if (!op.domain || !op.name || !*op.domain || !*op.name)
    return incompatible("{}: an operator in it has no domain or no name",
                        library);
  auto lacks = [&](std::string_view what) {
    return incompatible("{}: operator '{}.{}' has no {}", library, op.domain,
                        op.name, what);
  };
  if (!op.shapes)
    return lacks("function `shapes`");
  if (!op.codes || !op.code_count)
    return lacks("code for any device");
  for (const dlc_op_code &code : std::span(op.codes, op.code_count))
    if (!code.device || !code.forward)
      return lacks("`device` or `forward` in one of its codes");
  return {};
}

// Libraries of the process, one per content.
static Result<const PrivateLibrary *> keep(std::string_view bytes,
                                           const std::string &name) {
  static std::mutex mutex;
  static auto &kept = *new std::map<std::string, PrivateLibrary>;
  const std::string hash = sha256(std::as_bytes(std::span(bytes)));
  std::lock_guard lock(mutex);
  auto known = kept.find(hash);
  if (known == kept.end()) {
    DLC_ASSIGN(PrivateLibrary library, PrivateLibrary::load(bytes, name));
    known = kept.emplace(hash, std::move(library)).first;
  }
  return &known->second;
}

Result<OpLibrary> OpLibrary::load(std::string_view bytes, std::string name) {
  OpLibrary result;
  DLC_ASSIGN(const PrivateLibrary *library, keep(bytes, name));
  result.name_ = std::move(name);
  const std::string &label = result.name();
  auto table = reinterpret_cast<const dlc_op_library *(*)()>(
      library->find(DLC_OP_LIBRARY));
  if (!table)
    return incompatible("{}: expected a library of operators, which has the "
                        "function {} of runtime/plan/ops/dlc_op.h",
                        label, DLC_OP_LIBRARY);
  result.table_ = table();
  if (!result.table_ || result.table_->version != DLC_OP_VERSION)
    return incompatible(
        "{}: made for version {} of runtime/plan/ops/dlc_op.h, expected "
        "{}",
        label, result.table_ ? result.table_->version : 0, DLC_OP_VERSION);
  if (!result.table_->ops || !result.table_->op_count)
    return incompatible("{}: has no operators", label);
  for (const dlc_op &op : result.ops())
    DLC_TRY(checkOp(op, label));
  return result;
}

const dlc_op *OpLibrary::find(std::string_view domain,
                              std::string_view name) const {
  for (const dlc_op &op : ops())
    if (op.domain == domain && op.name == name)
      return &op;
  return nullptr;
}

const dlc_op_code *codeFor(const dlc_op &op, std::string_view device) {
  for (const dlc_op_code &code : std::span(op.codes, op.code_count))
    if (code.device == device)
      return &code;
  return nullptr;
}

std::string attributesText(const OpAttributes &attributes) {
  Json text = Json::object();
  for (const auto &[name, value] : attributes)
    std::visit([&](const auto &v) { text[name] = v; }, value);
  return dumpJson(text);
}

Result<OpCall> OpCall::make(std::string_view attributes) {
  DLC_ASSIGN(const Json json, parseJson(attributes));
  OpCall call;
  auto wrong = [&](const std::string &name) {
    return corrupt("attribute '{}': expected a text or a list of numbers",
                   name);
  };
  if (!json.is_object())
    return corrupt("expected attributes by name, found {}", json.type_name());
  for (const auto &[name, value] : json.items()) {
    Attribute &kept = call.kept_.emplace_back();
    kept.name = name;
    if (value.is_string()) {
      kept.isText = true;
      kept.text = value.get<std::string>();
      continue;
    }
    if (!value.is_array())
      return wrong(name);
    auto isInteger = [](const Json &v) { return v.is_number_integer(); };
    auto isNumber = [](const Json &v) { return v.is_number(); };
    if (!std::all_of(value.begin(), value.end(), isNumber))
      return wrong(name);
    kept.isInteger = std::all_of(value.begin(), value.end(), isInteger);
    kept.numbers = value.get<std::vector<double>>();
    if (kept.isInteger)
      kept.integers = value.get<std::vector<int64_t>>();
  }
  return call;
}

Status OpCall::run(dlc_op_function function, std::string_view what,
                   void *stream) {
  attributes_.clear();
  for (const Attribute &a : kept_)
    attributes_.push_back({a.name.c_str(), a.isText ? 0 : a.numbers.size(),
                           a.isInteger ? a.integers.data() : nullptr,
                           a.isText ? nullptr : a.numbers.data(),
                           a.isText ? a.text.c_str() : nullptr});
  std::array<char, 512> error{};
  const dlc_op_call call{inputs.data(),  inputs.size(),      outputs.data(),
                         outputs.size(), attributes_.data(), attributes_.size(),
                         stream,         error.data(),       error.size()};
  const int result = function(&call);
  if (result == 0)
    return {};
  error.back() = 0;
  return failed("{}: {}", what,
                error[0] ? error.data()
                         : fmt::format("its library returned {}", result));
}

Result<const OpLibrary *> OpLibraries::get(const std::string &file) {
  auto known = loaded_.find(file);
  if (known != loaded_.end())
    return &known->second;
  if (!files_.has(file))
    return corrupt("no library of operators '{}' in the artifact", file);
  DLC_ASSIGN(const std::string bytes, files_.read(file));
  DLC_ASSIGN(OpLibrary library,
             OpLibrary::load(bytes, files_.path() + "/" + file));
  return &loaded_.emplace(file, std::move(library)).first->second;
}

} // namespace dlc
