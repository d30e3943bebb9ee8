// SPDX-License-Identifier: Apache-2.0
// dlc debug compare: finds where two compilations of one model differ.
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/predict/PredictSamples.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Subprocess.h"
#include "runtime/data/Npy.h"
#include "runtime/plan/Types.h"
#include "runtime/train/compare/CompareSteps.h"
#include "runtime/train/overflow/Overflow.h"

#include <algorithm>

namespace dlc::tool {
namespace {

struct CompareArguments : FlagArguments {
  CompareArguments() : FlagArguments("compare") {
    table.text("compare.a", a, "A", "an artifact, run or checkpoint")
        .named("a");
    table.text("compare.b", b, "B", "another one of the same model").named("b");
    Option &row =
        table.text("compare.onnxruntime", python, "PYTHON",
                   "comparison of A's predict with onnxruntime, in place of B, "
                   "by a Python "
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
    table.count("compare.steps", options.steps, 1,
                "largest number of steps; the comparison ends at the first "
                "that differs");
    table.number(
        "compare.tolerance", options.tolerance, 0, 1e6,
        "tolerated relative error of a tensor (default: 1e-4; with f16 "
        "1e-3, with bf16 6e-3)");
    table.toggle(
        "compare.drift", options.drift,
        "B continues with its own values, so that differences accumulate");
    table.count("compare.worst", worst, 0,
                "number of tensors to print, those with the largest errors");
    table.toggle("compare.json", json, "one JSON object on stdout");
    addThreads(table, "compare.threads", threads,
               "threads (default: all cores)");
    table.group("Samples (default for a run: as in its training)");
    samples.addTo(table, "compare");
  }

  std::string a, b, data;
  CompareOptions options;
  SampleOptions samples;
  std::optional<int64_t> threads;
  std::string python; // with onnxruntime; empty: unused
  bool json = false;
  int64_t worst = 5;
};

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
      Session::create(std::move(model), {.threads = int(a.threads.value_or(0)),
                                         .communicator = &communicator}));
  return LoadedSide{std::move(session), std::move(data)};
}

const char *phaseOf(const ComparedTensor &tensor) {
  constexpr const char *kNames[] = {"forward", "backward", "update"};
  return kNames[int(tensor.phase)];
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
  std::ranges::stable_sort(
      all, std::ranges::greater(),
      [](const ComparedTensor *t) { return t->error / t->tolerance; });
  all.resize(std::min(all.size(), size_t(most)));
  return all;
}

// Number of compared tensors in the last step.
int64_t countCompared(const StepsComparison &result) {
  return int64_t(result.steps.back().tensors.size());
}
int64_t countNoise(const StepsComparison &result) {
  const auto &tensors = result.steps.back().tensors;
  return std::ranges::count_if(
      tensors, [](const ComparedTensor &t) { return t.isNoise; });
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

// Reads model.onnx and inputs.npz in the folder argv[1]; writes results.npz
// with arrays "0", "1", ..., and results.json, [[node, operation, tensor],
// ...]. Nodes are named as by labelOf() in compiler/import/Survey.h.
constexpr char kScript[] = R"(
import json, sys
try:
    import numpy as np, onnx, onnxruntime
except ImportError as error:
    sys.exit(f"{error}: install onnx and onnxruntime, or name another Python by --onnxruntime=PYTHON")
folder = sys.argv[1]
model = onnx.load(folder + "/model.onnx")
graph, tensors = model.graph, []
fixed = {info.name for info in graph.output}
for node in graph.node:
    if node.op_type == "BatchNormalization":  # of the batch in training form
        del node.output[1:]
        kept = [a for a in node.attribute if a.name != "training_mode"]
        del node.attribute[:]
        node.attribute.extend(kept)
    if node.op_type == "Dropout":
        del node.input[2:]
    first = next((name for name in node.output if name), "")
    label = node.name or (f"{node.op_type} -> {first}" if first else node.op_type)
    tensors += [(label, node.op_type, name) for name in node.output if name]
made = {name for _, _, name in tensors}
for info in [info for info in graph.output if info.name not in made]:
    graph.output.remove(info)
graph.output.extend(onnx.ValueInfoProto(name=name) for _, _, name in tensors if name not in fixed)
del graph.value_info[:]
onnx.save(model, folder + "/all.onnx", save_as_external_data=model.ByteSize() > 2**30)
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.log_severity_level = 4
session = onnxruntime.InferenceSession(folder + "/all.onnx", options, providers=["CPUExecutionProvider"])
types = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32, "int16": np.int16,
         "int8": np.int8, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "bool": np.bool_}
with np.load(folder + "/inputs.npz") as arrays:
    inputs = {}
    for one in session.get_inputs():
        if one.name not in arrays:
            sys.exit(f"the model has an input '{one.name}', which the program does not take")
        inputs[one.name] = arrays[one.name].astype(types[one.type[len("tensor("):-1]])
values = session.run([name for _, _, name in tensors], inputs)
lines, results = [], {}
for line, value in zip(tensors, values):
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        results[str(len(lines))] = value if value.dtype == np.float64 else value.astype(np.float32)
        lines.append(line)
np.savez(folder + "/results.npz", **results)
with open(folder + "/results.json", "w") as file:
    json.dump(lines, file)
)";

