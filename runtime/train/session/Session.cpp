// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/Session.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "runtime/plan/Types.h"

namespace dlc {
namespace {

using plan::kStart, plan::kSync, plan::kTrain;
constexpr char kAccumulate[] = "accumulate_step", kEval[] = "eval_step",
               kPredict[] = "predict";

// A single rank only runs programs without collectives.
plan::Plan withoutTraining(plan::Plan plan) {
  auto &programs = *plan.mutable_programs();
  for (int i = programs.size(); i-- > 0;)
    if (const auto kind = plan::kindOf(programs[i]);
        kind == kTrain || kind == kStart || kind == kAccumulate ||
        kind == kSync || programs[i].after() == kTrain)
      programs.DeleteSubrange(i, 1);
  plan.set_world_size(1);
  return plan;
}

} // namespace

Result<std::unique_ptr<Session>> Session::open(const std::string &path,
                                               const Options &options) try {
  DLC_ASSIGN(Model model, openModel(path));
  return create(std::move(model), options);
} catch (...) {
  return caughtException("a session");
}

Result<std::unique_ptr<Session>> Session::create(Model model,
                                                 const Options &options) try {
  std::unique_ptr<Session> session(
      new Session(std::move(model), options.communicator));
  const Artifact &artifact = session->model_.artifact;
  const bool alone = !options.communicator && artifact.plan().world_size() > 1;
  DLC_ASSIGN(session->executor_,
             Executor::create(alone ? withoutTraining(artifact.plan())
                                    : artifact.plan(),
                              artifact.kernels(), options.communicator,
                              {.threads = options.threads,
                               .record = options.record,
                               .group = options.group,
                               .timeout = options.timeout,
                               .tune = options.tune}));
  DLC_TRY(session->load(session->model_.statePath));
  if (options.averages)
    DLC_TRY(useAverages(*session->executor_, options.averages)
                .status()
                .withContext("'{}'", artifact.path()));
  if (const plan::Program *train =
          findProgram(session->executor_->plan(), kTrain)) {
    for (int i = 0; i < train->outputs_size(); ++i)
      if (const std::string &name = train->outputs(i).name();
          !isStatistics(name)) {
        session->metricNames_.push_back(name);
        session->metricAt_.push_back(size_t(i));
      }
    DLC_ASSIGN(session->statistics_,
               StatisticsReader::create(session->executor_->plan(), *train));
  }
  session->metrics_.resize(session->metricNames_.size());
  const plan::Plan &plan = session->executor_->plan();
  session->syncEvery_ = plan::syncEvery(plan);
  if (findProgram(plan, kSync) && session->syncEvery_ == 0)
    return corrupt("'{}' does not say how often '{}' runs", artifact.path(),
                   kSync);
  return session;
} catch (...) {
  return caughtException("a session");
}

Status Session::load(const std::string &path) try {
  bool compiled = path == model_.artifact.statePath();
  DLC_TRY(loadState(*executor_, path, compiled));
  return setRank(*executor_, communicator_ ? communicator_->rank() : 0);
} catch (...) {
  return caughtException("reading the state");
}

Result<FileDigest> Session::save(const std::string &safetensors,
                                 const Share &share) try {
  return saveState(*executor_, safetensors, share);
} catch (...) {
  return caughtException("writing the state");
}

Status Session::syncRanks() { return executor_->run(std::string(kSync)); }

Status Session::findPosition() {
  if (positionAsOf_ == executor_->stateWrites())
    return {};
  DLC_ASSIGN(position_, windowPosition(*executor_));
  positionAsOf_ = executor_->stateWrites();
  return {};
}

// The only size with this number of bytes.
Result<int> Session::sizeOf(BatchView batch) const {
  if (plan::countSizes(plan()) == 1)
    return 0;
  int found = -1;
  for (int size = 0; size < plan::countSizes(plan()); ++size) {
    const plan::Program &program = *findProgram(plan(), kTrain, size);
    bool fits = batch.size() == size_t(program.inputs_size());
    for (size_t i = 0; fits && i < batch.size(); ++i) {
      const auto port = int(program.inputs(int(i)).buffer());
      fits = plan::bytesOf(program.buffers(port).type()) == batch[i].size();
    }
    if (fits && found >= 0)
      return usageError(
          "the batch's size in bytes fits {} and {}: specify the shape",
          plan::nameOf(plan().sizes(found)), plan::nameOf(plan().sizes(size)));
    if (fits)
      found = size;
  }
  if (found < 0)
    return usageError("the batch fits none of the sizes that the model was "
                      "compiled for: {}",
                      plan::sizesText(plan()));
  return found;
}

// A mean over micro-batches of different sizes would weight samples unequally.
Status Session::checkWindow(int size) {
  if (position_ > 0 && windowSize_ >= 0 && size != windowSize_)
    return usageError("a micro-batch of {} in an update that began with {}: "
                      "all of them are of one size",
                      plan::nameOf(plan().sizes(size)),
                      plan::nameOf(plan().sizes(windowSize_)));
  windowSize_ = size;
  return {};
}

// Only programs for CPUs have @start_step; there, reading a state is cheap.
Result<const plan::Program *> Session::nextStep(int size, bool isLast) {
  if (!isLast)
    return findProgram(plan(), kAccumulate, size);
  int64_t updates = 0;
  if (findProgram(plan(), kStart))
    DLC_TRY(executor_->readState("step", &updates, sizeof updates));
  return findProgram(plan(), updateAfter(plan(), updates), size);
}

Result<bool> Session::startStep(const Batch &batch, Probe *probe,
                                std::optional<int> size) {
  views_.assign(batch.begin(), batch.end());
  return startStep(BatchView(views_), probe, size);
}

Result<bool> Session::startStep(BatchView batch, Probe *probe,
                                std::optional<int> given) try {
  if (metricNames_.empty())
    return failed("the model has no training program");
  DLC_ASSIGN(const int size, given ? Result<int>(*given) : sizeOf(batch));
  if (size < 0 || size >= plan::countSizes(plan()))
    return usageError("size {} of {}", size, plan::countSizes(plan()));
  DLC_TRY(findPosition());
  DLC_TRY(checkWindow(size));
  const bool updates = position_ + 1 >= window();
  DLC_ASSIGN(const plan::Program *const program, nextStep(size, updates));
  DLC_TRY(setInputs(*executor_, *program, batch));
  DLC_TRY(executor_->run(program->name(), probe));
  position_ = updates ? 0 : position_ + 1;
  if (updates) {
    DLC_TRY(executor_->report(program->name()));
    programs_[started_++ % programs_.size()] = program;
  }
  return updates;
} catch (...) {
  return caughtException("a training step");
}

Result<std::span<const double>> Session::readMetrics() try {
  // If none is left, size 0 makes the program return the error.
  const std::string &program =
      (read_ < started_ ? programs_[read_++ % programs_.size()]
                        : findProgram(plan(), kTrain))
          ->name();
  DLC_ASSIGN(const auto outputs, executor_->readReport(program));
  for (size_t i = 0; i < metricAt_.size(); ++i) {
    DLC_ASSIGN(metrics_[i],
               scalarOf(outputs[metricAt_[i]])
                   .withContext("{}: output '{}'", program, metricNames_[i]));
  }
  statistics_.read(outputs);
  return std::span<const double>(metrics_);
} catch (...) {
  return caughtException("a training step");
}

Result<std::span<const double>>
Session::trainStep(const Batch &batch, Probe *probe, std::optional<int> size) {
  views_.assign(batch.begin(), batch.end());
  return trainStep(BatchView(views_), probe, size);
}

Result<std::span<const double>>
Session::trainStep(BatchView batch, Probe *probe, std::optional<int> size) {
  DLC_ASSIGN(const bool updates, startStep(batch, probe, size));
  if (!updates)
    return std::span<const double>();
  return readMetrics();
}

Status Session::checkGoesOn() const {
  return !goesOn_ || goesOn_() ? Status() : failed("stopped by the program");
}

std::vector<BatchSweep::Part> Session::partsFor(std::string_view kind,
                                                const Dataset &dataset) const {
  const int bound = dlc::sizeOf(plan(), kind, dataset);
  std::vector<BatchSweep::Part> parts;
  for (int size = 0; size < plan::countSizes(plan()); ++size)
    if (plan::haveSameSamples(plan(), size, bound))
      parts.push_back(
          {findProgram(plan(), kind, size), plan::batchOf(plan(), size)});
  return parts;
}

// Two sums per port for each batch, added in batch order over all ranks, so
// that results are bitwise independent of the number of ranks. Other ranks add
// zeros, which is exact.
Result<std::vector<Ratio>> Session::sumUp(const Dataset &dataset,
                                          std::span<const RowPorts> ports) {
  const std::vector<BatchSweep::Part> parts = partsFor(kEval, dataset);
  const int64_t samples = dataset.samples(), batch = parts.front().batch;
  const auto batches = size_t((samples + batch - 1) / batch);
  const int rank = communicator_ ? communicator_->rank() : 0;
  const int ranks = communicator_ ? communicator_->size() : 1;
  std::vector<double> sums(2 * ports.size() * batches); // grouped by batch
  auto at = size_t(rank);
  const auto add = [&](int64_t count, const BatchSweep::Part &part,
                       std::span<const TensorView> outputs) -> Status {
    double *place = &sums[2 * ports.size() * at];
    for (const RowPorts &port : ports) {
      DLC_ASSIGN(const Ratio found, port.add(outputs, count, part.batch));
      *place++ = found.sum;
      *place++ = found.weight;
    }
    at += size_t(ranks);
    return checkGoesOn();
  };
  DLC_TRY(BatchSweep(*executor_, parts, dataset).run(rank, ranks, add));
  if (communicator_)
    DLC_TRY(communicator_->allReduce(sums.data(), sums.size(), DType::F64,
                                     ReduceOp::Sum));
  std::vector<Ratio> all(ports.size());
  for (size_t i = 0; i < sums.size(); i += 2) {
    Ratio &ratio = all[i / 2 % ports.size()];
    ratio.sum += sums[i];
    ratio.weight += sums[i + 1];
  }
  return all;
}

Result<EvalResult> Session::evaluate(std::span<const Dataset> sets) try {
  const plan::Program *program = findProgram(plan(), kEval);
  const EvalPorts ports = program ? evalPorts(*program) : EvalPorts();
  if (ports.all.size() == size_t(ports.hasHits))
    return failed("the model has no program to evaluate it");
  std::vector<Ratio> all(ports.all.size());
  EvalResult result;
  for (const Dataset &set : sets) {
    DLC_ASSIGN(const auto sums, sumUp(set, ports.all));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].sum += sums[i].sum;
      all[i].weight += sums[i].weight;
    }
    result.samples += set.samples();
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].weight == 0 && result.samples > 0)
      return failed("{}: no row of the {} samples has a weight: all labels are "
                    "ignored, or of classes of weight 0",
                    ports.all[i].name, result.samples);
    const double mean = all[i].sum / all[i].weight;
    if (ports.hasHits && i + 1 == all.size())
      result.accuracy = mean;
    else
      result.loss += mean;
  }
  return result;
} catch (...) {
  return caughtException("evaluation");
}

