// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Compiler.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/driver/Adapters.h"
#include "compiler/driver/Casts.h"
#include "compiler/driver/Decisions.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/InitialState.h"
#include "compiler/driver/Layout.h"
#include "compiler/driver/MergeSizes.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/batch/AutoBatch.h"
#include "compiler/driver/graph/GraphOfModule.h"
#include "compiler/export/Export.h"
#include "compiler/lower/emit/EmitPlan.h"
#include "compiler/placement/Placer.h"
#include "compiler/target/Target.h"
#include "passes/loss/LossParams.h"
#include "passes/optimizer/ParameterGroups.h"
#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/Pattern.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/plan/Artifact.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/Sizes.h"
#include "runtime/plan/StateNames.h"
#include <chrono>

using namespace mlir;

namespace dlc {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text + "\n";
}

class Compilation {
public:
  Compilation(const CompileOptions &options, bool quiet = false)
      : options(options), context(registry(), MLIRContext::Threading::DISABLED),
        log(context, quiet) {}

  Result<CompileResult> run() {
    DLC_TRY(checkOptions());
    // What must not be replaced is said before the work, not after it.
    if (options.stopAfter.empty())
      DLC_TRY(ArtifactWriter::check(options.output));
    DLC_TRY(buildAll());
    if (!options.stopAfter.empty()) {
      result.program = isLowered() ? print(*model->module) : std::move(program);
      return std::move(result);
    }
    DLC_TRY(checkMemory());
    DLC_TRY(generate());
    DLC_TRY(emit());
    DLC_TRY(write());
    return std::move(result);
  }

  Result<uint64_t> stepBytes() {
    DLC_TRY(checkOptions());
    DLC_TRY(buildAll());
    plan::Plan plan;
    if (mlir::failed(emitPlan(*model->module, plan)))
      return error(Code::Failed, "the plan cannot be written");
    return totalBytes(plan);
  }

  Result<plan::ProgramGraph> graph(const std::string &function) {
    DLC_TRY(checkOptions());
    DLC_TRY(buildAll());
    return graphOf(*model->module, function);
  }

private:
  static DialectRegistry registry() {
    DialectRegistry r;
    registerEverything(r);
    return r;
  }
  /// What a program has set, as the rows would check words.
  Status checkOptions() {
    CompileOptions o = options;
    OptionTable table;
    o.addTo(table);
    DLC_TRY(table.validate());
    if (options.autoBatch)
      return usageError("--batch=auto is for dlc compile: give a number");
    return table.check({});
  }
  /// The diagnostics so far, each naming the model or a place in it.
  Status error(Code code, const char *what) {
    std::string text = log.errors();
    if (text.empty())
      text = what;
    if (text.find(options.model) == std::string::npos)
      text = options.model + ": " + text;
    return Status(code, text);
  }

  /// Sizes that stop before the last phase stay apart.
  bool isLowered() const {
    return options.stopAfter.empty() || options.stopAfter == "plan";
  }
  /// The first size is the model; programs of the others are added to it.
  Status buildAll() {
    std::optional<import::ImportedModel> first;
    for (const plan::Size &size : options.sizes()) {
      DLC_TRY(import(size));
      sizes.push_back(size);
      sizes.back().set_batch(model->batch);
      const std::string label = plan::nameOf(sizes.back());
      DLC_TRY(build(first, label));
      if (!first)
        first = std::move(model);
      else if (isLowered())
        DLC_TRY(mergeSize(*first, std::move(*model), int64_t(sizes.size()) - 1,
                          label)
                    .withContext(options.model));
    }
    model = std::move(first);
    return options.stopAfter.empty() ? checkPlaces() : Status();
  }
  /// Lowers one size, for the artifact that `first` is of, if it is another.
  Status build(std::optional<import::ImportedModel> &first,
               const std::string &label) {
    DLC_TRY(checkCastLists());
    if (mlir::failed(checkPatterns(*model->module, options.train.optimizer)))
      return error(Code::Usage, "the parameter groups are wrong");
    if (mlir::failed(checkLossParams(*model->module, options.train.loss)))
      return error(Code::Usage, "what the losses train is wrong");
    if (mlir::failed(checkRecompute(*model->module, options.memory)))
      return error(Code::Usage, "the nodes to recompute are wrong");
    DLC_TRY(checkTargets(*model->module, options.train.lora.targets)
                .withContext(options.model));
    if (first) {
      program += fmt::format("// -----\n// {}\n", label);
      if (isLowered())
        keepPlaces(*first->module, *model->module);
    }
    return runPhases(first ? label : "");
  }

