// What of a tokenizer.json decides how text is encoded.
#pragma once

#include "runtime/data/text/BertText.h"
#include "runtime/data/text/BytePairs.h"
#include "runtime/data/text/Pieces.h"
#include "runtime/data/text/WordPieces.h"

#include <optional>
#include <vector>

namespace dlc {

struct AddedToken {
  std::string text;
  uint32_t id = 0;
  bool isNormalized = false; // found behind the others
};

struct TokenizerJson {
  // WordPiece of BERT's words; otherwise byte-level BPE, of pieces by
  // `pattern`.
  std::optional<WordPieces> words;
  BertRules bert;
  BytePairs pairs;
  PiecePattern pattern = PiecePattern::Gpt2;
  bool isNfc = false; // text is to be in NFC
  std::vector<AddedToken> added;
};

// Errors without the file's name: see Tokenizer::open().
Result<TokenizerJson> parseTokenizerJson(std::string_view text);

} // namespace dlc
