// SPDX-License-Identifier: Apache-2.0
// dlc debug compare: finds where two compilations of one model differ.
#include "tools/dlc/Commands.h"
#include "tools/dlc/FlagRows.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/debug/OnnxRuntime.h"
#include "tools/dlc/predict/PredictSamples.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Subprocess.h"
#include "runtime/train/compare/CompareSteps.h"
#include "runtime/train/overflow/CommandRange.h"

#include <algorithm>
#include <cmath>

namespace dlc::tool {
namespace {

struct CompareArguments {
  CompareArguments();

  std::string a, b, data;
  CompareOptions options;
  SampleOptions samples;
  std::optional<int64_t> threads;
  std::string python; // with onnxruntime; empty: unused
  bool json = false;
  int64_t worst = 5;
  OptionTable table;
  OptionFlags flags{table, onlySection("compare")};
};

CompareArguments::CompareArguments() {
  table.group("Options");
  table.text("compare.a", a, "A", "an artifact, run or checkpoint").named("a");
  table.text("compare.b", b, "B", "another one of the same model").named("b");
  Option &row = table.text(
      "compare.onnxruntime", python, "PYTHON",
      "comparison of A's predict with onnxruntime, in place of B, by a Python "
      "with onnxruntime and onnx (without a value: python3)");
  row.optionalWord = true;
  row.set = [this](const Words &words) -> Status {
    DLC_ASSIGN(const std::string word, oneWord(words));
    python = word == "true" ? "python3" : word;
    return {};
  };
  table.require([this](const OptionTable::Given &given) -> Status {
    if (b.empty() == python.empty())
      return usageError("expected either B or --onnxruntime");
    if (!python.empty() && isGiven(given, "compare.program") &&
        options.program != "predict")
      return usageError("--onnxruntime compares --program=predict, found {}",
                        options.program);
    return {};
  });
  table.text("compare.data", data, "PATH",
             "samples, as for dlc train, read in their order");
  table.choice("compare.program", options.program,
               {"train_step", "eval_step", "predict"}, "program to compare");
  table.count(
      "compare.steps", options.steps, 1,
      "largest number of steps; the comparison ends at the first that differs");
  table.number("compare.tolerance", options.tolerance, 0, 1e6,
               "tolerated relative error of a tensor (default: 1e-4; with f16 "
               "1e-3, with bf16 6e-3)");
  table.toggle(
      "compare.drift", options.drift,
      "B continues with its own values, so that differences accumulate");
  table.count("compare.worst", worst, 0,
              "number of tensors to print, those with the largest errors");
  table.toggle("compare.json", json, "one JSON object on stdout");
  addThreads(table, "compare.threads", threads, "threads (default: all cores)");
  table.group("Samples (default for a run: as in its training)");
  samples.addTo(table, "compare");
}

// One of the compared programs, loaded.
struct LoadedSide {
  std::unique_ptr<Session> session;
  Dataset data;
};

Result<LoadedSide> loadSide(const CompareArguments &a, const std::string &path,
                            Communicator &communicator) {
  DLC_ASSIGN(Model model, openModel(path));
  DLC_ASSIGN(const SampleOptions options,
             sampleOptions(model, a.table, a.flags.given()));
  DLC_ASSIGN(Dataset data, openDataset(a.data, model.artifact.plan(),
                                       a.options.program, options));
  DLC_ASSIGN(
      auto session,
      Session::create(std::move(model),
                      {.threads = static_cast<int>(a.threads.value_or(0)),
                       .communicator = &communicator}));
  return LoadedSide{std::move(session), std::move(data)};
}

const char *phaseOf(const ComparedTensor &tensor) {
  constexpr const char *kNames[] = {"forward", "backward", "update"};
  return kNames[static_cast<int>(tensor.phase)];
}
std::string operationText(const ComparedTensor &t) {
  return t.operationA == t.operationB ? t.operationA
                                      : t.operationA + " / " + t.operationB;
}
std::string typesText(const ComparedTensor &t) {
  const std::string a = typeText(t.typeA), b = typeText(t.typeB);
  return a == b ? a : a + " / " + b;
}

// The tensors with the largest errors in all steps, except noise.
std::vector<const ComparedTensor *> worstOf(const StepsComparison &result,
                                            int64_t most) {
  std::vector<const ComparedTensor *> all;
  for (const ComparedStep &step : result.steps)
    for (const ComparedTensor &tensor : step.tensors)
      if (!tensor.isNoise && tensor.error > 0)
        all.push_back(&tensor);
  std::stable_sort(all.begin(), all.end(),
                   [](const ComparedTensor *x, const ComparedTensor *y) {
                     return x->error / x->tolerance > y->error / y->tolerance;
                   });
  all.resize(std::min(all.size(), static_cast<size_t>(most)));
  return all;
}

// Number of compared tensors in the last step.
int64_t countCompared(const StepsComparison &result) {
  return static_cast<int64_t>(result.steps.back().tensors.size());
}
int64_t countNoise(const StepsComparison &result) {
  const auto &tensors = result.steps.back().tensors;
  return std::count_if(tensors.begin(), tensors.end(),
                       [](const ComparedTensor &t) { return t.isNoise; });
}

Json jsonOf(const ComparedTensor &t) {
  return {{"name", t.name},
          {"phase", phaseOf(t)},
          {"operation_a", t.operationA},
          {"operation_b", t.operationB},
          {"type_a", typeText(t.typeA)},
          {"type_b", typeText(t.typeB)},
          {"error", t.error},
          {"tolerance", t.tolerance},
          {"at", t.at},
          {"a", t.a},
          {"b", t.b}};
}

void printAsJson(const StepsComparison &result, int64_t worst) {
  Json steps = Json::array(), largest = Json::array();
  for (const ComparedStep &step : result.steps) {
    Json one = {{"step", step.step}};
    if (step.losses)
      one["loss"] = {step.losses->first, step.losses->second};
    steps.push_back(std::move(one));
  }
  for (const ComparedTensor *tensor : worstOf(result, worst))
    largest.push_back(jsonOf(*tensor));
  const ComparedTensor *first = result.first();
  printJson(Json{{"agree", !first},
                 {"first", first ? jsonOf(*first) : Json()},
                 {"steps", std::move(steps)},
                 {"compared", countCompared(result)},
                 {"results", {result.resultsA, result.resultsB}},
                 {"noise", countNoise(result)},
                 {"states", result.states},
                 {"worst", std::move(largest)}});
}

void print(const StepsComparison &result, int64_t worst) {
  for (const ComparedStep &step : result.steps)
    if (step.losses)
      printOut("step {}  loss {:.8g}  {:.8g}\n", step.step, step.losses->first,
               step.losses->second);
  printOut("{} tensors compared (results: {} and {}); {} of them are rounding "
           "noise around zero\n",
           countCompared(result), result.resultsA, result.resultsB,
           countNoise(result));
  for (const ComparedTensor *t : worstOf(result, worst))
    printOut("  {:.2e} of {:.0e}  {} {}  {}  {}\n", t->error, t->tolerance,
             phaseOf(*t), t->name, operationText(*t), typesText(*t));
  const ComparedTensor *first = result.first();
  if (!first)
    return printOut("no tensor differs\n");
  printOut("step {}: the first that differs is {}, {} ({}, {}): relative error "
           "{:.3g}, tolerance {:.0e}; largest at [{}]: {:.6g} and {:.6g}\n",
           result.steps.back().step, first->name, phaseOf(*first),
           operationText(*first), typesText(*first), first->error,
           first->tolerance, fmt::join(first->at, ", "), first->a, first->b);
}

// Exports A as an ONNX model with its weights to a folder.
Status exportTo(const CompareArguments &a, const std::string &path) {
  std::string last;
  DLC_ASSIGN(const ProgramEnd end,
             runProgram({compilerPath(), "export", a.a, "--output=" + path},
                        [&](std::string_view line) { last = line; }));
  if (end.code != 0)
    return Status(static_cast<Code>(end.code), "dlc export: " + last);
  return {};
}

Result<StepsComparison> compareWithOnnxRuntime(const CompareArguments &a,
                                               Communicator &communicator) {
  DLC_ASSIGN(const TemporaryFolder folder,
             TemporaryFolder::create("dlc-onnxruntime"));
  DLC_TRY(exportTo(a, folder.path() + "/model.onnx"));
  auto side = loadSide(a, a.a, communicator);
  if (!side)
    return side.status();
  return compareWithNodes(
      *side->session, side->data, a.options,
      [&](const plan::Program &program, const Batch &batch) {
        return runOnnxRuntime(a.python, folder.path(), program, batch);
      });
}

int printResult(const CompareArguments &a, const StepsComparison &result) {
  if (a.json)
    printAsJson(result, a.worst);
  else
    print(result, a.worst);
  return result.first() ? static_cast<int>(Code::Failed) : 0;
}

Result<int> runCompare(CompareArguments &a) {
  const auto communicator = makeSingleCommunicator();
  if (!a.python.empty()) {
    a.options.program = "predict";
    DLC_ASSIGN(const StepsComparison result,
               compareWithOnnxRuntime(a, *communicator));
    return printResult(a, result);
  }
  auto first = loadSide(a, a.a, *communicator);
  if (!first)
    return first.status();
  auto second = loadSide(a, a.b, *communicator);
  if (!second)
    return second.status();
  DLC_ASSIGN(const StepsComparison result,
             compareSteps(*first->session, *second->session, first->data,
                          second->data, a.options));
  if (!result.states.empty())
    warning("{} starts with other values of {} states, '{}'{}", a.b,
            result.states.size(), result.states.front(),
            a.options.drift ? "" : "; it goes on with those of " + a.a);
  return printResult(a, result);
}

} // namespace

void addCompare(CommandLine &line, CLI::App &parent) {
  CLI::App *command = parent.add_subcommand(
      "compare", "find the first node where two compilations differ");
  auto a = std::make_shared<CompareArguments>();
  addFlagCommand(line, *command, a, runCompare, {"a", "--data"});
  command->footer(
      R"(Two artifacts of one model, with other targets, precisions or versions, train on the same samples.
Each result of B is compared with A's of the same nodes, then replaced by it, so an error comes
from the commands since. Exit code 0: no result differs; 1: one does.

Examples:
  dlc debug compare f32.dlc bf16.dlc --data=train.npz
  dlc debug compare cpu.dlc gpu.dlc --data=train.npz --steps=20
  dlc debug compare old-run new.dlc --data=test.npz --program=predict --json
  dlc debug compare run --onnxruntime --data=test.npz)");
}

} // namespace dlc::tool
