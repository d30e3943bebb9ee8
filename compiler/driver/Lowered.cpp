// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Lowered.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/driver/MergeSizes.h"
#include "compiler/driver/Teacher.h"
#include "compiler/driver/artifact/DecisionFiles.h"
#include "compiler/lower/emit/EmitPlan.h"
#include "compiler/placement/Placer.h"
#include "passes/Passes.h"
#include "passes/loss/Distill.h"
#include "runtime/base/options/Pattern.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/plan/Sizes.h"
#include "runtime/plan/StateNames.h"

using namespace mlir;

namespace dlc {
namespace {

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text + "\n";
}

class Lowering {
public:
  Lowering(const CompileOptions &options, MLIRContext &context,
           DiagnosticLog &log)
      : options(options), isWhole(isLowered(options)), context(context),
        log(log) {
    lowered.options = options;
  }

  Result<Lowered> run() {
    DLC_TRY(checkOptions());
    DLC_ASSIGN(phases, phasesOf(options));
    for (const plan::Size &size : options.sizes())
      DLC_TRY(addSize(size));
    if (!isWhole)
      return std::move(lowered);
    if (options.stopAfter.empty())
      DLC_TRY(checkPlaces());
    else
      lowered.result.program = printed(*lowered.model.module);
    if (failed(emitPlan(*lowered.model.module, lowered.result.plan)))
      return error(Code::Failed, "the plan cannot be written");
    return std::move(lowered);
  }

private:
  /// Validates options that a program has set, as the rows validate words.
  Status checkOptions() {
    CompileOptions o = options;
    OptionTable table;
    o.addTo(table);
    DLC_TRY(table.validate());
    if (options.autoBatch)
      return usageError("--batch=auto is for dlc compile: give a number");
    return table.check({});
  }
  Status error(Code code, const char *what) {
    return errorOf(log, code, options.model, what);
  }

  /// The first size is the model; programs of other sizes are added to it.
  Status addSize(const plan::Size &size) {
    DLC_ASSIGN(import::ImportedModel model, import(size));
    if (!options.teacher.empty())
      DLC_TRY(addTeacher(model, size));
    const bool isFirst = lowered.sizes.empty();
    lowered.sizes.push_back(size);
    lowered.sizes.back().set_batch(model.batch);
    const std::string label = plan::nameOf(lowered.sizes.back());
    DLC_TRY(checkModel(*model.module));
    if (!isFirst) {
      lowered.result.program += fmt::format("// -----\n// {}\n", label);
      if (isWhole)
        keepPlaces(*lowered.model.module, *model.module);
    }
    DLC_TRY(runPhases(model, isFirst ? "" : label));
    if (isFirst)
      lowered.model = std::move(model);
    else if (isWhole)
      return mergeSize(lowered.model, std::move(model),
                       int64_t(lowered.sizes.size()) - 1, label)
          .withContext(options.model);
    return {};
  }

