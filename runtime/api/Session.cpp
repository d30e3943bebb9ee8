// SPDX-License-Identifier: Apache-2.0
// Loaded models of the C interface.
#include "runtime/api/Options.h"
#include "runtime/base/options/Nearest.h"
#include "runtime/plan/Types.h"
#include "runtime/train/session/Inputs.h"

using namespace dlc;
using namespace dlc::api;

struct dlc_session {
  std::unique_ptr<Session> session;
  SampleOptions samples;                    // as in the run
  std::map<std::string, TensorList> inputs; // by program
  TensorList states;
  bool hasLength = false; // whether its schedule has a length
  std::vector<std::span<const std::byte>> batch; // of train_step
  std::vector<double> metrics;                   // of the last update
  std::vector<Session::Output> outputs;
  TensorList outputList;
};

namespace {

void add(TensorList &to, const std::string &name,
         const plan::TensorType &type) {
  to.add(name, *plan::dtypeOf(type.dtype()),
         {type.shape().begin(), type.shape().end()}, nullptr,
         plan::bytesOf(type).value_or(0));
}

Status open(dlc_session &made, const std::string &path,
            const dlc_option *options, size_t count) {
  SessionRows rows;
  DLC_TRY(apply(rows.table, options, count).status());
  rows.options.record = !rows.noGraph;
  DLC_ASSIGN(made.session, Session::open(path, rows.options));
  DLC_ASSIGN(made.samples, samplesOf(made.session->model()));
  const plan::Plan &plan = made.session->executor().plan();
  for (const plan::Program &program : plan.programs())
    for (const plan::Port &port : program.inputs())
      add(made.inputs[program.name()], port.name(), portType(program, port));
  for (const plan::State &state : plan.states())
    add(made.states, state.name(), state.type());
  return {};
}

const dlc_tensor *inputsOf(dlc_session &s, const std::string &program,
                           size_t *count) {
  const auto found = s.inputs.find(program);
  return found == s.inputs.end() ? nullptr : found->second.get(count);
}

Status checkInput(const dlc_tensor &given, const dlc_tensor &expected) {
  const auto type = typeOf(given.dtype);
  DLC_ASSIGN(const auto shape, shapeOf(given));
  const std::vector<int64_t> right(expected.shape,
                                   expected.shape + expected.rank);
  if (type != typeOf(expected.dtype) || shape != right)
    return usageError("input '{}' is {}, expected {}", expected.name,
                      type ? describe(*type, shape) : "of no known dtype",
                      describe(*typeOf(expected.dtype), right));
  if (given.bytes != expected.bytes || !given.data)
    return usageError("input '{}' has {} bytes, expected {}", expected.name,
                      given.data ? given.bytes : 0, expected.bytes);
  return {};
}

// Among several sizes, the one with these shapes.
Result<int> sizeOf(const dlc_session &s, const dlc_tensor *given,
                   size_t count) {
  const plan::Plan &plan = s.session->plan();
  if (plan::countSizes(plan) == 1 || !given)
    return 0;
  Shapes shapes;
  for (size_t i = 0; i < count; ++i) {
    DLC_ASSIGN(shapes.emplace_back(), shapeOf(given[i]));
  }
  return findSize(plan, "train_step", shapes);
}

// A run sets the length of a schedule compiled without one. Single steps have
// no total, and the rate would soon be the final one.
Status expectLength(dlc_session &s) {
  constexpr std::pair<const char *, const char *> kLengths[] = {
      {"schedule.steps", "compile with --steps, or write the state "
                         "'schedule.steps': the number of all updates"},
      {"schedule.epoch_steps", "write the state 'schedule.epoch_steps': the "
                               "number of an epoch's updates"}};
  Executor &executor = s.session->executor();
  for (const auto &[state, wayOut] : kLengths) {
    int64_t value = 1;
    if (executor.hasState(state))
      DLC_TRY(executor.readState(state, &value, sizeof value));
    if (value == 0)
      return usageError("the learning rate's schedule has no length; {}",
                        wayOut);
  }
  s.hasLength = true;
  return {};
}

Status trainStep(dlc_session &s, const dlc_tensor *given, size_t count,
                 int *updated) {
  size_t expected = 0;
  const dlc_tensor *inputs = inputsOf(s, "train_step", &expected);
  if (!inputs)
    return failed("the model has no training program, or one for several "
                  "ranks: dlc_trainer trains those");
  DLC_ASSIGN(const int size, sizeOf(s, given, count));
  const std::string &program =
      findProgram(s.session->plan(), "train_step", size)->name();
  inputs = inputsOf(s, program, &expected);
  if (count != expected || !given)
    return usageError("train_step takes {} inputs, found {}", expected,
                      given ? count : 0);
  if (!s.hasLength)
    DLC_TRY(expectLength(s));
  s.batch.resize(count);
  for (size_t i = 0; i < count; ++i) {
    DLC_TRY(checkInput(given[i], inputs[i]));
    s.batch[i] = {static_cast<const std::byte *>(given[i].data),
                  given[i].bytes};
  }
  DLC_ASSIGN(const auto metrics,
             s.session->trainStep(BatchView(s.batch), nullptr, size));
  if (!metrics.empty())
    s.metrics.assign(metrics.begin(), metrics.end());
  if (updated)
    *updated = !metrics.empty();
  return {};
}

Result<double> metric(const dlc_session &s, const std::string &name) {
  const auto &names = s.session->metricNames();
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    return usageError("no metric '{}'{}", name, suggestion(name, names));
  if (s.metrics.empty())
    return usageError("no update has been made yet");
  return s.metrics[size_t(found - names.begin())];
}

// With the run's preprocessing, unless overridden by the data set's options.
Result<Dataset> open(const dlc_session &s, const dlc_dataset &samples,
                     const char *program) {
  DLC_ASSIGN(const SampleOptions options,
             withOptions(s.samples, samples.options));
  return openDataset(samples.source, s.session->plan(), program, options);
}

Status predict(dlc_session &s, const dlc_dataset &samples) {
  DLC_ASSIGN(const Dataset dataset, open(s, samples, "predict"));
  DLC_ASSIGN(s.outputs, s.session->predict(dataset));
  s.outputList = {};
  for (Session::Output &output : s.outputs)
    s.outputList.add(output.name, output.dtype, output.shape,
                     output.bytes.data(), output.bytes.size());
  return {};
}

Status expectState(const dlc_session &s, const std::string &name,
                   uint64_t bytes) {
  std::vector<std::string> names;
  for (const plan::State &state : s.session->executor().plan().states()) {
    const uint64_t expected = plan::bytesOf(state.type()).value_or(0);
    if (state.name() == name)
      return bytes == expected ? Status()
                               : usageError("state '{}' has {} bytes, found {}",
                                            name, expected, bytes);
    names.push_back(state.name());
  }
  return usageError("no state '{}'{}", name, suggestion(name, names));
}

Status evaluate(dlc_session &s, const dlc_dataset &samples,
                dlc_evaluation *result) {
  constexpr size_t kLeast =
      offsetof(dlc_evaluation, samples) + sizeof(dlc_evaluation::samples);
  DLC_TRY(expectSize(result, kLeast, sizeof(*result), false, "dlc_evaluation"));
  DLC_ASSIGN(const Dataset dataset, open(s, samples, "eval_step"));
  DLC_ASSIGN(const EvalResult found, s.session->evaluate(dataset));
  fill(result, {0, found.loss, found.accuracy.has_value(),
                found.accuracy.value_or(0), found.samples});
  return {};
}

Given given(const dlc_session *session) { return {session, "the session"}; }
Given stateGiven(const char *name) { return {name, "the state's name"}; }

} // namespace

