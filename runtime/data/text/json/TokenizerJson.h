// SPDX-License-Identifier: Apache-2.0
// What of a tokenizer.json decides how text is encoded.
#pragma once

#include "runtime/data/text/BertText.h"
#include "runtime/data/text/BytePairs.h"
#include "runtime/data/text/Pieces.h"
#include "runtime/data/text/TextNormalizer.h"
#include "runtime/data/text/Unigram.h"
#include "runtime/data/text/WordPieces.h"

#include <variant>
#include <vector>

namespace dlc {

struct AddedToken {
  std::string text;
  uint32_t id = 0;
  bool isNormalized = false;                  // found behind the others
  bool takesLeft = false, takesRight = false; // white space beside it
};

// Pieces that tokens do not cross.
enum class PieceKind {
  Matches,   // of a regular expression: byte-level BPE
  Words,     // BERT's
  Metaspace, // blanks are marks, at which words begin
  Whole      // a stretch of text is one
};

struct MetaspaceRules {
  enum class Prepend { Always, First, Never };

  std::string mark = "\u2581";
  Prepend prepend = Prepend::Always; // a mark, where there is none
  bool splits = true;                // before each mark
  bool splitsWhite = false;          // at white space, which goes, before all
};

// What stands around a document, by the post-processor.
struct SpecialTokens {
  std::vector<uint32_t> before, after;
  Status status; // why it is not known
};

struct TokenizerJson {
  TextNormalizer normalizer; // but for BERT's, which is with its words
  bool isNfc = false;        // text is to be in NFC
  PieceKind pieces = PieceKind::Matches;
  PiecePattern pattern = PiecePattern::Gpt2;
  BertRules bert;
  MetaspaceRules metaspace;
  // BytePairs are of bytes if pieces are matches, else of characters.
  std::variant<BytePairs, WordPieces, Unigram> model;
  std::vector<AddedToken> added;
  SpecialTokens special;
};

// Errors without the file's name: see Tokenizer::open().
Result<TokenizerJson> parseTokenizerJson(std::string_view text);

} // namespace dlc
