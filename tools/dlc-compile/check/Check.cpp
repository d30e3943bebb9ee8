// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc-compile/check/Check.h"
#include "compiler/dialect/Exec.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Phases.h"
#include "compiler/import/Importer.h"
#include "compiler/import/Support.h"
#include "compiler/import/Survey.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/emit/EmitPlan.h"
#include "compiler/target/TargetOptions.h"
#include "passes/autocast/CastLists.h"
#include "runtime/base/Text.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/plan/Memory.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {
namespace {

constexpr size_t kLayers = 10;

/// Collects the errors of a context, and the nodes they are about.
class Findings {
public:
  explicit Findings(MLIRContext &context)
      : handler(&context, [this](Diagnostic &d) {
          if (d.getSeverity() == DiagnosticSeverity::Warning)
            warnings.push_back(messageOf(d));
          if (d.getSeverity() != DiagnosticSeverity::Error)
            return success();
          for (StringRef node : nodeNames(d.getLocation()))
            nodes.insert(node.str());
          errors.push_back(messageOf(d));
          return success();
        }) {
    context.printOpOnDiagnostic(false);
  }
  std::set<std::string> nodes;
  std::vector<std::string> errors, warnings;

private:
  ScopedDiagnosticHandler handler;
};

class Checker {
public:
  explicit Checker(const CompileOptions &options)
      : options(options),
        context(registry(), MLIRContext::Threading::DISABLED) {}

  Result<CheckReport> run() {
    DLC_TRY(survey());
    if (report.errors.empty())
      DLC_TRY(import());
    if (!model)
      return std::move(report);
    describeState();
    describeOps();
    listLayers();
    for (const std::string &target : targetNames())
      DLC_TRY(lower(target));
    suggestPrediction();
    return std::move(report);
  }

private:
  static DialectRegistry registry() {
    DialectRegistry r;
    registerEverything(r);
    return r;
  }

  Status survey() {
    DLC_ASSIGN(auto uses,
               import::surveyOnnx(options.model, options.import.budget,
                                  options.import.opLibraries));
    for (const import::OperatorUse &use : uses) {
      OperatorCheck op;
      op.name = use.name, op.count = int64_t(use.nodes.size());
      for (const std::string &target : targetNames())
        op.targets[target] = "?";
      if (use.isMissing) {
        op.import = "no";
        op.advice = import::whyNot(use.name);
        if (op.advice.empty())
          op.advice = "dlc does not have this operator: export the model with "
                      "other operators, or define the operator by a function "
                      "in the model or a library (--op-library)";
        report.errors.push_back(
            fmt::format("operator {} is not supported (node '{}'{})",
                        printable(use.name), printable(use.nodes.front()),
                        use.nodes.size() > 1
                            ? fmt::format(" and {} more", use.nodes.size() - 1)
                            : ""));
      }
      modules.insert(use.modules.begin(), use.modules.end());
      for (const auto *nodes : {&use.nodes, &use.aliases})
        for (const std::string &node : *nodes)
          places.emplace(node, report.ops.size());
      report.ops.push_back(std::move(op));
    }
    return {};
  }

  /// The operator at a location of the program, or null. Nodes of function
  /// bodies are named CALLER#NUMBER/NODE, nodes of iterations
  /// LOOP[NUMBER]/NODE.
  OperatorCheck *find(StringRef node) {
    if (OperatorCheck *op = findNode(node))
      return op;
    return findNode(import::withoutIterations(node.str()));
  }
  OperatorCheck *findNode(StringRef node) {
    for (StringRef name = node; !name.empty(); name = name.rsplit('#').first) {
      if (auto at = places.find(name.str()); at != places.end())
        return &report.ops[at->second];
      if (!name.contains('#'))
        break;
    }
    return nullptr;
  }
  SmallVector<OperatorCheck *> operatorsAt(Location loc) {
    SmallVector<OperatorCheck *> found;
    for (StringRef node : nodeNames(loc))
      if (OperatorCheck *op = find(node))
        found.push_back(op);
    return found;
  }
  /// All iterations share the node of the loop's body.
  std::string layerOf(const std::string &node) {
    return places.count(node) ? node : import::withoutIterations(node);
  }
  /// Assigns the first error to all nodes of `findings`.
  void blame(const Findings &findings,
             llvm::function_ref<std::string &(OperatorCheck &)> word) {
    for (const std::string &node : findings.nodes)
      if (OperatorCheck *op = find(node)) {
        word(*op) = "no";
        if (op->advice.empty())
          op->advice = findings.errors.front();
      }
    for (const std::string &error : findings.errors)
      if (!llvm::is_contained(report.errors, error))
        report.errors.push_back(error);
  }

