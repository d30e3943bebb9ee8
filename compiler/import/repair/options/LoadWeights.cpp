// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/repair/Repair.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/roles/Roles.h"
#include "compiler/import/tensor/HostTensor.h"
#include "compiler/import/tensor/WeightStore.h"
#include "runtime/base/options/Pattern.h"
#include "runtime/plan/StateNames.h"
#include "runtime/plan/parts/StateFiles.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <unordered_set>

namespace dlc::import {
namespace {

struct Prefix {
  std::string text; // "module."
  bool added = false;
  auto operator<=>(const Prefix &) const = default;
};

/// Calls `visit` with each module prefix of a name and the rest of it.
template <typename Visit> void forSplits(const std::string &name, Visit visit) {
  for (size_t dot = name.find('.'); dot != std::string::npos;
       dot = name.find('.', dot + 1))
    visit(name.substr(0, dot + 1), name.substr(dot + 1));
}

/// Number of matching names for each prefix.
std::map<Prefix, size_t>
countPrefixes(const std::set<std::string> &wanted,
              const std::map<std::string, Weight> &given) {
  std::map<Prefix, size_t> counts;
  for (const auto &[name, weight] : given)
    forSplits(name, [&](const std::string &prefix, const std::string &rest) {
      if (wanted.count(rest))
        ++counts[{prefix, false}];
    });
  for (const std::string &name : wanted)
    forSplits(name, [&](const std::string &prefix, const std::string &rest) {
      if (given.count(rest))
        ++counts[{prefix, true}];
    });
  return counts;
}

std::string renamed(const Prefix &prefix,
                    std::map<std::string, Weight> &given) {
  std::map<std::string, Weight> others;
  for (const auto &[name, weight] : given) {
    const bool has = name.starts_with(prefix.text);
    const std::string other = prefix.added ? prefix.text + name
                              : has        ? name.substr(prefix.text.size())
                                           : name;
    if (!others.emplace(other, weight).second)
      return ""; // ambiguous
  }
  given = std::move(others);
  return prefix.added
             ? fmt::format(", '{}' put before the file's names", prefix.text)
             : fmt::format(", '{}' left out of the file's names", prefix.text);
}

/// Adds a prefix ("module.", "model.") to the names of `given`, or removes one,
/// if that makes more of them equal to names of `wanted`, and no other prefix
/// matches as many. Returns a message about the change, or "". Linear in the
/// total length of the names.
std::string alignPrefix(const std::set<std::string> &wanted,
                        std::map<std::string, Weight> &given) {
  const auto agreed = size_t(std::ranges::count_if(
      wanted, [&](auto &name) { return given.count(name) > 0; }));
  size_t most = agreed;
  std::vector<Prefix> best;
  for (const auto &[prefix, count] : countPrefixes(wanted, given)) {
    if (count > most)
      best.clear();
    if (count > agreed && count >= most) {
      best.push_back(prefix);
      most = count;
    }
  }
  if (best.size() > 1)
    return fmt::format(", several prefixes fit as well ('{}' and '{}'), none "
                       "was taken",
                       best[0].text, best[1].text);
  return best.empty() ? "" : renamed(best[0], given);
}

/// Trained tensors, and those that are constant only because of their values.
bool isWeight(const Found &found) {
  return found.role != Role::Constant || found.doubt == RoleDoubt::Values;
}

/// Counters, and other module state that is not a weight, by usual names.
bool isNoWeight(const std::string &name, DType dtype) {
  static const Pattern buffer = *Pattern::parse(
      "(^|\\.)(num_batches_tracked|(original_)?inv_freq|(sin|cos)_cached|"
      "masked_bias|attn_mask|causal_mask|position_ids|relative_coords_table|"
      "relative_position_index)$");
  return !isFloat(dtype) || buffer.search(name);
}

/// The tensors that a file offers. They live as long as `holder`.
struct Offer {
  std::map<std::string, Weight> tensors;
  std::shared_ptr<const void> holder;
  std::vector<std::string> ignored;
};

Result<Offer> openSafetensors(const std::string &path) {
  if (isFolder(path)) // StateFiles would read a checkpoint
    return failed("'{}' is a folder, expected a file", path);
  DLC_ASSIGN(plan::StateFiles opened, plan::StateFiles::open(path));
  auto file = std::make_shared<plan::StateFiles>(std::move(opened));
  Offer offer{{}, file, {}};
  for (const std::string &key : file->names()) {
    std::vector<std::byte> copy; // for parts in several files
    const NamedTensor t = *file->find(key, copy);
    const std::string name = plan::modelName(key);
    if (isNoWeight(name, t.dtype))
      offer.ignored.push_back(name);
    else
      offer.tensors[name] = {t.dtype, t.shape, t.data, t.bytes};
  }
  return offer;
}

Result<Offer> openOnnx(const std::string &path, const Budget &budget) {
  DLC_ASSIGN(OnnxFile opened, loadRepaired(path, budget));
  DLC_ASSIGN(auto roles, findRoles(opened, {}));
  auto file = std::make_shared<OnnxFile>(std::move(opened));
  Offer offer{{}, file, {}};
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

bool isTransposed(const std::vector<int64_t> &a,
                  const std::vector<int64_t> &b) {
  return a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
}

class Loader {
public:
  Loader(OnnxFile &file, const std::string &path, bool partial,
         const std::vector<std::string> &except, Offer offer,
         std::map<std::string, Found> roles)
      : file(file), path(path), partial(partial), except(except),
        offer(std::move(offer)), roles(std::move(roles)) {
    for (const Replaced &r : file.replaced)
      if (r.pieces.size() == 1)
        fileNames[r.pieces[0].tensor].push_back(&r);
    for (const auto &[alias, name] : file.aliases)
      aliases[name].push_back(alias);
  }

  Result<int> run() {
    std::set<std::string> names;
    for (const auto &[name, role] : roles)
      if (isWeight(role) && !isKept(name))
        names.insert(name);
    prefix = alignPrefix(names, offer.tensors);
    isUnfolded = hasUnknownStatistics();
    for (const std::string &name : names)
      load(name);
    for (const auto &[name, weight] : offer.tensors)
      if (!used.count(name) && !isKept(name))
        judge(name, weight);
    return report();
  }

private:
  bool isKept(const std::string &name) const {
    return std::ranges::count(except, name) > 0;
  }

  bool hasUnknownStatistics() const {
    return std::ranges::any_of(offer.tensors, [&](const auto &entry) {
      return entry.first.ends_with("running_var") && !roles.count(entry.first);
    });
  }

  void load(const std::string &name) {
    if (isUnfolded && file.foldedNorms.count(name)) {
      used.insert(name);
      normed.push_back(name);
      return;
    }
    const Weight &own = *file.weights.find(name);
    auto given = find(name);
    if (!given && !isCut(name))
      missing.push_back(name);
    if (!given)
      return;
    if (given->shape != own.shape)
      return mismatch(name, *given, own);
    take(name, *given);
    ++matched;
  }

  /// The file has the whole table of which the model has rows.
  bool isCut(const std::string &name) {
    auto table = file.cutFrom.find(name);
    if (table == file.cutFrom.end() || !offer.tensors.count(table->second))
      return false;
    used.insert(table->second);
    cut.push_back(fmt::format("{} of {}", name, table->second));
    return true;
  }

  void mismatch(const std::string &name, const Weight &given,
                const Weight &own) {
    mismatched.push_back(fmt::format(
        "{} [{}], expected [{}]{}", name, fmt::join(given.shape, ", "),
        fmt::join(own.shape, ", "),
        isTransposed(given.shape, own.shape)
            ? ", the transpose: the model's file does not say that it is a "
              "module's weight; --names=FILE may find that"
            : ""));
  }

  /// Looks up the name, its aliases in the source, and the names that the
  /// model's file has for it, in their layout.
  std::optional<Weight> find(const std::string &name) {
    auto direct = [&](const std::string &key) -> std::optional<Weight> {
      auto it = offer.tensors.find(key);
      if (it == offer.tensors.end())
        return std::nullopt;
      used.insert(key);
      return it->second;
    };
    if (auto found = direct(name))
      return found;
    for (const std::string &alias : aliases[name])
      if (auto found = direct(alias))
        return found;
    for (const Replaced *replaced : fileNames[name])
      if (auto it = offer.tensors.find(replaced->name);
          it != offer.tensors.end())
        if (auto found = rearranged(*replaced, it->second)) {
          used.insert(replaced->name);
          return found;
        }
    return std::nullopt;
  }

  /// Converts a tensor of the file to the program's layout.
  std::optional<Weight> rearranged(const Replaced &replaced,
                                   const Weight &given) {
    if (given.shape != replaced.shape)
      return std::nullopt;
    Replaced back{replaced.name, 0, replaced.from, replaced.shape, {}, {}, {}};
    back.pieces.push_back({replaced.name, 0, given.elements(), {}});
    back.perm.resize(replaced.perm.size());
    for (size_t d = 0; d < replaced.perm.size(); ++d)
      back.perm[size_t(replaced.perm[d])] = int64_t(d);
    auto contents =
        gather(back, [&](const std::string &) { return std::optional(given); });
    if (!contents.ok())
      return std::nullopt;
    return file.weights.kept(given.dtype, back.shape,
                             std::move(contents->bytes));
  }

  void take(const std::string &name, const Weight &from) {
    taken.push_back(from);
    DType to = file.weights.find(name)->dtype;
    if (from.dtype == to)
      return file.weights.add(name, from);
    file.weights.own(name, to, from.shape, convertedBytes(from, to));
  }

  /// Classifies a tensor of the file that is not a weight of the model.
  void judge(const std::string &name, const Weight &given) {
    auto role = roles.find(name);
    const Weight *own = file.weights.find(name);
    if (role != roles.end() && !isWeight(role->second) && isFloat(own->dtype)) {
      if (given.shape != own->shape)
        return mismatch(name, given, *own);
      return take(name, given); // not trained, but the model's
    }
    (isTaken(given) ? tied : unknown).push_back(name);
  }

  /// The values were loaded under another name, and are not a mere constant.
  bool isTaken(const Weight &given) {
    if (given.elements() < 8 || isSplat(given))
      return false;
    while (!taken.empty()) {
      contents.insert(hashOf(taken.back()));
      taken.pop_back();
    }
    return contents.count(hashOf(given)) > 0;
  }

  static uint64_t hashOf(const Weight &weight) {
    uint64_t hash = llvm::xxh3_64bits(weight.view());
    for (int64_t dim : weight.shape)
      hash = hash * 31 + uint64_t(dim);
    return hash;
  }

  Result<int> report() const {
    const std::string lists =
        listedBelow("missing in the file", missing) +
        listedBelow("unknown to the model", unknown) +
        listedBelow("of another shape", mismatched) +
        listedBelow("cut from the file's tensors when the model was exported "
                    "(--names=FILE, with the weights that it was exported "
                    "with, finds their rows)",
                    cut) +
        listedBelow("left alone, as the model's file has batch norms folded "
                    "into them that this one has apart (--unfold-bn, or export "
                    "the model in training form, or with optimize=False)",
                    normed);
    std::string summary = fmt::format(
        "weights of {}: {} matched{}{}{}{}", path, matched, prefix, lists,
        listedBelow("the same as others (tied)", tied),
        listedBelow("ignored, as they are no weights", offer.ignored));
    if (!lists.empty() && !partial)
      return badModel("{}\n  --weights-partial takes those that match",
                      summary);
    if (!matched)
      return badModel("{}; no name of the file is in the model", summary);
    file.remarks.push_back({std::move(summary)});
    return int(matched);
  }

  OnnxFile &file;
  const std::string &path;
  const bool partial;
  const std::vector<std::string> &except;
  Offer offer;
  std::map<std::string, Found> roles;
  std::string prefix;      // message about the changed prefix
  bool isUnfolded = false; // the source has batch norms that the model lacks
  size_t matched = 0;
  std::vector<std::string> missing, unknown, mismatched, normed, tied, cut;
  std::set<std::string> used;
  std::vector<Weight> taken;             // not yet hashed
  std::unordered_set<uint64_t> contents; // of loaded tensors
  std::map<std::string, std::vector<std::string>> aliases;
  std::map<std::string, std::vector<const Replaced *>> fileNames;
};

} // namespace

Result<int> loadWeights(OnnxFile &file, const std::string &path, bool partial,
                        const std::vector<std::string> &except) {
  DLC_ASSIGN(Offer offer, open(path, file.budget));
  DLC_ASSIGN(auto roles, findRoles(file, {}));
  file.weights.keep(offer.holder);
  return Loader(file, path, partial, except, std::move(offer), std::move(roles))
      .run();
}

} // namespace dlc::import
