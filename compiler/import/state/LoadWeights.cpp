#include "compiler/import/state/LoadWeights.h"
#include "compiler/import/restore/Restore.h"
#include "compiler/import/tensor/HostTensor.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/plan/StateNames.h"
#include <fmt/ranges.h>

namespace dlc::import {
namespace {

constexpr size_t kMostNames = 8; // of a list in a message

/// Files have what is trained, and what only its values keep from it.
bool isWeight(const Found &found) {
  return found.role != Role::Constant || found.byValue;
}

/// The tensors that a file offers. They live as long as `holder`.
struct Offer {
  std::map<std::string, Weight> tensors;
  std::shared_ptr<const void> holder;
};

Result<Offer> openSafetensors(const std::string &path) {
  DLC_ASSIGN(SafetensorsFile opened, SafetensorsFile::open(path));
  auto file = std::make_shared<SafetensorsFile>(std::move(opened));
  Offer offer{{}, file};
  for (const NamedTensor &t : file->tensors())
    if (isFloat(t.dtype))
      offer.tensors[plan::modelName(t.name)] = {t.dtype, t.shape, t.data,
                                                t.bytes};
  return offer;
}

Result<Offer> openOnnx(const std::string &path, const Budget &budget) {
  DLC_ASSIGN(OnnxFile opened, loadRestored(path, budget));
  DLC_ASSIGN(auto roles, findRoles(opened, {}));
  auto file = std::make_shared<OnnxFile>(std::move(opened));
  Offer offer{{}, file};
  for (const auto &[name, weight] : file->weights.all())
    if (isWeight(roles[name]))
      offer.tensors[name] = weight;
  return offer;
}

Result<Offer> open(const std::string &path, const Budget &budget) {
  if (path.ends_with(".safetensors"))
    return openSafetensors(path);
  if (path.ends_with(".onnx"))
    return openOnnx(path, budget);
  return usageError("--weights: expected a .safetensors or .onnx file, found "
                    "'{}'",
                    path);
}

std::string list(const char *what, const std::vector<std::string> &names) {
  if (names.empty())
    return "";
  size_t shown = std::min(names.size(), kMostNames);
  std::string text = fmt::format(
      "\n  {} {}: {}", names.size(), what,
      fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "));
  return shown < names.size()
             ? text + fmt::format(" and {} more", names.size() - shown)
             : text;
}

void take(OnnxFile &file, const std::string &name, const Weight &from) {
  DType to = file.weights.find(name)->dtype;
  if (from.dtype == to)
    return file.weights.add(name, from);
  file.weights.own(name, to, from.shape, convertedBytes(from, to));
}

} // namespace

Result<std::string> loadWeights(OnnxFile &file, const WeightsSource &source) {
  DLC_ASSIGN(Offer offer, open(source.path, file.budget));
  DLC_ASSIGN(auto roles, findRoles(file, {}));
  file.weights.keep(offer.holder);
  std::vector<std::string> missing, unknown, mismatched;
  size_t matched = 0;
  for (const auto &[name, role] : roles) {
    if (!isWeight(role) || source.except.count(name))
      continue;
    const Weight &own = *file.weights.find(name);
    auto given = offer.tensors.find(name);
    if (given == offer.tensors.end()) {
      missing.push_back(name);
    } else if (given->second.shape != own.shape) {
      mismatched.push_back(fmt::format("{} [{}], expected [{}]", name,
                                       fmt::join(given->second.shape, ", "),
                                       fmt::join(own.shape, ", ")));
    } else {
      take(file, name, given->second);
      ++matched;
    }
  }
  for (const auto &[name, weight] : offer.tensors) {
    auto role = roles.find(name);
    if ((role == roles.end() || !isWeight(role->second)) &&
        !source.except.count(name))
      unknown.push_back(name);
  }
  std::string lists = list("missing in the file", missing) +
                      list("unknown to the model", unknown) +
                      list("of another shape", mismatched);
  std::string summary =
      fmt::format("weights of {}: {} matched{}", source.path, matched, lists);
  if (!lists.empty() && !source.partial)
    return badModel("{}\n  --weights-partial takes those that match", summary);
  if (!matched)
    return badModel("{}; no name is the model's", summary);
  return summary;
}

} // namespace dlc::import