  Status import() {
    Findings findings(context);
    auto imported = import::importOnnx(
        context, options.model, options.importing(options.sizes().front()));
    report.warnings = findings.warnings;
    if (imported.ok()) {
      model.emplace(std::move(*imported));
      report.batch = model->batch;
      return {};
    }
    if (imported.status().code() == Code::Usage)
      return Status(Code::Usage, llvm::join(findings.errors, "\n"));
    blame(findings,
          [](OperatorCheck &op) -> std::string & { return op.import; });
    return {};
  }

  void describeState() {
    std::map<std::string, bool> trainable;
    for (auto state : model->module->getOps<ir::StateOp>()) {
      if (auto weight = dyn_cast<StringAttr>(state.getInit()))
        trainable[weight.str()] = state.getTrainable();
      if (state.getRole() == ir::Role::buffer ||
          !isa<StringAttr>(state.getInit()) ||
          !isa<FloatType>(state.getTensorType().getElementType()))
        continue;
      const int64_t count = state.getTensorType().getNumElements();
      report.parameters += count;
      if (state.getTrainable())
        report.trainable += count;
      else
        report.frozen.push_back(state.getSymName().str());
    }
    report.tensors =
        decideTensors(*model, trainable, options.train.lora.rank != 0);
    if (report.trainable == 0 && !options.predictOnly &&
        options.train.lora.rank == 0)
      report.errors.push_back(import::kNothingTrains);
  }

  void describeOps() {
    auto predict = model->module->lookupSymbol<func::FuncOp>("predict");
    AmpOptions amp = options.train.amp;
    if (!amp.enabled())
      amp.level = "O1";
    amp.resolve();
    Findings findings(context);
    auto lists = CastLists::get(*model->module, amp);
    std::map<std::string, LayerCost> layers;
    for (Operation &op : predict.getOps()) {
      const auto users = operatorsAt(op.getLoc());
      for (OperatorCheck *user : users) {
        join(user->gradient, gradientOf(&op), {"yes", "no", "zero", "none"});
        if (succeeded(lists) && isa<ir::CastPolicyInterface>(op))
          join(user->amp, castOf(lists->entry(&op).policy),
               {"half", "f32", "as inputs", "none"});
      }
      auto counted = dyn_cast<ir::FlopsInterface>(op);
      if (counted && !users.empty()) {
        const std::string node = layerOf(nodeNames(op.getLoc()).front().str());
        LayerCost &layer = layers[node];
        layer.node = node, layer.op = users.front()->name;
        layer.flops += double(counted.countFlops());
      }
    }
    for (OperatorCheck &op : report.ops) {
      // The op was folded, or its result is unused.
      for (std::string *word : {&op.gradient, &op.amp})
        if (*word == "?")
          *word = "none";
    }
    for (auto &[node, layer] : layers)
      report.layers.push_back(layer);
    llvm::stable_sort(report.layers, [](const auto &a, const auto &b) {
      return a.flops > b.flops;
    });
  }
  void listLayers() {
    auto predict = model->module->lookupSymbol<func::FuncOp>("predict");
    report.table = layersOf(predict, [&](Location loc) -> LayerName {
      const auto users = operatorsAt(loc);
      if (users.empty())
        return {};
      const std::string node = layerOf(nodeNames(loc).front().str());
      auto noted = modules.find(node);
      return {node, users.front()->name,
              noted == modules.end() ? modulesOf(node) : noted->second};
    });
  }
  /// Keeps the word that comes first in `order`.
  static void join(std::string &word, StringRef other,
                   ArrayRef<StringRef> order) {
    auto rank = [&](StringRef w) {
      return llvm::find(order, w) - order.begin();
    };
    if (word == "?" || rank(other) < rank(word))
      word = other.str();
  }
  static StringRef castOf(ir::CastPolicy policy) {
    switch (policy) {
    case ir::CastPolicy::Allow:
      return "half";
    case ir::CastPolicy::Deny:
      return "f32";
    case ir::CastPolicy::Infer:
    case ir::CastPolicy::Clear:
      return "as inputs";
    case ir::CastPolicy::Never:
      return "none";
    }
    llvm_unreachable("a policy");
  }
  static bool hasFloat(TypeRange types) {
    return llvm::any_of(types, [](Type t) {
      auto tensor = dyn_cast<RankedTensorType>(t);
      return tensor && isa<FloatType>(tensor.getElementType());
    });
  }
  /// Tries to build the gradient in a scratch block.
  static StringRef gradientOf(Operation *op) {
    if (!hasFloat(op->getOperandTypes()) || !hasFloat(op->getResultTypes()))
      return "none";
    // Train mode or dlc-randomize replaces these by ops with a gradient.
    if (isa<ir::BatchNormInferOp, ir::DropoutOp>(op))
      return "yes";
    auto rule = dyn_cast<ir::DifferentiableInterface>(op);
    if (!rule)
      return "no";
    OpBuilder b(op->getContext());
    Block scratch;
    b.setInsertionPointToEnd(&scratch);
    // For the first float result: the others may only serve the gradient.
    SmallVector<Value> dy(op->getNumResults()), dx;
    auto first = llvm::find_if(op->getResults(),
                               [](Value v) { return hasFloat(v.getType()); });
    dy[(*first).getResultNumber()] = *first;
    const bool isBuilt = succeeded(rule.buildGradient(b, dy, dx));
    scratch.dropAllReferences();
    if (!isBuilt)
      return "no";
    return llvm::any_of(dx, [](Value v) { return bool(v); }) ? "yes" : "zero";
  }