  Status import(const plan::Size &size) try {
    auto start = Clock::now();
    auto imported =
        import::importOnnx(context, options.model, options.importing(size));
    if (!imported.ok())
      return error(imported.status().code(), "the model cannot be imported");
    model.emplace(std::move(*imported));
    if (model->step)
      follow(*model->step);
    result.importSeconds += secondsSince(start);
    if (std::string warning =
            regroupedWarning(model->decisions, options.train.optimizer);
        !warning.empty())
      emitWarning(NameLoc::get(StringAttr::get(&context, options.model)))
          << warning;
    if (options.stopAfter.empty() && !options.predictOnly &&
        !hasTrainableState())
      return Status(Code::BadModel,
                    fmt::format("{}: no trainable parameter; --train=REGEX "
                                "trains initializers that match",
                                options.model));
    return {};
  } catch (...) {
    return caughtException(options.model, Code::BadModel);
  }
  /// The model's own step in place of the options'.
  void follow(const import::OwnStep &step) {
    OptimizerOptions &o = options.train.optimizer;
    o.name = step.optimizer;
    o.lr = step.lr;
    o.weightDecay = step.weightDecay;
    o.momentum = step.momentum;
    o.nesterov = step.nesterov;
    o.dampening = step.dampening;
    o.beta1 = step.beta1;
    o.beta2 = step.beta2;
    o.epsilon = step.epsilon;
    o.alpha.reset();
    o.amsgrad = false;
    o.resolve();
    options.train.loss.kind = step.loss + ":graph";
    emitRemark(NameLoc::get(StringAttr::get(&context, options.model)))
        << "the step of the model's training_info: " << toLine(options);
  }
  bool hasTrainableState() {
    return llvm::any_of(model->module->getOps<ir::StateOp>(),
                        [](ir::StateOp s) { return s.getTrainable(); });
  }

  Status checkCastLists() {
    AmpOptions amp = options.train.amp;
    amp.resolve();
    if (!amp.enabled())
      return {};
    auto lists = CastLists::get(*model->module, amp);
    if (mlir::failed(lists))
      return error(Code::Usage, "the lists of autocast are wrong");
    return checkNodeRules(*model->module, *lists).withContext(options.model);
  }
  /// Reports of another size than the first are under its `label`.
  Status runPhases(const std::string &label) {
    auto start = Clock::now();
    if (options.stopAfter == "import") {
      program += print(*model->module);
      return {};
    }
    std::vector<Phase> phases = allPhases(phaseOptions());
    const size_t lowered = phases.size() - kLoweringPhases;
    if (auto unknown = stopAfter(phases, options.stopAfter))
      return usageError("{}", *unknown);
    // model.mlir is the program before it is lowered.
    PassManager training(&context), lowering(&context);
    for (size_t i = 0; i < phases.size(); ++i)
      phases[i].add(i < lowered ? training : lowering);
    if (mlir::failed(training.run(*model->module)))
      return error(Code::BadModel, "the training step cannot be built");
    add(takeCastReport(*model->module), label, result.castReport);
    std::vector<PlacementNote> notes = takePlacementNotes(*model->module);
    if (options.stopAfter.empty())
      program += print(*model->module);
    if (mlir::failed(lowering.run(*model->module)))
      return error(Code::BadModel, "the training step cannot be lowered");
    if (!isLowered())
      program += print(*model->module);
    llvm::append_range(notes, takePlacementNotes(*model->module));
    add(linesOf(notes), label, result.placementReport);
    result.passSeconds += secondsSince(start);
    return {};
  }
  static void add(const std::vector<std::string> &lines,
                  const std::string &label, std::vector<std::string> &report) {
    if (!lines.empty() && !label.empty())
      report.push_back(label + ":");
    llvm::append_range(report, lines);
  }

