// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc-compile/quantize/Calibrate.h"
#include "tools/dlc-compile/quantize/Entropy.h"

#include "compiler/driver/Compiler.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/plan/Types.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/session/Session.h"

#include <algorithm>
#include <cmath>

namespace dlc::tool {
namespace {

using Method = CalibrationOptions::Method;

constexpr size_t kBins = 4096;

// Of one value's elements over all samples.
struct Observed {
  float low = 0, high = 0;
  std::vector<uint64_t> bins; // of their sizes, up to the largest
  float largest() const { return std::max(-low, high); }
};

Status addRange(std::span<const float> elements, Observed &to) {
  for (const float x : elements) {
    if (!std::isfinite(x))
      return diverged("it has {}", x);
    to.low = std::min(to.low, x), to.high = std::max(to.high, x);
  }
  return {};
}

void addSizes(std::span<const float> elements, Observed &to) {
  to.bins.resize(kBins);
  const float largest = to.largest();
  for (const float x : elements)
    if (largest > 0)
      ++to.bins[std::min(kBins - 1,
                         size_t(std::abs(x) / largest * float(kBins)))];
}

size_t binsOfShare(std::span<const uint64_t> bins, double share) {
  uint64_t all = 0, sum = 0;
  for (const uint64_t count : bins)
    all += count;
  size_t bin = 0;
  while (bin < bins.size() && double(sum) < share * double(all))
    sum += bins[bin++];
  return bin;
}

exporter::ValueRange rangeOf(const Observed &observed,
                             const CalibrationOptions &options) {
  if (observed.bins.empty())
    return {observed.low, observed.high};
  const size_t bin = options.method == Method::Entropy
                         ? leastDivergent(observed.bins)
                         : binsOfShare(observed.bins, options.percentile / 100);
  const float most = observed.largest() * float(bin) / float(kBins);
  return {std::max(observed.low, -most), std::min(observed.high, most)};
}

// The model with these values as outputs, compiled to predict.
Result<Model> compileObserved(const onnx::ModelProto &model,
                              const Model &source, const std::string &folder) {
  CompileOptions options;
  options.model = folder + "/observed.onnx";
  options.output = folder + "/observed.dlc";
  options.predictOnly = true;
  const plan::Plan &plan = source.artifact.plan();
  options.batches = {plan::batchOf(plan, 0)};
  if (plan.sizes_size() > 0)
    for (const auto &dim : plan.sizes(0).dims())
      options.dims[dim.name()] = {dim.size()};
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    return limitExceeded("the model is larger than protobuf's limit of 2 GiB");
  DLC_TRY(writeFileAtomically(options.model, bytes));
  setQuiet(true);
  const auto compiled = compile(options);
  setQuiet(false);
  if (!compiled)
    return compiled.status().withContext("the model that is calibrated");
  return openModel(options.output);
}

// Calls take(output's number, elements) for each output of each batch.
template <class Take>
Status runSamples(Session &session, const plan::Program &program,
                  const Dataset &data, int64_t samples,
                  const std::vector<int> &outputs, const Take &take) {
  const int64_t batch = plan::batchOf(session.plan(), program);
  Batch arrays = makeBatch(data, batch);
  std::vector<int64_t> rows(static_cast<size_t>(batch));
  Executor &executor = session.executor();
  for (int64_t first = 0; first < samples; first += batch) {
    for (int64_t i = 0; i < batch; ++i) // the last one repeats its samples
      rows[size_t(i)] = (first + i) % samples * data.samples() / samples;
    DLC_TRY(fillBatch(data, rows, nullptr, arrays));
    DLC_TRY(setInputs(executor, program, arrays));
    DLC_TRY(executor.run(program.name()));
    DLC_TRY(executor.report(program.name()));
    DLC_ASSIGN(const auto views, executor.readReport(program.name()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorView &view = views[size_t(outputs[i])];
      const auto *elements = reinterpret_cast<const float *>(view.data);
      DLC_TRY(take(i, std::span(elements, view.bytes / sizeof(float))));
    }
  }
  return {};
}

Result<std::vector<int>> findOutputs(const plan::Program &program,
                                     const std::vector<std::string> &names) {
  std::vector<int> found;
  for (const std::string &name : names) {
    found.push_back(findOutput(program, name));
    if (found.back() < 0)
      return failed("the compiled model does not put out '{}'",
                    printable(name));
    const auto &port = program.outputs(found.back());
    if (program.buffers(int(port.buffer())).type().dtype() != plan::F32)
      return failed("'{}' is not f32", printable(name));
  }
  return found;
}

} // namespace

Result<Calibration> calibrate(const onnx::ModelProto &model,
                              const std::vector<std::string> &values,
                              const Model &source,
                              const CalibrationOptions &options,
                              const std::string &folder) {
  onnx::ModelProto observed = model;
  const auto names = exporter::observe(observed, values);
  DLC_ASSIGN(Model compiled, compileObserved(observed, source, folder));
  DLC_ASSIGN(const SampleOptions sampling, samplesOf(source));
  DLC_ASSIGN(
      const Dataset data,
      openDataset(options.data, compiled.artifact.plan(), "predict", sampling));
  DLC_ASSIGN(const auto session, Session::create(std::move(compiled), {}));
  const plan::Program &program = *plan::findProgram(session->plan(), "predict");
  DLC_ASSIGN(const auto outputs, findOutputs(program, names));
  Calibration result{{}, std::min(options.samples, data.samples())};
  std::vector<Observed> all(values.size());
  const auto widen = [&](size_t i, std::span<const float> elements) {
    return addRange(elements, all[i]).withContext(printable(values[i]));
  };
  DLC_TRY(runSamples(*session, program, data, result.samples, outputs, widen));
  const auto count = [&](size_t i, std::span<const float> elements) {
    addSizes(elements, all[i]);
    return Status();
  };
  if (options.method != Method::MinMax)
    DLC_TRY(
        runSamples(*session, program, data, result.samples, outputs, count));
  for (size_t i = 0; i < values.size(); ++i)
    result.ranges[values[i]] = rangeOf(all[i], options);
  return result;
}

} // namespace dlc::tool