  /// A model that updates its weights itself has nothing to train.
  void suggestPrediction() {
    if (report.ok() || options.predictOnly)
      return;
    for (OperatorCheck &op : report.ops)
      if (op.name.starts_with("ai.onnx.preview.training.")) {
        op.advice = "makes the model a training step of its own: "
                    "--predict-only runs it as it is";
        report.errors.push_back(printable(op.name) + " " + op.advice);
        return;
      }
  }
  /// Null, with errors, if a library has no code for the target.
  OwningOpRef<ModuleOp> moduleFor(const CompileOptions &o) {
    if (model->opLibraries.empty() ||
        o.train.target.name == options.train.target.name)
      return model->module->clone();
    auto imported =
        import::importOnnx(context, o.model, o.importing(o.sizes().front()));
    return imported.ok() ? std::move(imported->module)
                         : OwningOpRef<ModuleOp>();
  }
  Status lower(const std::string &target) {
    Findings findings(context);
    CompileOptions o = options;
    o.train.target.name = target;
    auto word = [&](OperatorCheck &op) -> std::string & {
      return op.targets[target];
    };
    OwningOpRef<ModuleOp> module = moduleFor(o);
    if (!module) { // no error: the library may support one target only
      for (const std::string &node : findings.nodes)
        if (OperatorCheck *op = find(node))
          word(*op) = "no", op->advice = findings.errors.front();
      return {};
    }
    plan::Plan plan;
    DLC_ASSIGN(const auto phases, phasesOf(o));
    const PhaseContext asked(o);
    const bool isLowered =
        llvm::all_of(phases,
                     [&](const Phase *phase) {
                       return succeeded(runPhase(*phase, asked, *module));
                     }) &&
        succeeded(emitPlan(*module, plan));
    for (OperatorCheck &op : report.ops)
      word(op) = isLowered ? "yes" : "?";
    if (!isLowered) {
      blame(findings, word);
      return {};
    }
    report.memory[target] = totalBytes(plan);
    double flops = 0;
    for (const auto &program : plan.programs())
      if (program.name() == "train_step")
        for (const auto &command : program.commands())
          flops += double(command.flops());
    report.flops = std::max(report.flops, flops);
    return {};
  }

  const CompileOptions &options;
  MLIRContext context;
  std::optional<import::ImportedModel> model;
  std::map<std::string, size_t> places;                    // operators by node
  std::map<std::string, std::vector<std::string>> modules; // enclosing modules
  CheckReport report;
};

} // namespace

Result<CheckReport> check(const CompileOptions &options) try {
  if (options.autoBatch)
    return usageError("--batch=auto is for dlc compile: give a number");
  return Checker(options).run();
} catch (...) {
  return caughtException(options.model);
}

} // namespace dlc