Status writeInputs(const std::string &path, const plan::Program &program,
                   const Batch &batch) {
  std::vector<NamedArray> arrays;
  for (int i = 0; i < program.inputs_size(); ++i) {
    const plan::Port &port = program.inputs(i);
    const plan::TensorType &type = portType(program, port);
    arrays.push_back({port.name(),
                      *plan::dtypeOf(type.dtype()),
                      {type.shape().begin(), type.shape().end()},
                      batch[size_t(i)]});
  }
  return writeNpz(path, arrays);
}

Result<std::vector<NodeResult>> readResults(const std::string &folder) {
  constexpr uint64_t kMostNames = 256 << 20;
  DLC_ASSIGN(const std::string text,
             readFile(folder + "/results.json", kMostNames));
  DLC_ASSIGN(const Json lines, parseJson(text));
  DLC_ASSIGN(const ArrayFile file, ArrayFile::open(folder + "/results.npz"));
  std::vector<NodeResult> results;
  for (size_t i = 0; i < lines.size(); ++i) {
    DLC_ASSIGN(const Array array, file.read(std::to_string(i)));
    plan::TensorType type;
    type.set_dtype(array.dtype == DType::F64 ? plan::F64 : plan::F32);
    for (const int64_t dim : array.shape)
      type.add_shape(dim);
    results.push_back(
        {lines[i][0].get<std::string>(), lines[i][1].get<std::string>(),
         lines[i][2].get<std::string>(), widen(type, array.data())});
  }
  return results;
}

// All node results of model.onnx in `folder`, which may be modified, for a
// batch: on the CPU, without onnxruntime's optimizations, in inference form.
// Starts a process of `python` per call. Code::Failed, with its output, if it
// does not start, lacks onnx or onnxruntime, or cannot run the model.
Result<std::vector<NodeResult>> runOnnxRuntime(const std::string &python,
                                               const std::string &folder,
                                               const plan::Program &program,
                                               const Batch &batch) {
  DLC_TRY(writeInputs(folder + "/inputs.npz", program, batch));
  DLC_ASSIGN(const ProgramEnd end, runProgram({python, "-c", kScript, folder}));
  if (end.code != 0)
    return failed("onnxruntime by '{}' ended with exit code {}: {}", python,
                  end.code, end.lastLine);
  return readResults(folder);
}

// Exports A as an ONNX model with its weights to a folder.
Status exportTo(const CompareArguments &a, const std::string &path) {
  DLC_ASSIGN(const ProgramEnd end,
             runProgram({compilerPath(), "export", a.a, "--output=" + path}));
  if (end.code != 0)
    return Status(static_cast<Code>(end.code), "dlc export: " + end.lastLine);
  return {};
}

Result<StepsComparison> compareWithOnnxRuntime(const CompareArguments &a,
                                               Communicator &communicator) {
  DLC_ASSIGN(const TemporaryFolder folder,
             TemporaryFolder::create("dlc-onnxruntime"));
  DLC_TRY(exportTo(a, folder.path() + "/model.onnx"));
  DLC_ASSIGN(auto side, loadSide(a, a.a, communicator));
  return compareWithNodes(
      *side.session, side.data, a.options,
      [&](const plan::Program &program, const Batch &batch) {
        return runOnnxRuntime(a.python, folder.path(), program, batch);
      });
}

int printResult(const CompareArguments &a, const StepsComparison &result) {
  if (a.json)
    printAsJson(result, a.worst);
  else
    print(result, a.worst);
  return result.first() ? int(Code::Failed) : 0;
}

Result<int> runCompare(CompareArguments &a) {
  const auto communicator = makeSingleCommunicator();
  if (!a.python.empty()) {
    a.options.program = "predict";
    DLC_ASSIGN(const StepsComparison result,
               compareWithOnnxRuntime(a, *communicator));
    return printResult(a, result);
  }
  DLC_ASSIGN(auto first, loadSide(a, a.a, *communicator));
  DLC_ASSIGN(auto second, loadSide(a, a.b, *communicator));
  DLC_ASSIGN(const StepsComparison result,
             compareSteps(*first.session, *second.session, first.data,
                          second.data, a.options));
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