  /// Each word of --place was for something.
  Status checkPlaces() {
    for (const std::string &rule :
         unfollowed(*model->module, options.train.placement))
      return usageError(
          "{}: --place={} matches no op; --explain-placement lists all ops",
          options.model, rule);
    return {};
  }

  Status checkMemory() {
    int64_t budget = options.memory.budget;
    plan::Plan plan;
    if (!budget || mlir::failed(emitPlan(*model->module, plan)) ||
        totalBytes(plan) <= uint64_t(budget))
      return {};
    return limitExceeded(
        "{}: a step of {} samples takes {}, --memory allows {}; use a smaller "
        "--batch, with more of --accumulate\n{}",
        options.model, model->batch, roundBytes(totalBytes(plan)),
        roundBytes(budget), memoryTable(plan, kTableRows));
  }

  Status generate() {
    auto start = Clock::now();
    const auto target = makeTarget(options.train.target);
    result.plan.set_target(target->name().str());
    auto compiled = target->generate(*model->module, result.plan);
    if (!compiled && compiled.status().code() == Code::Failed)
      return error(Code::Failed, compiled.status().message().c_str());
    DLC_TRY(compiled.status());
    kernels = std::move(compiled->files);
    result.kernelSeconds = secondsSince(start);
    return {};
  }

  Status emit() {
    plan::Plan &plan = result.plan;
    plan.set_version(kPlanVersion);
    plan.set_producer("dlc " + std::string(dlcVersion()));
    plan.set_world_size(options.train.allReduce.world);
    plan.set_batch(model->batch);
    plan.mutable_sizes()->Add(sizes.begin(), sizes.end());
    plan.set_accumulate(options.train.accumulate.count);
    if (!options.predictOnly)
      describeTraining(plan);
    if (mlir::failed(emitPlan(*model->module, plan)))
      return error(Code::Failed, "the plan cannot be written");
    if (uint64_t bytes = totalBytes(plan); bytes > kMaxMemory)
      return limitExceeded(
          "{}: a step of {} samples takes {}, a plan can say at most {}; use a "
          "smaller --batch or smaller dimensions\n{}",
          options.model, plan.batch(), roundBytes(double(bytes)),
          roundBytes(double(kMaxMemory)), memoryTable(plan, kTableRows));
    return checkUse();
  }
  void describeTraining(plan::Plan &plan) {
    plan.set_loss(options.train.loss.kind == "auto" ? "cross_entropy"
                                                    : options.train.loss.kind);
    describe(options, plan);
    plan.set_schedule_steps(options.train.schedule.totalSteps);
  }
  /// What train, eval and predict ask of an artifact holds before it is
  /// written.
  Status checkUse() {
    Status status = verifyPlan(result.plan);
    if (status.ok())
      status = plan::checkPorts(result.plan);
    if (status.ok())
      return status;
    return Status(Code::BadModel,
                  fmt::format("{}: {}", options.model, status.message()));
  }
  Status write() {
    DLC_ASSIGN(ArtifactWriter writer, ArtifactWriter::create(options.output));
    auto path = [&](const char *name) { return writer.folder() + "/" + name; };
    for (const auto &[name, content] : model->opLibraries)
      DLC_TRY(writeNewFile(path(name.c_str()), content));
    for (const auto &[name, content] : kernels)
      DLC_TRY(writeNewFile(path(name.c_str()), content));
    DLC_TRY(writeInitialState(*model->module, model->weights,
                              path("state.safetensors")));
    DLC_TRY(writeNewFile(path("config.yaml"), toYaml(options)));
    if (std::string adapters = adaptersJson(*model->module); !adapters.empty())
      DLC_TRY(writeNewFile(path("adapters.json"), adapters));
    if (!model->decisions.empty())
      DLC_TRY(writeNewFile(path("decisions.json"),
                           decisionsJson(model->decisions)));
    if (std::string tensors = decidedTensors(); !tensors.empty())
      DLC_TRY(writeNewFile(path("tensors.json"), tensors));
    if (std::string scores = scoresJson(*model->module); !scores.empty())
      DLC_TRY(writeNewFile(path("scores.json"), scores));
    DLC_TRY(writeNewFile(path("model.mlir"), program));
    DLC_ASSIGN(std::string skeleton, makeSkeleton());
    if (!layout.empty())
      DLC_TRY(writeNewFile(path("layout.json"), layoutJson(layout)));
    DLC_TRY(writeNewFile(path("source.onnx"), skeleton));
    return writer.finish(result.plan,
                         "dlc compile " + shellQuoted(options.model));
  }
  /// Nothing is decided where nothing trains.
  std::string decidedTensors() {
    std::map<std::string, bool> trainable;
    for (auto state : model->module->getOps<exec::StateOp>())
      if (auto weight = dyn_cast<StringAttr>(state.getInit()))
        trainable[weight.str()] |= state.getTrainable();
    return options.predictOnly
               ? ""
               : tensorsJson(decideTensors(*model, trainable,
                                           options.train.lora.rank != 0));
  }
  std::string stateOf(const std::string &weight) {
    return plan::stateName(weight, [&](const std::string &name) {
      return model->weights.find(name) != nullptr;
    });
  }
  /// What is named for training, or new, is trained beside adapters, too.
  CompileOptions phaseOptions() {
    CompileOptions o = options;
    Words &trained = o.train.lora.trained;
    trained.insert(trained.end(), options.import.roles.train.begin(),
                   options.import.roles.train.end());
    for (const std::string &name : model->head)
      trained.push_back(exactPattern(stateOf(name)));
    return o;
  }
  Result<std::string> makeSkeleton() {
    std::set<std::string> states; // by the names of their weights
    for (auto state : model->module->getOps<exec::StateOp>())
      if (state.getRole() == "param" || state.getRole() == "buffer" ||
          state.getRole() == "const")
        if (auto weight = dyn_cast<StringAttr>(state.getInit()))
          states.insert(weight.str());
    exporter::Tensors tensors;
    for (const auto &[name, w] : model->weights.all())
      tensors[name] = {w.dtype, w.shape, w.data, w.bytes};
    std::deque<std::string> buffers;
    DLC_TRY(arrangeAsSource(states, tensors, buffers));
    return exporter::makeSkeleton(*model->source, states, tensors);
  }

