#include "passes/StepPass.h"

using namespace mlir;

namespace dlc {

Status TextOptions::apply(const OptionTable &table) const {
  OptionTable::Given given;
  for (const Text &text : texts)
    if (text.words->hasValue()) {
      Words words = (**text.words).vec();
      if (words.empty() || words == Words{""}) // a bare name
        words = {"true"};
      DLC_TRY(table.set(*text.option, words, text.option->name()));
      given.push_back(text.option->key);
    }
  return table.check(given);
}

void TextOptions::show() {
  for (Text &text : texts)
    if (auto words = text.option->get())
      *text.words = ArrayRef<std::string>(*words);
}

StepPass::StepPass(const StepPass &other)
    : OperationPass(other), options(other.options) {
  for (Binding binding : other.bindings)
    bind(binding);
}

void StepPass::bind(Binding binding) {
  bindings.push_back(binding);
  const size_t known = table.all().size();
  binding(options, table);
  texts.add(table, known, [&](auto &&...arguments) {
    return std::make_unique<ListOption<std::string>>(*this, arguments...);
  });
}

void StepPass::take(const StepOptions &given) {
  options = given;
  texts.show();
}

LogicalResult StepPass::initializeOptions(
    StringRef text,
    llvm::function_ref<LogicalResult(const llvm::Twine &)> report) {
  if (failed(OperationPass::initializeOptions(text, report)))
    return failure();
  if (Status valid = texts.apply(table); !valid.ok())
    return report(valid.message());
  options.resolve();
  return success();
}

std::unique_ptr<Pass> with(const StepOptions &options,
                           std::unique_ptr<Pass> pass) {
  static_cast<StepPass &>(*pass).take(options);
  return pass;
}

} // namespace dlc
