// SPDX-License-Identifier: Apache-2.0
// dlc data tokenize: text to a file of tokens, which many runs can map; dlc
// data detokenize: back.
#include "tools/dlc/Commands.h"
#include "tools/dlc/inspect/DataReport.h"

#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/text/TextFiles.h"
#include "runtime/data/text/TokenDecoder.h"
#include "runtime/data/text/Tokenizer.h"
#include "runtime/data/tokens/TokenFile.h"

#include <algorithm>
#include <array>

namespace dlc::tool {
namespace {

struct TokenizeArguments {
  std::string path, tokenizer, output, documents = "none";
};

Result<std::vector<uint32_t>> tokensOf(const std::string &path,
                                       const std::string &tokenizer,
                                       Documents documents) {
  DLC_ASSIGN(const auto read, Tokenizer::open(tokenizer));
  DLC_ASSIGN(const auto files, textFilesOf(path));
  std::vector<uint32_t> all;
  for (const std::string &file : files) {
    DLC_ASSIGN(const MappedFile text, MappedFile::open(file));
    auto some = read->encode(text.text(), documents);
    if (!some)
      return some.status().withContext(fmt::format("'{}'", file));
    all.insert(all.end(), some->begin(), some->end());
  }
  DLC_TRY(mappedFilesStatus());
  return all;
}

// As llm.c writes them, in 16 bits where all have room.
Status writeTokens(const std::string &path,
                   const std::vector<uint32_t> &tokens) {
  if (tokens.size() > size_t(INT32_MAX))
    return limitExceeded("{} tokens are more than a file's header can count: "
                         "tokenize parts of the text",
                         tokens.size());
  const bool isWide =
      std::any_of(tokens.begin(), tokens.end(),
                  [](uint32_t token) { return token > UINT16_MAX; });
  std::array<int32_t, 256> header{};
  header[0] = isWide ? 20240801 : 20240520;
  header[1] = isWide ? 7 : 1;
  header[2] = int32_t(tokens.size());
  DLC_ASSIGN(AtomicFile file, AtomicFile::create(path));
  DLC_TRY(file.writer().write(header.data(), sizeof header));
  if (isWide) {
    DLC_TRY(
        file.writer().write(tokens.data(), tokens.size() * sizeof(uint32_t)));
  } else {
    const std::vector<uint16_t> narrow(tokens.begin(), tokens.end());
    DLC_TRY(
        file.writer().write(narrow.data(), narrow.size() * sizeof(uint16_t)));
  }
  return file.commit();
}

Status tokenize(const TokenizeArguments &arguments) {
  DLC_ASSIGN(const auto tokens, tokensOf(arguments.path, arguments.tokenizer,
                                         *documentsFrom(arguments.documents)));
  if (tokens.empty())
    return failed("'{}' has no text", arguments.path);
  DLC_TRY(writeTokens(arguments.output, tokens));
  info("{}: {} tokens, the largest is {}", arguments.output, tokens.size(),
       *std::max_element(tokens.begin(), tokens.end()));
  return {};
}

struct DetokenizeArguments {
  std::string path, tokens = "auto", tokenizer, output;
  bool skipsSpecial = false;
};

Status detokenize(const DetokenizeArguments &arguments) {
  DLC_ASSIGN(const auto decoder, TokenDecoder::open(arguments.tokenizer));
  DLC_ASSIGN(const TokenFile tokens,
             TokenFile::open(arguments.path, tokenWidthFrom(arguments.tokens)));
  TokenDecoder::Stream stream(*decoder, arguments.skipsSpecial);
  std::string text;
  int64_t without = 0;
  std::vector<int64_t> some(1 << 16);
  for (int64_t at = 0; at < tokens.count(); at += int64_t(some.size())) {
    some.resize(size_t(std::min<int64_t>(1 << 16, tokens.count() - at)));
    tokens.read(at, int64_t(some.size()), some.data());
    for (const int64_t token : some) {
      without += !decoder->textOf(uint32_t(token));
      text += stream.add(uint32_t(token));
    }
  }
  text += stream.finish();
  DLC_TRY(mappedFilesStatus());
  if (without)
    warning("{} of {} tokens are none of the tokenizer's, and have no text",
            without, tokens.count());
  if (arguments.output.empty()) {
    printOut("{}", text);
    return {};
  }
  return writeFileAtomically(arguments.output, text);
}

void addDetokenize(CommandLine &line, CLI::App &data) {
  auto arguments = std::make_shared<DetokenizeArguments>();
  CLI::App *command =
      data.add_subcommand("detokenize", "the text of a file of tokens");
  command->add_option("path", arguments->path, "a .bin of tokens")->required();
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "tokenizer.json of the model")
      ->required();
  command
      ->add_option("--tokens", arguments->tokens,
                   "type of a file without a header")
      ->check(CLI::IsMember({"auto", "uint16", "uint32"}));
  command->add_flag("--skip-special-tokens", arguments->skipsSpecial,
                    "special tokens have no text");
  command->add_option("-o,--output", arguments->output,
                      "a file for the text, byte by byte; default: stdout, "
                      "where control characters are escaped");
  command->footer("Example:\n  dlc data detokenize book.bin "
                  "--tokenizer=tokenizer.json -o book.txt");
  command->callback([&line, arguments] {
    line.chosen = [arguments] { return report(detokenize(*arguments)); };
  });
}

} // namespace

Status reportText(const std::string &path, const std::string &tokenizer,
                  DataReport &report) {
  if (tokenizer.empty())
    return failed("'{}' is text: give --tokenizer=tokenizer.json, the model's",
                  path);
  DLC_ASSIGN(const auto tokens, tokensOf(path, tokenizer, Documents::None));
  const uint32_t most =
      tokens.empty() ? 0 : *std::max_element(tokens.begin(), tokens.end());
  report.json["tokens"] = tokens.size(), report.json["largest"] = most;
  report.line("  {} tokens, the largest is {}", tokens.size(), most);
  return {};
}

void addTokenize(CommandLine &line, CLI::App &data) {
  auto arguments = std::make_shared<TokenizeArguments>();
  CLI::App *command = data.add_subcommand(
      "tokenize", "text as a file of tokens, which any number of runs may map");
  command
      ->add_option("path", arguments->path,
                   "a .txt, numbered ones, or a folder of them")
      ->required();
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "tokenizer.json of the model")
      ->required();
  command
      ->add_option("--special-tokens", arguments->documents,
                   "documents that get the tokenizer's special tokens: none, "
                   "file, line")
      ->check(CLI::IsMember({"none", "file", "line"}));
  command->add_option("-o,--output", arguments->output, ".bin for the tokens")
      ->required();
  command->footer("Files follow each other. The output is that of llm.c, with "
                  "a header that tells the type.\n\nExample:\n"
                  "  dlc data tokenize book.txt --tokenizer=tokenizer.json -o "
                  "book.bin");
  command->callback([&line, arguments] {
    line.chosen = [arguments] { return report(tokenize(*arguments)); };
  });
  addDetokenize(line, data);
}

} // namespace dlc::tool
