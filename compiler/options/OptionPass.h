// SPDX-License-Identifier: Apache-2.0
// Module passes that read options from a struct: rows of the option table
// (runtime/base/options/OptionTable.h) as options of textual pipelines.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "runtime/base/options/OptionTable.h"

namespace dlc {

/// Exposes rows of a table as options of MLIR's textual pipelines, named as
/// their flags.
class TextOptions {
public:
  using List = mlir::detail::PassOptions::ListOption<std::string>;

  /// Adds the table's rows from index `from` on; `make` constructs a List from
  /// its arguments.
  template <class Make>
  void add(const OptionTable &table, size_t from, Make make) {
    for (size_t i = from; i < table.all().size(); ++i) {
      const Option &option = table.all()[i];
      const auto name = llvm::StringRef(option.flag).drop_front(2);
      texts.push_back({&option, make(name, llvm::cl::ValueOptional,
                                     llvm::cl::desc(option.help))});
    }
  }
  /// Sets the fields of options that were given, and validates them.
  Status apply(const OptionTable &table) const;
  /// Copies the fields into the lists, so that MLIR prints them.
  void show();

private:
  struct Text {
    const Option *option; // lives as long as its table
    std::unique_ptr<List> words;
  };
  std::vector<Text> texts;
};

/// A pass declares in its constructor which members of Options it reads:
///
///   ClipGradients() { reads<&StepOptions::clip>(); }
///
/// dlc-opt then accepts these options by the names of their flags,
/// --dlc-clip-gradients=clip-grad=1, with the same checks and help. If Options
/// has a method resolve(), it is called afterwards.
template <class Options>
class OptionPass : public mlir::OperationPass<mlir::ModuleOp> {
  using Base = mlir::OperationPass<mlir::ModuleOp>;
  using Report = llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)>;

public:
  /// Sets the values that dlc-opt's options change.
  void startFrom(const Options &given) { options = given; }
  /// Sets options that are resolved and valid, instead of dlc-opt's.
  void take(const Options &given) {
    startFrom(given);
    texts.show();
  }
  mlir::LogicalResult initializeOptions(llvm::StringRef text,
                                        Report report) override {
    if (failed(Base::initializeOptions(text, report)))
      return mlir::failure();
    if (Status valid = texts.apply(table); !valid.ok())
      return report(valid.message());
    if constexpr (requires { options.resolve(); })
      options.resolve();
    return mlir::success();
  }

protected:
  explicit OptionPass(mlir::TypeID id) : Base(id) {}
  OptionPass(const OptionPass &other) : Base(other), options(other.options) {
    for (Binding binding : other.bindings)
      bind(binding);
  }

  template <auto... members> void reads() {
    (bind([](Options &o, OptionTable &table) { (o.*members).addTo(table); }),
     ...);
  }

  Options options;

private:
  using Binding = void (*)(Options &, OptionTable &);
  void bind(Binding binding) {
    bindings.push_back(binding);
    const size_t known = table.all().size();
    binding(options, table);
    texts.add(table, known, [&](auto &&...arguments) {
      using List = typename Base::template ListOption<std::string>;
      return std::make_unique<List>(*this, arguments...);
    });
  }

  OptionTable table;
  std::vector<Binding> bindings;
  TextOptions texts;
};

/// Sets the options of `pass`, which must be an OptionPass<Options>.
template <class Options>
std::unique_ptr<mlir::Pass> with(const Options &options,
                                 std::unique_ptr<mlir::Pass> pass) {
  static_cast<OptionPass<Options> &>(*pass).take(options);
  return pass;
}

} // namespace dlc
