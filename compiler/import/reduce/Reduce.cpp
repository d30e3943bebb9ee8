// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/reduce/Reduce.h"
#include "compiler/import/reduce/ModelParts.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Files.h"
#include <algorithm>
#include <numeric>

namespace dlc::import {
namespace {

using FailsWith = std::function<Result<bool>(const std::vector<int> &)>;

/// Bounds of part `i` of `count` parts of almost equal length.
std::pair<size_t, size_t> boundsOfPart(size_t size, size_t i, size_t count) {
  return {size * i / count, size * (i + 1) / count};
}

/// The algorithm ddmin of A. Zeller and R. Hildebrandt, "Simplifying and
/// Isolating Failure-Inducing Input", IEEE Transactions on Software Engineering
/// 28(2), 2002: tests subsets and complements of ever finer partitions.
/// `failing` fails; the result fails too, but not without any one of its
/// elements. Makes at most about n^2 + 3n tests, usually n log n. Keeps the
/// order. An error of `fails` is returned.
Result<std::vector<int>> ddmin(std::vector<int> failing,
                               const FailsWith &fails) {
  size_t count = 2;
  while (failing.size() >= 2) {
    bool isReduced = false, complement = false;
    // The complement of a half is the other half, already tested.
    const size_t tests = count == 2 ? count : 2 * count;
    for (size_t i = 0; i < tests && !isReduced; ++i) {
      complement = i >= count;
      const auto [first, last] = boundsOfPart(failing.size(), i % count, count);
      const auto begin = failing.begin() + ptrdiff_t(first),
                 end = failing.begin() + ptrdiff_t(last);
      std::vector<int> part(begin, end);
      if (complement) {
        part.assign(failing.begin(), begin);
        part.insert(part.end(), end, failing.end());
      }
      DLC_ASSIGN(isReduced, fails(part));
      if (isReduced)
        failing = std::move(part);
    }
    if (isReduced)
      count = complement ? std::max<size_t>(count - 1, 2) : 2;
    else if (count >= failing.size())
      break;
    else
      count = std::min(2 * count, failing.size());
  }
  return failing;
}

class Reducer {
public:
  Reducer(const ModelParts &parts, const ModelFails &test,
          const OnSmaller &onSmaller, std::string folder)
      : parts(parts), test(test), onSmaller(onSmaller),
        path(std::move(folder) + "/model.onnx") {}

  Result<ModelReduction> run() {
    std::vector<int> all(size_t(parts.nodes()));
    std::iota(all.begin(), all.end(), 0);
    DLC_ASSIGN(const bool isFailing, fails(all));
    if (!isFailing)
      return failed("a copy of the model does not fail: it has the same nodes "
                    "and initializers, but no training information, no "
                    "annotations, no external files and no unused tensors");
    DLC_TRY(bisect(true));
    DLC_TRY(fails(parts.ancestors(smallest, smallest.back())).status());
    DLC_TRY(bisect(false));
    DLC_TRY(ddmin(smallest, [this](const std::vector<int> &nodes) {
              return fails(nodes);
            }).status());
    ModelReduction result{parts.nodes(), int(smallest.size()), tries, {}};
    for (const int node : smallest)
      result.labels.push_back(parts.labelOf(node));
    return result;
  }

private:
  /// Larger or tested subsets are answered without a test.
  Result<bool> fails(const std::vector<int> &nodes) {
    if (nodes.empty() || !asked.insert(nodes).second)
      return !nodes.empty() && nodes == smallest;
    DLC_ASSIGN(const auto model, parts.make(nodes));
    if (!model)
      return false;
    DLC_TRY(writeFileAtomically(path, *model));
    ++tries;
    DLC_ASSIGN(const bool isFailing, test(path));
    if (!isFailing)
      return false;
    smallest = nodes;
    DLC_TRY(onSmaller(*model, int(nodes.size())));
    return true;
  }

  /// Sets `smallest` to its shortest failing prefix (or suffix), assuming that
  /// failure is monotonic; else to some failing one.
  Status bisect(bool beginning) {
    const std::vector<int> whole = smallest;
    size_t fewest = 0, most = whole.size(); // fewest: does not fail
    while (most - fewest > 1) {
      const size_t count = fewest + (most - fewest) / 2;
      DLC_ASSIGN(const bool isFailing,
                 fails(beginning
                           ? std::vector<int>(whole.begin(),
                                              whole.begin() + ptrdiff_t(count))
                           : std::vector<int>(whole.end() - ptrdiff_t(count),
                                              whole.end())));
      (isFailing ? most : fewest) = count;
    }
    return {};
  }

  const ModelParts &parts;
  const ModelFails &test;
  const OnSmaller &onSmaller;
  const std::string path;
  std::set<std::vector<int>> asked;
  std::vector<int> smallest;
  int tries = 0;
};

} // namespace

Result<ModelReduction> reduceModel(const std::string &path,
                                   const std::map<std::string, int64_t> &dims,
                                   const ModelFails &fails,
                                   const OnSmaller &onSmaller) {
  DLC_ASSIGN(ModelParts parts, ModelParts::open(path));
  if (parts.nodes() == 0)
    return badModel("{}: no nodes to leave out", path);
  DLC_TRY(learnTypes(parts, dims));
  DLC_ASSIGN(const TemporaryFolder folder,
             TemporaryFolder::create("dlc-reduce"));
  return Reducer(parts, fails, onSmaller, folder.path()).run();
}

} // namespace dlc::import
