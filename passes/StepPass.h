// What the passes of Passes.td are: they run on a module and read some of the
// options of a step.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/Options.h"

namespace dlc {

/// Rows of a table as options of MLIR's textual pipelines, by the names of
/// their flags.
class TextOptions {
public:
  using List = mlir::detail::PassOptions::ListOption<std::string>;

  /// The table's rows from the one of that number on; `make` makes a List of
  /// its arguments.
  template <class Make>
  void add(const OptionTable &table, size_t from, Make make) {
    for (size_t i = from; i < table.all().size(); ++i) {
      const dlc::Option &option = table.all()[i];
      const auto name = llvm::StringRef(option.flag).drop_front(2);
      texts.push_back({&option, make(name, llvm::cl::ValueOptional,
                                     llvm::cl::desc(option.help))});
    }
  }
  /// Sets the fields of what was given, and checks them.
  Status apply(const OptionTable &table) const;
  /// Takes over the fields, so that MLIR prints them.
  void show();

private:
  struct Text {
    const dlc::Option *option; // lives as long as its table
    std::unique_ptr<List> words;
  };
  std::vector<Text> texts;
};

/// A pass says in its constructors what it reads:
///
///   ClipGradients() { reads<&StepOptions::clip>(); }
///
/// dlc-opt then takes these options by the names of their flags,
/// --dlc-clip-gradients=clip-grad=1, with the same checks and help.
class StepPass : public mlir::OperationPass<mlir::ModuleOp> {
public:
  /// Options that are resolved and valid, in place of dlc-opt's.
  void take(const StepOptions &given);
  mlir::LogicalResult
  initializeOptions(llvm::StringRef text,
                    llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)>
                        report) override;

protected:
  explicit StepPass(mlir::TypeID id) : OperationPass(id) {}
  StepPass(const StepPass &other);

  template <auto... members> void reads() {
    (bind(
         [](StepOptions &o, OptionTable &table) { (o.*members).addTo(table); }),
     ...);
  }

  StepOptions options;

private:
  using Binding = void (*)(StepOptions &, OptionTable &);
  void bind(Binding binding);

  OptionTable table;
  std::vector<Binding> bindings;
  TextOptions texts;
};

/// A pass of Passes.td with the options of a step.
std::unique_ptr<mlir::Pass> with(const StepOptions &options,
                                 std::unique_ptr<mlir::Pass> pass);

} // namespace dlc
