// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/Inputs.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/FloatCast.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/data/lengths/Joined.h"
#include "runtime/data/pictures/PictureSource.h"
#include "runtime/plan/Types.h"
#include "runtime/train/session/Fit.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <set>

namespace dlc {
namespace {

Shapes shapesOf(const plan::Program &program) {
  Shapes shapes;
  for (const plan::Port &port : program.inputs()) {
    const auto &shape = portType(program, port).shape();
    shapes.emplace_back(shape.begin(), shape.end());
  }
  return shapes;
}

// "[32, 128], [32]"
std::string textOf(const Shapes &shapes) {
  return joined(shapes, ", ", [](const auto &shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
  });
}

// Samples in the program's form: pictures in the shape of its input, augmented
// arrays of pictures, or columns of a table.
Result<std::shared_ptr<const Source>>
shapedFor(std::shared_ptr<const Source> source, const plan::Plan &plan,
          std::string_view kind, int64_t batch, const SampleOptions &options) {
  int size = 0;
  while (batch && size + 1 < plan::countSizes(plan) &&
         plan::batchOf(plan, size) != batch)
    ++size;
  const plan::Program &program = *findProgram(plan, kind, size);
  std::vector<SampleInput> inputs;
  std::string first;
  for (const InputSpec &spec : specsOf(plan, program, *source)) {
    if (spec.isShared || spec.isWeight)
      continue;
    if (first.empty() && !spec.isLabel)
      first = spec.key;
    inputs.push_back({spec.key, sampleShape(spec.shape), spec.isLabel});
  }
  if (first.empty())
    return source;
  DLC_ASSIGN(auto shaped, source->shaped(inputs, options));
  if (shaped)
    source = std::move(shaped);
  if (!source->augments() && options.changesPictures(kind == "train_step"))
    return augmentedArray(std::move(source), first, options);
  return source;
}

// Joins the files of one size; each is checked separately first, so that errors
// name it.
Result<Dataset>
openJoined(const std::vector<std::shared_ptr<const Source>> &sources,
           const plan::Plan &plan, std::string_view kind, int size,
           const SampleOptions &options) {
  const plan::Program &program = *findProgram(plan, kind, size);
  const int64_t batch = plan::batchOf(plan, size);
  const auto specs = specsOf(plan, program, *sources.front());
  std::vector<std::string> keys;
  std::set<std::string> shared;
  for (const InputSpec &spec : specs) {
    if (!spec.isWeight)
      keys.push_back(spec.key);
    if (spec.isShared)
      shared.insert(spec.key);
  }
  for (const auto &source : sources)
    if (sources.size() > 1)
      DLC_TRY(Dataset::open(source, specs, batch, options).status());
  DLC_ASSIGN(auto joined, joinedSource(sources, keys, shared));
  return Dataset::open(std::move(joined), specs, batch, options);
}

void notePaddedLabels(const plan::Plan &plan, const Fit &fit,
                      const Source &source, std::string_view kind,
                      SizedData &data) {
  const auto specs = specsOf(plan, *findProgram(plan, kind, fit.size), source);
  for (const Padding &padding : fit.paddings)
    for (const InputSpec &spec : specs)
      if (spec.isLabel && spec.key == padding.key)
        data.paddedLabels.insert_or_assign(spec.key, padding.value);
}

} // namespace

int64_t SizedData::samples() const {
  int64_t samples = 0;
  for (const Dataset &set : sets)
    samples += set.samples();
  return samples;
}

int sizeOf(const plan::Plan &plan, std::string_view kind,
           const Dataset &dataset) {
  for (int size = 0; size < plan::countSizes(plan); ++size) {
    const plan::Program *program = findProgram(plan, kind, size);
    const auto &columns = dataset.columns();
    if (program &&
        std::ranges::equal(
            program->inputs(), columns, [&](auto &port, auto &column) {
              return batchShape(plan, *program, port) == column.spec().shape;
            }))
      return size;
  }
  return 0;
}

Result<int> findSize(const plan::Plan &plan, std::string_view kind,
                     const Shapes &shapes) {
  std::string expected;
  for (int size = 0; size < plan::countSizes(plan); ++size) {
    const plan::Program *program = findProgram(plan, kind, size);
    if (!program)
      return failed("the model has no program '{}'", kind);
    const Shapes taken = shapesOf(*program);
    if (taken == shapes)
      return size;
    expected += (size ? " or " : "") + textOf(taken);
  }
  return usageError("{} takes {}, found {}", kind, expected, textOf(shapes));
}

const plan::TensorType &portType(const plan::Program &program,
                                 const plan::Port &port) {
  return program.buffers(int(port.buffer())).type();
}

const float *floatsOf(const TensorView &view, size_t count,
                      std::vector<std::byte> &room) {
  const DType type = *plan::dtypeOf(view.type->dtype());
  if (type == DType::F32)
    return reinterpret_cast<const float *>(view.data);
  room = castFloats(view.data, count, type, DType::F32);
  return reinterpret_cast<const float *>(room.data());
}

int findOutput(const plan::Program &program, std::string_view name) {
  for (int i = 0; i < program.outputs_size(); ++i)
    if (program.outputs(i).name() == name)
      return i;
  return -1;
}

namespace {
template <class Arrays>
Status setEach(Executor &executor, const plan::Program &program,
               const Arrays &batch) {
  if (batch.size() != size_t(program.inputs_size()))
    return usageError("{} takes {} inputs, found {}", program.name(),
                      program.inputs_size(), batch.size());
  for (size_t i = 0; i < batch.size(); ++i)
    DLC_TRY(executor.setInput(program.name(), program.inputs(int(i)).name(),
                              batch[i].data(), batch[i].size()));
  return {};
}
} // namespace

Status setInputs(Executor &executor, const plan::Program &program,
                 const Batch &batch) {
  return setEach(executor, program, batch);
}

Status setInputs(Executor &executor, const plan::Program &program,
                 BatchView batch) {
  return setEach(executor, program, batch);
}

Result<SizedData>
openDatasets(const std::vector<std::shared_ptr<const Source>> &sources,
             const plan::Plan &plan, std::string_view kind,
             const SampleOptions &options, int64_t batch) {
  const plan::Program *first = findProgram(plan, kind);
  if (!first)
    return failed("the model has no program '{}': was it compiled with "
                  "--predict-only?",
                  kind);
  DLC_TRY(checkInputs(plan, *first));
  SizedData data;
  std::vector<std::string> classes;
  std::vector<std::vector<std::shared_ptr<const Source>>> bySize;
  for (const auto &given : sources) {
    DLC_ASSIGN(auto source, shapedFor(given, plan, kind, batch, options));
    DLC_TRY(checkPads(*source, plan, options));
    if (data.sizes.empty())
      classes = source->classes();
    else if (classes != source->classes())
      return failed("'{}' has other classes than '{}': name them all by "
                    "--classes",
                    source->name(), sources[0]->name());
    DLC_ASSIGN(const Fit fit, fitTo(*source, plan, kind, batch, options)
                                  .withContext("'{}'", source->name()));
    notePaddedLabels(plan, fit, *source, kind, data);
    if (!fit.paddings.empty()) {
      DLC_ASSIGN(source, paddedSource(std::move(source), fit.paddings));
    }
    const auto at =
        size_t(std::ranges::find(data.sizes, fit.size) - data.sizes.begin());
    if (at == data.sizes.size()) {
      data.sizes.push_back(fit.size);
      bySize.emplace_back();
    }
    bySize[at].push_back(std::move(source));
  }
  for (size_t i = 0; i < bySize.size(); ++i) {
    DLC_ASSIGN(Dataset set,
               openJoined(bySize[i], plan, kind, data.sizes[i], options));
    data.sets.push_back(std::move(set));
  }
  return data;
}

Result<Dataset> openDataset(std::shared_ptr<const Source> source,
                            const plan::Plan &plan, std::string_view kind,
                            const SampleOptions &options, int64_t batch) {
  DLC_ASSIGN(SizedData data,
             openDatasets({std::move(source)}, plan, kind, options, batch));
  return std::move(data.sets.front());
}

Result<Dataset> openDataset(const std::string &path, const plan::Plan &plan,
                            std::string_view kind, const SampleOptions &options,
                            int64_t batch) try {
  DLC_ASSIGN(auto source, openSource(path, options));
  return openDataset(std::move(source), plan, kind, options, batch);
} catch (...) {
  return caughtException(path);
}

} // namespace dlc
