// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/Fit.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/plan/Types.h"
#include "runtime/train/session/Inputs.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>

namespace dlc {
namespace {

InputSpec specOf(const plan::Plan &plan, const plan::Program &program,
                 const plan::Port &port) {
  const plan::TensorType &type = portType(program, port);
  InputSpec spec;
  spec.key = port.name();
  spec.dtype = *plan::dtypeOf(type.dtype());
  spec.shape = batchShape(plan, program, port);
  spec.limit = port.limit();
  spec.isLabel = isLabel(plan, port.name());
  // A loss may look up a weight per label, but -1 is still not a class.
  spec.fromEnd = port.from_end() && !spec.isLabel;
  spec.isShared = isShared(plan, program, port);
  spec.isWeight = port.name() == plan::kSampleWeight;
  return spec;
}

// The only input may be called x, the only labels y.
void rename(std::vector<InputSpec> &specs, bool labels, const char *name,
            const Source &source) {
  auto isOne = [&](const InputSpec &spec) {
    return spec.isLabel == labels && !spec.isWeight;
  };
  auto only = std::ranges::find_if(specs, isOne);
  if (std::ranges::count_if(specs, isOne) == 1 &&
      (source.has(name) || !source.has(only->key)))
    only->key = name;
}

} // namespace

std::vector<InputSpec> specsOf(const plan::Plan &plan,
                               const plan::Program &program,
                               const Source &source) {
  std::vector<InputSpec> specs;
  for (const plan::Port &port : program.inputs())
    specs.push_back(specOf(plan, program, port));
  rename(specs, false, "x", source);
  rename(specs, true, "y", source);
  return specs;
}

namespace {

constexpr const char *kKinds[] = {"train_step", "eval_step", "predict"};

// Only compares shapes; other errors are reported when the data is opened.
bool fits(const Array &array, const InputSpec &spec, int64_t batch,
          const SampleOptions &options) {
  if (spec.isShared)
    return array.shape == spec.shape;
  if (array.shape.empty())
    return false;
  if (!spec.isLabel)
    return sampleShape(array.shape) == sampleShape(spec.shape);
  if (becomesShares(array, spec, batch, options))
    return true;
  return checkedElements(sampleShape(array.shape)).value_or(0) ==
         checkedElements(spec.shape).value_or(0) / uint64_t(batch);
}

// Shape of a sample, or of a shared array: "[128]".
std::string shapeText(const InputSpec &spec, int64_t batch) {
  if (spec.isShared)
    return fmt::format("[{}] for all", fmt::join(spec.shape, ", "));
  std::vector<int64_t> shape = sampleShape(spec.shape);
  // Only the number of a label's entries matters: rows have one dimension.
  if (const int64_t rows = spec.shape.empty() ? 1 : spec.shape[0] / batch;
      spec.isLabel && rows > 1)
    shape.insert(shape.begin(), rows);
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// The sample shape that the program expects, for an array of rank `rank`;
// labels are flattened unless they have axes. nullopt if the ranks differ.
std::optional<std::vector<int64_t>> axesOf(const InputSpec &spec, int64_t batch,
                                           size_t rank) {
  std::vector<int64_t> axes = sampleShape(spec.shape);
  if (spec.isLabel && axes.size() != rank)
    axes = {int64_t(checkedElements(spec.shape).value_or(0)) / batch};
  return axes.size() == rank ? std::optional(axes) : std::nullopt;
}

// The padded shape of a sample; nullopt if padding does not make it fit.
std::optional<std::vector<int64_t>> grown(const Array &array,
                                          const InputSpec &spec, int64_t batch,
                                          const SampleOptions &options) {
  if (spec.isShared || array.shape.empty() ||
      becomesShares(array, spec, batch, options))
    return {};
  const std::vector<int64_t> found = sampleShape(array.shape);
  auto axes = axesOf(spec, batch, found.size());
  for (size_t i = 0; axes && i < found.size(); ++i)
    if (found[i] > (*axes)[i])
      return {};
  return axes;
}

const InputPadding *padOf(const SampleOptions &options, const InputSpec &spec,
                          const plan::Port &port) {
  for (const InputPadding &pad : options.pads)
    if (pad.input == spec.key || pad.input == port.name())
      return &pad;
  return nullptr;
}

// A source's arrays compared with one size.
struct Trial {
  int size = 0;
  std::vector<InputSpec> specs;
  std::vector<Array> heads;
  bool fits = true; // without or with `paddings`
  std::vector<Padding> paddings;
  std::vector<std::string> lack; // need padding, but have no value
  bool isTooLong = false;        // an array exceeds the size
  uint64_t filled = 0;           // padding elements of a sample
};

Result<Trial> tryTo(const Source &source, const plan::Plan &plan,
                    const plan::Program &program,
                    const SampleOptions &options) {
  Trial trial;
  trial.size = int(program.size());
  const int64_t batch = plan::batchOf(plan, trial.size);
  trial.specs = specsOf(plan, program, source);
  for (size_t i = 0; i < trial.specs.size(); ++i) {
    const InputSpec &spec = trial.specs[i];
    if (spec.isWeight) { // has no array
      trial.heads.emplace_back();
      continue;
    }
    DLC_ASSIGN(trial.heads.emplace_back(), source.head(spec.key));
    if (fits(trial.heads.back(), spec, batch, options))
      continue;
    const auto shape = grown(trial.heads.back(), spec, batch, options);
    const InputPadding *pad = padOf(options, spec, program.inputs(int(i)));
    trial.fits &= shape && pad;
    trial.isTooLong |= !shape;
    if (shape && !pad)
      trial.lack.push_back(spec.key);
    if (!shape || !pad)
      continue;
    trial.paddings.push_back({spec.key, *shape, pad->value});
    trial.filled += checkedElements(*shape).value_or(0);
  }
  return trial;
}

// Axes that are equal within every size, but differ between sizes, are one
// length, which must also be the same in all arrays of a sample.
Status checkLengths(const plan::Plan &plan, std::string_view kind,
                    const Trial &trial) {
  struct Axis {
    std::string key;
    int64_t found;
  };
  std::map<std::vector<int64_t>, Axis> lengths; // by the lengths in all sizes
  for (size_t i = 0; i < trial.specs.size(); ++i) {
    const std::vector<int64_t> found = sampleShape(trial.heads[i].shape);
    if (trial.specs[i].isShared || trial.specs[i].isWeight)
      continue;
    for (size_t axis = 0; axis < found.size(); ++axis) {
      std::vector<int64_t> sizes;
      for (int size = 0; size < plan::countSizes(plan); ++size) {
        const plan::Program &program = *plan::findProgram(plan, kind, size);
        InputSpec spec = trial.specs[i];
        spec.shape = batchShape(plan, program, program.inputs(int(i)));
        if (const auto axes =
                axesOf(spec, plan::batchOf(plan, size), found.size()))
          sizes.push_back((*axes)[axis]);
      }
      if (std::ranges::count(sizes, sizes.front()) == std::ssize(sizes))
        continue;
      const auto [known, isNew] =
          lengths.try_emplace(sizes, Axis{trial.specs[i].key, found[axis]});
      if (known->second.found != found[axis])
        return failed("samples of '{}' have length {}, but those of '{}' {}: "
                      "expected the same of both",
                      known->second.key, known->second.found,
                      trial.specs[i].key, found[axis]);
    }
  }
  return {};
}

// Description of the samples: "'x' is f32 [3, 32, 32], 'y' is i64 []".
std::string foundText(const Trial &trial) {
  std::string text;
  for (size_t i = 0; i < trial.specs.size(); ++i)
    if (!trial.specs[i].isWeight)
      text += fmt::format("{}'{}' is {}", text.empty() ? "" : ", ",
                          trial.specs[i].key,
                          describe(trial.heads[i].dtype, trial.heads[i].shape));
  return text;
}

// Adds a line about batches of this size, unless an equal one exists.
void addExpected(const Trial &trial, const plan::Plan &plan, int size,
                 std::string &lines) {
  const int64_t batch = plan::batchOf(plan, size);
  const std::string text =
      joined(trial.specs, ", ", [&](const InputSpec &spec) {
        return spec.isWeight
                   ? ""
                   : fmt::format("'{}' {}", spec.key, shapeText(spec, batch));
      });
  if (plan::countSizes(plan) > 1 && lines.find(text) == std::string::npos)
    lines += fmt::format("\n  {}: {}", plan::nameOf(plan.sizes(size)), text);
}

std::string helpFor(const std::vector<std::string> &lack) {
  return lack.empty()
             ? "\ncut longer samples, or compile the model for them (--dim)"
             : fmt::format(
                   "\npad them by --pad={}:NUMBER, or compile the model "
                   "for them (--dim)",
                   fmt::join(lack, ":NUMBER,"));
}

} // namespace

Result<Fit> fitTo(const Source &source, const plan::Plan &plan,
                  std::string_view kind, int64_t batch,
                  const SampleOptions &options) {
  std::string found, expected;
  std::optional<Trial> best;
  std::vector<std::string> lack;
  bool isThere = false;
  for (int size = 0; size < plan::countSizes(plan); ++size) {
    if (batch && plan::batchOf(plan, size) != batch)
      continue;
    isThere = true;
    auto trial =
        tryTo(source, plan, *plan::findProgram(plan, kind, size), options);
    if (!trial) // reported when it is opened
      return Fit{size, {}};
    if (trial->fits && trial->paddings.empty())
      return Fit{size, {}};
    if (trial->fits && (!best || trial->filled < best->filled))
      best = *trial;
    if (!trial->isTooLong && lack.empty())
      lack = trial->lack;
    found = foundText(*trial);
    addExpected(*trial, plan, size, expected);
  }
  if (best) {
    DLC_TRY(checkLengths(plan, kind, *best));
    return Fit{best->size, std::move(best->paddings)};
  }
  if (!isThere)
    return usageError("no size of batch {}: the model was compiled for {}",
                      batch, plan::sizesText(plan));
  if (plan::countSizes(plan) == 1)
    return Fit{};
  return failed("{}, which fits none of the sizes that the model was compiled "
                "for:{}{}",
                found, expected, helpFor(lack));
}

Status checkPads(const Source &source, const plan::Plan &plan,
                 const SampleOptions &options) {
  std::vector<std::string> known, keys;
  for (const char *kind : kKinds) {
    const plan::Program *program = plan::findProgram(plan, kind);
    if (!program)
      continue;
    for (const plan::Port &port : program->inputs())
      if (port.name() != plan::kSampleWeight)
        known.push_back(port.name());
    for (const InputSpec &spec : specsOf(plan, *program, source))
      if (!spec.isWeight && std::ranges::count(keys, spec.key) == 0)
        keys.push_back(spec.key);
  }
  known.insert(known.end(), keys.begin(), keys.end());
  for (const InputPadding &pad : options.pads)
    if (std::ranges::count(known, pad.input) == 0)
      return usageError("--pad={}: the model has no such input, found: {}",
                        pad.input, fmt::join(keys, ", "));
  return {};
}

} // namespace dlc
