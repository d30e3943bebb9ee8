#include "runtime/train/Session.h"

#include "runtime/plan/Types.h"
#include "runtime/train/Inputs.h"
#include "runtime/train/State.h"

#include <cstring>

namespace dlc {
namespace {

constexpr char kTrain[] = "train_step", kAccumulate[] = "accumulate_step",
               kEval[] = "eval_step", kPredict[] = "predict";

bool hasOutput(const plan::Program &program, std::string_view name) {
  for (const plan::Port &port : program.outputs())
    if (port.name() == name)
      return true;
  return false;
}

// The samples [first, first + count) as a batch; missing ones repeat the last.
void fillPadded(const Dataset &dataset, int64_t first, int64_t count,
                int64_t batch, Batch &to) {
  std::vector<int64_t> rows(static_cast<size_t>(batch));
  for (int64_t i = 0; i < batch; ++i)
    rows[static_cast<size_t>(i)] = first + std::min(i, count - 1);
  fillBatch(dataset, rows, to);
}

double sumOf(const TensorView &rows, uint64_t count) {
  auto *values = reinterpret_cast<const float *>(rows.data);
  double sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += values[i];
  return sum;
}

// One rank alone runs what has no collectives.
plan::Plan withoutTraining(plan::Plan plan) {
  auto &programs = *plan.mutable_programs();
  for (int i = programs.size(); i-- > 0;)
    if (programs[i].name() == kTrain || programs[i].name() == kAccumulate ||
        programs[i].after() == kTrain)
      programs.DeleteSubrange(i, 1);
  plan.set_world_size(1);
  return plan;
}

} // namespace

Result<std::unique_ptr<Session>> Session::open(const std::string &path,
                                               const Options &options) {
  DLC_ASSIGN(Model model, openModel(path));
  return create(std::move(model), options);
}

Result<std::unique_ptr<Session>> Session::create(Model model,
                                                 const Options &options) {
  std::unique_ptr<Session> session(
      new Session(std::move(model), options.communicator));
  const Artifact &artifact = session->model_.artifact;
  const bool alone = !options.communicator && artifact.plan().world_size() > 1;
  DLC_ASSIGN(session->executor_,
             Executor::create(alone ? withoutTraining(artifact.plan())
                                    : artifact.plan(),
                              artifact.kernelsPath(), options.communicator,
                              {.threads = options.threads,
                               .record = options.record,
                               .timeout = options.timeout,
                               .tune = options.tune}));
  DLC_TRY(session->load(session->model_.statePath));
  if (options.averages)
    DLC_TRY(useAverages(*session->executor_, options.averages)
                .status()
                .withContext(fmt::format("'{}'", artifact.path())));
  if (const plan::Program *train =
          findProgram(session->executor_->plan(), kTrain))
    for (const plan::Port &port : train->outputs())
      session->metricNames_.push_back(port.name());
  session->metrics_.resize(session->metricNames_.size());
  return session;
}

Status Session::load(const std::string &safetensors) {
  bool compiled = safetensors == model_.artifact.statePath();
  DLC_TRY(loadState(*executor_, safetensors, compiled));
  return setRank(*executor_, communicator_ ? communicator_->rank() : 0);
}

Status Session::save(const std::string &safetensors) {
  return saveState(*executor_, safetensors);
}

Status Session::setInputs(const char *name, const Batch &batch) {
  const plan::Program &program = *findProgram(plan(), name);
  if (batch.size() != static_cast<size_t>(program.inputs_size()))
    return usageError("{} takes {} inputs, found {}", name,
                      program.inputs_size(), batch.size());
  for (size_t i = 0; i < batch.size(); ++i)
    DLC_TRY(executor_->setInput(name,
                                program.inputs(static_cast<int>(i)).name(),
                                batch[i].data(), batch[i].size()));
  return {};
}

Status Session::findPosition() {
  if (positionAsOf_ == executor_->stateWrites())
    return {};
  DLC_ASSIGN(position_, windowPosition(*executor_));
  positionAsOf_ = executor_->stateWrites();
  return {};
}

Result<bool> Session::startStep(const Batch &batch, Probe *probe) {
  if (metricNames_.empty())
    return failed("the model has no training program");
  DLC_TRY(findPosition());
  const bool updates = position_ + 1 >= window();
  const char *const program = updates ? kTrain : kAccumulate;
  DLC_TRY(setInputs(program, batch));
  DLC_TRY(executor_->run(program, probe));
  position_ = updates ? 0 : position_ + 1;
  if (updates)
    DLC_TRY(executor_->report(kTrain));
  return updates;
}

Result<std::span<const double>> Session::readMetrics() {
  DLC_TRY(executor_->readReport(kTrain, metrics_));
  return std::span<const double>(metrics_);
}

Result<std::span<const double>> Session::trainStep(const Batch &batch,
                                                   Probe *probe) {
  DLC_ASSIGN(const bool updates, startStep(batch, probe));
  if (!updates)
    return std::span<const double>();
  return readMetrics();
}

// Adds the rows of the first `samples` samples of the last batch.
Status Session::addRows(EvalResult &sums, double &rows, int64_t samples) {
  DLC_ASSIGN(TensorView losses, executor_->output(kEval, "row_loss"));
  const uint64_t all = losses.bytes / sizeof(float);
  const uint64_t count = all / static_cast<uint64_t>(plan().batch()) *
                         static_cast<uint64_t>(samples);
  sums.loss += sumOf(losses, count);
  sums.samples += samples;
  rows += static_cast<double>(count);
  if (sums.accuracy) {
    DLC_ASSIGN(TensorView hits, executor_->output(kEval, "row_correct"));
    if (hits.bytes != losses.bytes)
      return corrupt("row_correct and row_loss differ in size");
    *sums.accuracy += sumOf(hits, count);
  }
  return {};
}

Result<EvalResult> Session::evaluate(const Dataset &dataset) {
  const plan::Program *program = findProgram(plan(), kEval);
  if (!program || !hasOutput(*program, "row_loss"))
    return failed("the model has no program to evaluate it");
  const int64_t batch = plan().batch();
  const int64_t rank = communicator_ ? communicator_->rank() : 0;
  const int64_t ranks = communicator_ ? communicator_->size() : 1;
  EvalResult sums;
  if (hasOutput(*program, "row_correct"))
    sums.accuracy = 0;
  double rows = 0;
  Batch arrays = makeBatch(dataset, batch);
  for (int64_t first = rank * batch; first < dataset.samples();
       first += ranks * batch) {
    const int64_t count = std::min(batch, dataset.samples() - first);
    fillPadded(dataset, first, count, batch, arrays);
    DLC_TRY(setInputs(kEval, arrays));
    DLC_TRY(executor_->run(kEval));
    DLC_TRY(addRows(sums, rows, count));
  }
  double total[] = {sums.loss, sums.accuracy.value_or(0), rows,
                    static_cast<double>(sums.samples)};
  if (communicator_)
    DLC_TRY(communicator_->allReduce(total, 4, DType::F64, ReduceOp::Sum));
  sums.loss = total[0] / total[2];
  if (sums.accuracy)
    sums.accuracy = total[1] / total[2];
  sums.samples = static_cast<int64_t>(total[3]);
  return sums;
}

Result<std::vector<Session::Output>> Session::predict(const Dataset &dataset) {
  const plan::Program *program = findProgram(plan(), kPredict);
  if (!program)
    return failed("the model has no program to predict with");
  const int64_t batch = plan().batch();
  std::vector<Output> outputs;
  for (const plan::Port &port : program->outputs()) {
    const plan::TensorType &type =
        program->buffers(static_cast<int>(port.buffer())).type();
    std::vector<int64_t> shape(type.shape().begin(), type.shape().end());
    if (shape.empty() || shape[0] % batch != 0)
      return failed("output '{}' has shape [{}], expected rows of {} samples",
                    port.name(), fmt::join(shape, ", "), batch);
    shape[0] = shape[0] / batch * dataset.samples();
    outputs.push_back(
        {port.name(), *plan::dtypeOf(type.dtype()), std::move(shape), {}});
  }
  Batch arrays = makeBatch(dataset, batch);
  for (int64_t first = 0; first < dataset.samples(); first += batch) {
    const int64_t count = std::min(batch, dataset.samples() - first);
    fillPadded(dataset, first, count, batch, arrays);
    DLC_TRY(setInputs(kPredict, arrays));
    DLC_TRY(executor_->run(kPredict));
    for (Output &output : outputs) {
      DLC_ASSIGN(TensorView view, executor_->output(kPredict, output.name));
      const uint64_t bytes = view.bytes / static_cast<uint64_t>(batch) *
                             static_cast<uint64_t>(count);
      output.bytes.insert(output.bytes.end(), view.data, view.data + bytes);
    }
  }
  return outputs;
}

} // namespace dlc