  Result<import::ImportedModel> import(const plan::Size &size) try {
    const auto start = std::chrono::steady_clock::now();
    auto imported =
        import::importOnnx(context, options.model, options.importing(size));
    if (!imported.ok())
      return error(imported.status().code(), "the model cannot be imported");
    lowered.result.importSeconds += secondsSince(start);
    if (options.import.explain && lowered.result.importReport.empty())
      lowered.result.importReport = import::explain(imported->repairs);
    if (std::string warning = regroupedWarning(
            imported->decisions, options.train.optimizer.wholeTensorRule());
        !warning.empty())
      emitWarning(atFile()) << warning;
    if (options.stopAfter.empty() && !options.predictOnly &&
        options.train.lora.rank == 0 && // adapters train
        llvm::none_of(imported->module->getOps<ir::StateOp>(),
                      [](ir::StateOp s) { return s.getTrainable(); }))
      return Status(Code::BadModel, fmt::format("{}: {}", options.model,
                                                import::kNothingTrains));
    return imported;
  } catch (...) {
    return caughtException(options.model, Code::BadModel);
  }
  /// At the same batch. Its results are its outputs and those named by
  /// --distill.
  Status addTeacher(import::ImportedModel &model, const plan::Size &size) try {
    const import::ImportOptions own = options.importing(size);
    import::ImportOptions o;
    o.batch = model.batch;
    o.dims = own.dims;
    o.opLibraries = own.opLibraries;
    o.device = own.device;
    o.budget = own.budget;
    DLC_ASSIGN(const auto terms, parseDistill(options.train.distill.terms));
    for (const DistillTerm &term : terms)
      if (!term.teacher.empty())
        o.features.push_back(term.teacher);
    Status added = dlc::addTeacher(context, model, options.teacher, o);
    return added.ok() ? added
                      : errorOf(log, added.code(), options.teacher,
                                "the teacher cannot be imported");
  } catch (...) {
    return caughtException(options.teacher, Code::BadModel);
  }
  Location atFile() {
    return NameLoc::get(StringAttr::get(&context, options.model));
  }
  /// Checks that the model has what the options name.
  Status checkModel(ModuleOp module) {
    if (failed(checkStep(module, options.train)))
      return error(Code::Usage, "the options do not fit the model");
    if (failed(checkRecompute(module, options.memory)))
      return error(Code::Usage, "the nodes to recompute are wrong");
    return {};
  }

  /// Reports of other sizes than the first are prefixed by `label`.
  Status runPhases(import::ImportedModel &model, const std::string &label) {
    const auto start = std::chrono::steady_clock::now();
    const PhaseContext asked(withTrained(model));
    std::vector<std::string> casts;
    std::vector<PlacementNote> notes;
    for (const Phase *phase : phases) {
      if (failed(runPhase(*phase, asked, *model.module)))
        return error(
            Code::BadModel,
            fmt::format("the phase '{}' has failed", phase->name).c_str());
      llvm::append_range(casts, takeCastReport(*model.module));
      llvm::append_range(notes, takePlacementNotes(*model.module));
      if (options.stopAfter.empty() && phase->isModelText)
        lowered.result.program += printed(*model.module);
    }
    if (!isWhole)
      lowered.result.program += printed(*model.module);
    add(casts, label, lowered.result.castReport);
    add(linesOf(notes), label, lowered.result.placementReport);
    lowered.result.passSeconds += secondsSince(start);
    return {};
  }
  /// Weights named for training, and new ones, are trained besides adapters.
  CompileOptions withTrained(const import::ImportedModel &model) {
    CompileOptions o = options;
    Words &trained = o.train.lora.trained;
    trained.insert(trained.end(), options.import.roles.train.begin(),
                   options.import.roles.train.end());
    for (const std::string &name : model.head)
      trained.push_back(
          exactPattern(plan::stateName(name, [&](const std::string &other) {
            return model.weights.find(other) != nullptr;
          })));
    return o;
  }
  static void add(const std::vector<std::string> &lines,
                  const std::string &label, std::vector<std::string> &report) {
    if (!lines.empty() && !label.empty())
      report.push_back(label + ":");
    llvm::append_range(report, lines);
  }

  /// Checks that each rule of --place matched.
  Status checkPlaces() {
    for (const std::string &rule :
         unfollowed(*lowered.model.module, options.train.placement))
      return usageError("{}: --place={} matches no op; --explain-placement "
                        "lists all ops",
                        options.model, rule);
    return {};
  }

  const CompileOptions &options; // as given
  const bool isWhole;            // with a stop, sizes are not merged
  MLIRContext &context;
  DiagnosticLog &log;
  Lowered lowered;
  std::vector<const Phase *> phases;
};

} // namespace

Result<Lowered> lower(const CompileOptions &options, MLIRContext &context,
                      DiagnosticLog &log) {
  return Lowering(options, context, log).run();
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  const auto taken = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double>(taken).count();
}

Status errorOf(const DiagnosticLog &log, Code code, const std::string &model,
               const char *what) {
  std::string text = log.errors().empty() ? what : log.errors();
  if (text.find(model) == std::string::npos)
    text = model + ": " + text;
  return Status(code, text);
}

} // namespace dlc