Result<std::vector<Session::Output>>
Session::predict(const Dataset &dataset) try {
  if (!findProgram(plan(), kPredict))
    return failed("the model has no program to predict with");
  std::vector<BatchSweep::Part> parts = partsFor(kPredict, dataset);
  // Padding would affect results that are of the batch as a whole.
  const auto whole =
      std::ranges::find(parts, dataset.samples(), &BatchSweep::Part::batch);
  const bool isOneBatch = whole != parts.end();
  if (isOneBatch)
    parts = {*whole};
  const auto [program, batch] = parts.front();
  std::vector<Output> outputs;
  std::vector<size_t> taken; // indices of the program's outputs
  for (int i = 0; i < program->outputs_size(); ++i) {
    const plan::Port &port = program->outputs(i);
    const plan::TensorType &type = portType(*program, port);
    std::vector<int64_t> shape(type.shape().begin(), type.shape().end());
    if (isPrediction(plan(), *program, port))
      shape[0] = shape[0] / batch * dataset.samples();
    else if (!isOneBatch) {
      if (!shape.empty())
        logWarning("output '" + printable(port.name()) +
                   "' has no row for each sample and is left out");
      continue;
    }
    taken.push_back(size_t(i));
    outputs.push_back(
        {port.name(), *plan::dtypeOf(type.dtype()), std::move(shape), {}});
  }
  if (outputs.empty())
    return usageError("no output has a row for each sample: expected one whole "
                      "batch, {} samples, found {}",
                      batch, dataset.samples());
  const auto append = [&](int64_t samples, const BatchSweep::Part &part,
                          std::span<const TensorView> views) {
    for (size_t i = 0; i < taken.size(); ++i) {
      const TensorView &view = views[taken[i]];
      const uint64_t bytes =
          isOneBatch ? view.bytes
                     : view.bytes / uint64_t(part.batch) * uint64_t(samples);
      outputs[i].bytes.insert(outputs[i].bytes.end(), view.data,
                              view.data + bytes);
    }
    return checkGoesOn();
  };
  DLC_TRY(BatchSweep(*executor_, parts, dataset).run(0, 1, append));
  return outputs;
} catch (...) {
  return caughtException("prediction");
}

} // namespace dlc