  /// Initializers that the program has under other names: the export makes them
  /// of states; where there are none, their values are made now.
  Status arrangeAsSource(std::set<std::string> &states,
                         exporter::Tensors &tensors,
                         std::deque<std::string> &buffers) {
    std::vector<import::Replaced> fixed;
    for (const import::Replaced &r : model->replaced)
      (llvm::all_of(r.pieces,
                    [&](const auto &p) { return states.count(p.tensor); })
           ? layout
           : fixed)
          .push_back(r);
    for (const import::Replaced &r : layout)
      states.insert(r.name);
    return addSourceTensors(fixed, tensors, buffers);
  }

  static constexpr size_t kLoweringPhases = 5, kTableRows = 15;
  CompileOptions options; // the model may have a step of its own
  MLIRContext context;
  DiagnosticLog log;
  std::optional<import::ImportedModel> model;
  std::vector<import::Replaced> layout; // layout.json
  std::vector<plan::Size> sizes;        // that were built
  std::string program; // before it is lowered, or after stopAfter
  std::map<std::string, std::string> kernels; // files by name
  CompileResult result;
};

} // namespace

Result<CompileResult> compile(const CompileOptions &options) try {
  if (!options.autoBatch)
    return Compilation(options).run();
  DLC_ASSIGN(const CompileOptions sized, withLargestBatch(options));
  return Compilation(sized).run();
} catch (...) {
  return caughtException(options.model);
}

Result<uint64_t> stepBytes(const CompileOptions &options) try {
  return Compilation(options, true).stepBytes();
} catch (...) {
  return caughtException(options.model);
}

Result<plan::ProgramGraph> compileGraph(const CompileOptions &options,
                                        const std::string &function) try {
  return Compilation(options).graph(function);
} catch (...) {
  return caughtException(options.model);
}

} // namespace dlc
