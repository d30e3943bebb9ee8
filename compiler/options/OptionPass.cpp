// SPDX-License-Identifier: Apache-2.0
#include "compiler/options/OptionPass.h"

using namespace mlir;

namespace dlc {

Status TextOptions::apply(const OptionTable &table) const {
  OptionTable::Given given;
  for (const Text &text : texts)
    if (text.words->hasValue()) {
      Words words = (**text.words).vec();
      if (words.empty() || words == Words{""}) // a bare name
        words = {"true"};
      DLC_TRY(table.set(*text.option, words, text.option->name(), &given));
    }
  return table.check(given);
}

void TextOptions::show() {
  for (Text &text : texts)
    if (auto words = text.option->get())
      *text.words = ArrayRef<std::string>(*words);
}

} // namespace dlc
