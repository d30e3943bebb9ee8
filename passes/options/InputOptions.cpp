// SPDX-License-Identifier: Apache-2.0
#include "passes/Options.h"
#include "runtime/base/options/Arguments.h"
#include "runtime/base/options/PixelNumbers.h"

namespace dlc {

Result<PixelInput> PixelInput::parse(const std::string &text) {
  const size_t open = text.find('(');
  PixelInput input{text.substr(0, open), {}, {}, {}};
  std::string rest = open == text.npos ? "" : "input" + text.substr(open);
  DLC_ASSIGN(auto arguments, takeArguments(rest, {"input"}));
  if (input.name.empty() || rest != (open == text.npos ? "" : "input"))
    return usageError("expected INPUT[(scale=X,mean=[M,...],std=[S,...])], "
                      "found '{}'",
                      text);
  for (const Argument &argument : arguments) {
    if (argument.key == "mean") {
      DLC_ASSIGN(input.mean, parseMeans(argument.words));
    } else if (argument.key == "std") {
      DLC_ASSIGN(input.std, parseDeviations(argument.words));
    } else if (argument.key == "scale" && argument.words.size() == 1) {
      DLC_ASSIGN(input.scale,
                 parseFraction(argument.words[0], kAboveZero, kNoLimit));
    } else {
      return usageError("'{}' has '{}', known are scale=X, mean=[M,...] and "
                        "std=[S,...]",
                        text, argument.key);
    }
  }
  if (input.mean.empty() != input.std.empty())
    return usageError("'{}': mean and std need each other", text);
  return input;
}

void InputOptions::addTo(OptionTable &table) {
  table
      .list("model.uint8-input", pixels, "INPUT[(mean=[M,...],std=[S,...])]",
            "input of f32 that becomes uint8: a step computes (x / 255 - mean) "
            "/ std itself, or (x * scale - mean) / std with scale=X; numbers "
            "are one, or one for each channel")
      .set = [this](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(PixelInput::parse(word).status());
    pixels = words;
    return {};
  };
}

} // namespace dlc
