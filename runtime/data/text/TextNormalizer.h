// SPDX-License-Identifier: Apache-2.0
// What is done to text before it is cut, as the normalizers of the package
// tokenizers do.
#pragma once

#include "runtime/data/text/Charsmap.h"

#include <memory>
#include <variant>

namespace dlc {

// A stretch of text between added tokens, or a part of one that several threads
// share.
struct TextStretch {
  bool begins = true, ends = true; // it has the stretch's ends
  bool isFirst = true;             // of the whole text
};

struct ReplaceStep {
  std::string what, by;
  bool isRun = false; // two and more of `what`, together
};
struct PrependStep { // before what is not empty
  std::string text;
};
struct StripStep { // white space
  bool left = false, right = false;
};
struct PlainStep {}; // unicode/Plain.h
struct LowerStep {}; // BertText.h
using NormalizerStep =
    std::variant<std::shared_ptr<const Charsmap>, ReplaceStep, PrependStep,
                 StripStep, PlainStep, LowerStep>;

// Immutable; any thread may use it.
class TextNormalizer {
public:
  void add(NormalizerStep step);
  bool isEmpty() const { return steps_.empty(); }

  // Bytes that only the stretch's begin or end has are put there. Its begin is
  // no longer the text's where white space or replaced text before it went.
  std::string apply(std::string_view text, TextStretch &stretch) const;

  bool prepends() const;
  // Whether its last step leaves no `text`.
  bool endsWithout(std::string_view text) const;

  // Whether text may be cut before a blank that follows one of ASCII's letters,
  // and both parts give what the whole does.
  bool mayCut() const;

private:
  std::vector<NormalizerStep> steps_;
};

} // namespace dlc
