// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/parts/StateFiles.h"

#include "runtime/base/numbers/Checked.h"
#include "runtime/plan/Model.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fmt/ranges.h>

namespace fs = std::filesystem;

namespace dlc::plan {
namespace {

constexpr std::string_view kBefore = "state-", kBetween = "-of-",
                           kAfter = ".safetensors";
constexpr uint64_t kMostRanks = 99'999; // of five digits
constexpr char kFrozen[] = "dlc.frozen";

// Parses and removes leading digits of `text`.
std::optional<uint64_t> takeNumber(std::string_view &text) {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc())
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool take(std::string_view &text, std::string_view head) {
  if (!text.starts_with(head))
    return false;
  text.remove_prefix(head.size());
  return true;
}

// The number of parts in the name of one.
std::optional<uint64_t> partsIn(std::string_view name) {
  std::optional<uint64_t> ranks;
  if (take(name, kBefore) && takeNumber(name) && take(name, kBetween))
    ranks = takeNumber(name);
  return name == kAfter && ranks <= kMostRanks ? ranks : std::nullopt;
}

struct Slice {
  std::string tensor;
  uint64_t begin = 0, end = 0;
};

std::optional<Slice> sliceOf(const std::string &name) {
  const size_t bracket = name.rfind('[');
  if (bracket == name.npos)
    return std::nullopt;
  std::string_view rest = std::string_view(name).substr(bracket + 1);
  const auto begin = takeNumber(rest);
  const bool two = take(rest, ":");
  const auto end = takeNumber(rest);
  if (!begin || !two || !end || rest != "]")
    return std::nullopt;
  return Slice{name.substr(0, bracket), *begin, *end};
}

std::optional<std::vector<int64_t>> shapeIn(std::string_view text) {
  std::vector<int64_t> shape;
  while (!text.empty()) {
    const auto extent = takeNumber(text);
    if (!extent || *extent > INT64_MAX || !(text.empty() || take(text, ",")))
      return std::nullopt;
    shape.push_back(static_cast<int64_t>(*extent));
  }
  return shape;
}

} // namespace

std::string partName(int rank, int ranks) {
  return fmt::format("{}{:05}{}{:05}{}", kBefore, rank + 1, kBetween, ranks,
                     kAfter);
}

std::string sliceName(const std::string &tensor, uint64_t begin, uint64_t end) {
  return fmt::format("{}[{}:{}]", tensor, begin, end);
}

std::string extentsText(std::span<const int64_t> shape) {
  return fmt::format("{}", fmt::join(shape, ","));
}

void setFrozen(std::map<std::string, std::string> &metadata,
               const std::set<std::string> &names) {
  if (!names.empty())
    metadata[kFrozen] = dumpJson(Json(names));
}

Result<std::vector<std::string>> partsOf(const Json &manifest) {
  std::vector<std::string> parts;
  for (const auto &[name, entry] : manifest["files"].items()) {
    const auto ranks = partsIn(name);
    if (!ranks)
      continue;
    for (int rank = 0; rank < static_cast<int>(*ranks); ++rank) {
      parts.push_back(partName(rank, static_cast<int>(*ranks)));
      if (!manifest["files"].contains(parts.back()))
        return corrupt("it lists '{}', but no '{}'", name, parts.back());
    }
    return parts;
  }
  return parts;
}

Result<StateFiles> StateFiles::open(const std::string &path) {
  StateFiles state;
  std::vector<std::string> paths = {path};
  if (isFolder(path)) {
    DLC_ASSIGN(const Json manifest,
               readManifest(path, kCheckpointFormat, kCheckpointVersion));
    DLC_ASSIGN(paths, partsOf(manifest));
    for (std::string &part : paths)
      part = path + "/" + part;
  }
  for (const std::string &part : paths) {
    DLC_ASSIGN(SafetensorsFile file, SafetensorsFile::open(part));
    state.files_.push_back(std::move(file));
    DLC_TRY(
        state.add(state.files_.back()).withContext(fmt::format("'{}'", part)));
    const auto &metadata = state.files_.back().metadata();
    if (const auto names = metadata.find(kFrozen); names != metadata.end())
      DLC_TRY(state.addFrozen(part, std::string(names->second))
                  .withContext(fmt::format("'{}'", part)));
  }
  DLC_TRY(state.check().withContext(fmt::format("'{}'", path)));
  return state;
}

Status StateFiles::add(const SafetensorsFile &file) {
  for (const NamedTensor &found : file.tensors()) {
    std::string name = found.name;
    std::vector<int64_t> shape = found.shape;
    uint64_t first = 0;
    const auto slice = sliceOf(name);
    const auto whole = file.metadata().find(name);
    if (slice && whole != file.metadata().end()) {
      const auto known = shapeIn(whole->second);
      const auto begin = checkedMul(slice->begin, sizeOf(found.dtype));
      if (!known || !begin)
        return corrupt("'{}' of shape '{}' is no part of a tensor", name,
                       whole->second);
      name = slice->tensor;
      shape = *known;
      first = *begin;
    }
    auto [at, isNew] =
        tensors_.try_emplace(name, Tensor{found.dtype, shape, {}});
    Tensor &tensor = at->second;
    if (tensor.dtype != found.dtype || tensor.shape != shape ||
        !tensor.pieces.emplace(first, found).second)
      return corrupt("'{}' contradicts another part of '{}'", found.name, name);
  }
  return {};
}

Status StateFiles::addFrozen(const std::string &path,
                             const std::string &names) {
  std::error_code ignored;
  const fs::path run =
      fs::weakly_canonical(path, ignored).parent_path().parent_path();
  const std::string from = (run / "model.dlc" / "state.safetensors").string();
  if (!exists(from))
    return failed("its frozen tensors are in the run's artifact, but there is "
                  "no '{}': keep the checkpoint in its run, or export it",
                  from);
  DLC_ASSIGN(const Json list, parseJson(names));
  DLC_ASSIGN(SafetensorsFile file, SafetensorsFile::open(from));
  files_.push_back(std::move(file));
  for (const Json &name : list) {
    const NamedTensor *found = name.is_string()
                                   ? files_.back().find(name.get<std::string>())
                                   : nullptr;
    if (!found)
      return corrupt("'{}' has no tensor {}, which '{}' lists", from,
                     dumpJson(name), kFrozen);
    if (!tensors_
             .emplace(found->name,
                      Tensor{found->dtype, found->shape, {{0, *found}}})
             .second)
      return corrupt("tensor '{}' is in '{}', too", found->name, from);
  }
  return {};
}

// Checks that pieces are consecutive, from the first byte to the last.
Status StateFiles::check() const {
  for (const auto &[name, tensor] : tensors_) {
    uint64_t next = 0;
    for (const auto &[first, piece] : tensor.pieces) {
      if (first != next)
        return corrupt("bytes from {} on of tensor '{}' are {} part",
                       std::min(first, next), name,
                       first > next ? "in no" : "in more than one");
      next += piece.bytes;
    }
    std::optional<uint64_t> bytes = checkedElements(tensor.shape);
    bytes = bytes ? checkedMul(*bytes, sizeOf(tensor.dtype)) : bytes;
    if (bytes != next)
      return corrupt("parts of tensor '{}' have {} bytes, expected what its "
                     "shape and dtype need",
                     name, next);
  }
  return {};
}

std::vector<std::string> StateFiles::names() const {
  std::vector<std::string> names;
  for (const auto &[name, tensor] : tensors_)
    names.push_back(name);
  return names;
}

std::optional<NamedTensor>
StateFiles::find(const std::string &name, std::vector<std::byte> &copy) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    return std::nullopt;
  const Tensor &tensor = found->second;
  NamedTensor whole = tensor.pieces.begin()->second;
  if (tensor.pieces.size() > 1) {
    const auto &[first, last] = *tensor.pieces.rbegin();
    copy.resize(first + last.bytes);
    for (const auto &[at, piece] : tensor.pieces)
      std::memcpy(copy.data() + at, piece.data, piece.bytes);
    whole.data = copy.data();
    whole.bytes = copy.size();
  }
  whole.name = name;
  whole.shape = tensor.shape;
  return whole;
}

} // namespace dlc::plan