dlc_code dlc_session_open(const char *path, const dlc_option *options,
                          size_t count, dlc_session **made) {
  return call("a session",
              {{path, "the path"},
               {options, count, "the list of options"},
               {made, "the place for the session"}},
              [&]() -> Status {
                auto session = std::make_unique<dlc_session>();
                DLC_TRY(open(*session, path, options, count));
                *made = session.release();
                return {};
              });
}

void dlc_session_close(dlc_session *session) { delete session; }

const dlc_tensor *dlc_session_inputs(dlc_session *session, const char *program,
                                     size_t *count) {
  return list("the inputs", {given(session), {program, "the program"}}, count,
              [&] { return inputsOf(*session, program, count); });
}

dlc_code dlc_session_train_step(dlc_session *session, const dlc_tensor *inputs,
                                size_t count, int *updated) {
  return call("a training step",
              {given(session), {inputs, count, "the list of inputs"}},
              [&] { return trainStep(*session, inputs, count, updated); });
}

dlc_code dlc_session_metric(dlc_session *session, const char *name,
                            double *value) {
  return call("a metric",
              {given(session),
               {name, "the metric's name"},
               {value, "the place for the value"}},
              [&]() -> Status {
                DLC_ASSIGN(*value, metric(*session, name));
                return {};
              });
}

void dlc_session_on_batch(dlc_session *session, int (*batch)(void *user),
                          void *user) {
  (void)call("a callback", {given(session)}, [&]() -> Status {
    session->session->setGoesOn(batch
                                    ? [batch, user] { return batch(user) == 0; }
                                    : std::function<bool()>());
    return {};
  });
}

dlc_code dlc_session_evaluate(dlc_session *session, const dlc_dataset *samples,
                              dlc_evaluation *result) {
  return call("evaluation",
              {given(session),
               {samples, "the data set"},
               {result, "the place for the result"}},
              [&] { return evaluate(*session, *samples, result); });
}

dlc_code dlc_session_predict(dlc_session *session, const dlc_dataset *samples,
                             const dlc_tensor **outputs, size_t *count) {
  return call("prediction",
              {given(session),
               {samples, "the data set"},
               {outputs, "the place for the outputs"}},
              [&]() -> Status {
                DLC_TRY(predict(*session, *samples));
                *outputs = session->outputList.get(count);
                return {};
              });
}

const dlc_tensor *dlc_session_states(dlc_session *session, size_t *count) {
  return list("the states", {given(session)}, count,
              [&] { return session->states.get(count); });
}

dlc_code dlc_session_read(dlc_session *session, const char *state, void *to,
                          uint64_t bytes) {
  return call("reading a state",
              {given(session),
               stateGiven(state),
               {to, bytes, "the place for the state"}},
              [&]() -> Status {
                DLC_TRY(expectState(*session, state, bytes));
                return session->session->executor().readState(state, to, bytes);
              });
}

dlc_code dlc_session_write(dlc_session *session, const char *state,
                           const void *from, uint64_t bytes) {
  return call(
      "writing a state",
      {given(session), stateGiven(state), {from, bytes, "the state's content"}},
      [&]() -> Status {
        DLC_TRY(expectState(*session, state, bytes));
        return session->session->executor().writeState(state, from, bytes);
      });
}

dlc_code dlc_session_save(dlc_session *session, const char *path) {
  return call("saving states", {given(session), {path, "the path"}},
              [&] { return session->session->save(path).status(); });
}

dlc_code dlc_session_load(dlc_session *session, const char *path) {
  return call("loading states", {given(session), {path, "the path"}},
              [&] { return session->session->load(path); });
}
