#include "runtime/train/session/Inputs.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/data/pictures/ArrayPictures.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

InputSpec specOf(const plan::Plan &plan, const plan::Program &program,
                 const plan::Port &port) {
  const plan::TensorType &type =
      program.buffers(static_cast<int>(port.buffer())).type();
  InputSpec spec;
  spec.key = port.name();
  spec.dtype = *plan::dtypeOf(type.dtype());
  spec.shape = {type.shape().begin(), type.shape().end()};
  spec.limit = port.limit();
  spec.isLabel = isLabel(plan, port.name());
  spec.isShared = isShared(plan, program, port);
  return spec;
}

// An only input may be called x, only labels y.
void rename(std::vector<InputSpec> &specs, bool labels, const char *name,
            const Source &source) {
  auto isOne = [&](const InputSpec &spec) { return spec.isLabel == labels; };
  auto only = std::find_if(specs.begin(), specs.end(), isOne);
  if (std::count_if(specs.begin(), specs.end(), isOne) == 1 &&
      (source.has(name) || !source.has(only->key)))
    only->key = name;
}

std::vector<InputSpec> specsOf(const plan::Plan &plan,
                               const plan::Program &program,
                               const Source &file) {
  std::vector<InputSpec> specs;
  for (const plan::Port &port : program.inputs())
    specs.push_back(specOf(plan, program, port));
  rename(specs, false, "x", file);
  rename(specs, true, "y", file);
  return specs;
}

Shapes shapesOf(const plan::Program &program) {
  Shapes shapes;
  for (const plan::Port &port : program.inputs()) {
    const auto &shape =
        program.buffers(static_cast<int>(port.buffer())).type().shape();
    shapes.emplace_back(shape.begin(), shape.end());
  }
  return shapes;
}

// "[32, 128], [32]"
std::string textOf(const Shapes &shapes) {
  std::string text;
  for (const auto &shape : shapes)
    text +=
        fmt::format("{}[{}]", text.empty() ? "" : ", ", fmt::join(shape, ", "));
  return text;
}

std::vector<int64_t> sampleOf(const std::vector<int64_t> &shape) {
  return {shape.begin() + (shape.empty() ? 0 : 1), shape.end()};
}

// Of the shapes alone; what else is wrong is said when the data is read.
bool fits(const Array &array, const InputSpec &spec, int64_t batch,
          const SampleOptions &options) {
  if (spec.isShared)
    return array.shape == spec.shape;
  if (array.shape.empty())
    return false;
  if (!spec.isLabel)
    return sampleOf(array.shape) == sampleOf(spec.shape);
  if (becomesShares(array, spec, batch, options))
    return true;
  return checkedElements(sampleOf(array.shape)).value_or(0) ==
         checkedElements(spec.shape).value_or(0) / static_cast<uint64_t>(batch);
}

// Of a sample, or of what is shared by all: "[128]".
std::string shapeText(const InputSpec &spec, int64_t batch) {
  if (spec.isShared)
    return fmt::format("[{}] for all", fmt::join(spec.shape, ", "));
  std::vector<int64_t> shape = sampleOf(spec.shape);
  // Labels count by entries: a batch has one dimension of rows.
  if (const int64_t rows = spec.shape.empty() ? 1 : spec.shape[0] / batch;
      spec.isLabel && rows > 1)
    shape.insert(shape.begin(), rows);
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Samples as the program takes them: pictures in the shape of what it takes
// besides labels, or those of an array, augmented; columns of a table.
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
    if (spec.isShared)
      continue;
    if (first.empty() && !spec.isLabel)
      first = spec.key;
    inputs.push_back({spec.key, sampleOf(spec.shape), spec.isLabel});
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

// The largest size for the arrays of a file.
Result<int> chooseSize(const Source &file, const plan::Plan &plan,
                       std::string_view kind, int64_t batch,
                       const SampleOptions &options) {
  std::string found, expected;
  bool isThere = false;
  for (int size = 0; size < plan::countSizes(plan); ++size) {
    const int64_t rows = plan::batchOf(plan, size);
    if (batch && rows != batch)
      continue;
    isThere = true;
    const auto specs = specsOf(plan, *findProgram(plan, kind, size), file);
    bool fit = true;
    found.clear();
    for (const InputSpec &spec : specs) {
      const auto head = file.head(spec.key);
      if (!head) // or cannot be read: that is said by who opens it
        return size;
      fit = fit && fits(*head, spec, rows, options);
      found += fmt::format("{}'{}' is {}", found.empty() ? "" : ", ", spec.key,
                           describe(head->dtype, head->shape));
    }
    if (fit || plan::countSizes(plan) == 1)
      return size;
    std::string text;
    for (const InputSpec &spec : specs)
      text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", spec.key,
                          shapeText(spec, rows));
    if (expected.find(text) == std::string::npos)
      expected +=
          fmt::format("\n  {}: {}", plan::nameOf(plan.sizes(size)), text);
  }
  if (!isThere)
    return usageError("no size of batch {}: the model was compiled for {}",
                      batch, plan::sizesText(plan));
  return failed("{}, which fits none of the sizes that the model was compiled "
                "for:{}",
                found, expected);
}

} // namespace

int sizeOf(const plan::Plan &plan, std::string_view kind,
           const Dataset &dataset) {
  Shapes shapes;
  for (const Column &column : dataset.columns())
    shapes.push_back(column.spec().shape);
  const auto size = findSize(plan, kind, shapes);
  return size ? *size : 0;
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

int findOutput(const plan::Program &program, std::string_view name) {
  for (int i = 0; i < program.outputs_size(); ++i)
    if (program.outputs(i).name() == name)
      return i;
  return -1;
}

Status setInputs(Executor &executor, const plan::Program &program,
                 const Batch &batch) {
  if (batch.size() != static_cast<size_t>(program.inputs_size()))
    return usageError("{} takes {} inputs, found {}", program.name(),
                      program.inputs_size(), batch.size());
  for (size_t i = 0; i < batch.size(); ++i)
    DLC_TRY(executor.setInput(program.name(),
                              program.inputs(static_cast<int>(i)).name(),
                              batch[i].data(), batch[i].size()));
  return {};
}

Result<Dataset> openDataset(std::shared_ptr<const Source> source,
                            const plan::Plan &plan, std::string_view kind,
                            const SampleOptions &options, int64_t batch) {
  const plan::Program *first = findProgram(plan, kind);
  if (!first)
    return failed("the model has no program '{}': was it compiled with "
                  "--predict-only?",
                  kind);
  DLC_TRY(checkInputs(plan, *first));
  DLC_ASSIGN(source, shapedFor(source, plan, kind, batch, options));
  auto size = chooseSize(*source, plan, kind, batch, options);
  if (!size)
    return size.status().withContext(fmt::format("'{}'", source->name()));
  const plan::Program &program = *findProgram(plan, kind, *size);
  const auto specs = specsOf(plan, program, *source);
  return Dataset::open(std::move(source), specs, plan::batchOf(plan, *size),
                       options);
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
