// SPDX-License-Identifier: Apache-2.0
// dlc generate: continues a text with a language model.
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/spool/TextProgram.h"
#include "runtime/data/tokens/TokenSource.h"
#include "runtime/train/generate/Generator.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <set>

namespace dlc::tool {
namespace {

// Converts tokens to text, with a tokenizer, as bytes, or as numbers.
class Vocabulary {
public:
  // `tokenizer`: a tokenizer.json, for dlc-data; "bytes": a token is a byte;
  // empty: tokens are numbers.
  static Result<Vocabulary> open(const std::string &tokenizer);

  // Tokens of a prompt; numbers are separated by white space or commas.
  // `begins`: with the tokens that the tokenizer adds at the start of a
  // document.
  Result<std::vector<int64_t>> encode(std::string_view prompt,
                                      bool begins) const;

  // Tokens that end a text: `words` are texts of tokens, numbers, or "none"; if
  // empty, all special tokens except the unknown one.
  Result<std::set<int64_t>> endsOf(const std::vector<std::string> &words) const;

  // "'</s>' (2)"
  Result<std::string> nameOf(int64_t token) const;

  // Converts a stream of tokens to printable text, in complete characters.
  class Stream {
  public:
    Stream(const Vocabulary &vocabulary, bool asNumbers);
    // Adds tokens that were read before and must not be printed.
    Status skip(const std::vector<int64_t> &tokens);
    Result<std::string> add(int64_t token);
    Result<std::string> finish();

  private:
    bool asNumbers_, isBytes_, isFirst_ = true;
    std::shared_ptr<TextProgram> program_;
    std::string bytes_;
  };

private:
  Result<std::vector<int64_t>> idsOf(const Json &question) const;

  bool isBytes_ = false;
  std::shared_ptr<TextProgram> program_; // null: not needed
};

constexpr std::string_view kWhite = " \t\r\n,";

Result<std::vector<int64_t>> numbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; (at = text.find_first_not_of(kWhite, at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(kWhite, at), text.size());
    const std::string word(text.substr(at, end - at));
    const auto number = parseCount(word, 0, INT32_MAX);
    if (!number)
      return usageError("'{}' in the prompt is not a token id: without "
                        "--tokenizer the prompt consists of token ids",
                        printable(word, 60));
    numbers.push_back(*number);
    at = end;
  }
  return numbers;
}

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The number of available bytes of a character, and whether it is complete.
struct CharacterPart {
  size_t bytes;
  bool isWhole, mayGoOn;
};

CharacterPart firstPart(std::string_view text) {
  const auto lead = uint8_t(text[0]);
  if (lead < 0x80)
    return {1, true, false};
  if (lead < 0xc2 || lead > 0xf4)
    return {1, false, false};
  const size_t whole = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  size_t bytes = 1;
  for (; bytes < std::min(whole, text.size()); ++bytes) {
    const auto next = uint8_t(text[bytes]);
    const uint8_t least = bytes > 1      ? 0x80
                          : lead == 0xe0 ? 0xa0
                          : lead == 0xf0 ? 0x90
                                         : 0x80;
    const uint8_t most = bytes > 1      ? 0xbf
                         : lead == 0xed ? 0x9f
                         : lead == 0xf4 ? 0x8f
                                        : 0xbf;
    if (next < least || next > most)
      return {bytes, false, false};
  }
  return {bytes, bytes == whole, bytes < whole};
}

// Removes complete characters from the start of `bytes` and returns them as
// UTF-8, with one U+FFFD per maximal invalid subpart (Unicode 16, section 3.9).
// An incomplete character at the end remains unless `isEnd`.
std::string takeUtf8(std::string &bytes, bool isEnd) {
  std::string text;
  std::string_view left = bytes;
  while (!left.empty()) {
    const CharacterPart part = firstPart(left);
    if (part.mayGoOn && part.bytes == left.size() && !isEnd)
      break;
    text += part.isWhole ? left.substr(0, part.bytes) : kReplacement;
    left.remove_prefix(part.bytes);
  }
  bytes.erase(0, bytes.size() - left.size());
  return text;
}

bool isNumber(const std::string &word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::string> textIn(const Result<Json> &answer) {
  if (!answer)
    return answer.status();
  return answer->is_string() ? answer->get<std::string>() : "";
}

Result<Vocabulary> Vocabulary::open(const std::string &tokenizer) {
  Vocabulary vocabulary;
  vocabulary.isBytes_ = tokenizer == "bytes";
  if (tokenizer.empty() || vocabulary.isBytes_)
    return vocabulary;
  DLC_ASSIGN(vocabulary.program_, TextProgram::start(tokenizer));
  return vocabulary;
}

// -1 for tokens without a number.
Result<std::vector<int64_t>> Vocabulary::idsOf(const Json &question) const {
  DLC_ASSIGN(const Json answer, program_->ask(question, "ids"));
  std::vector<int64_t> ids;
  for (const Json &id : answer)
    ids.push_back(id.is_number_unsigned() ? id.get<int64_t>() : -1);
  return ids;
}

Result<std::vector<int64_t>> Vocabulary::encode(std::string_view prompt,
                                                bool begins) const {
  if (begins && !program_)
    return usageError("--special-tokens needs --tokenizer=tokenizer.json");
  if (program_) {
    if (!isUtf8(prompt))
      return failed("the prompt is no UTF-8");
    return idsOf({{"encode", prompt}, {"begins", begins}});
  }
  if (!isBytes_)
    return numbersIn(prompt);
  std::vector<int64_t> tokens;
  for (const char c : prompt)
    tokens.push_back(uint8_t(c));
  return tokens;
}

Result<std::set<int64_t>>
Vocabulary::endsOf(const std::vector<std::string> &words) const {
  std::set<int64_t> ends;
  if (words.empty() && program_) {
    DLC_ASSIGN(const auto special, idsOf({{"ends", true}}));
    ends.insert(special.begin(), special.end());
  }
  for (const std::string &word : words) {
    if (word == "none") {
      if (words.size() > 1)
        return usageError("--stop=none, and tokens that end the text");
      continue;
    }
    std::vector<int64_t> token = {-1};
    if (program_ && isUtf8(word)) {
      DLC_ASSIGN(token, idsOf({{"names", Json::array({word})}}));
    }
    if (!token.empty() && token[0] >= 0)
      ends.insert(token[0]);
    else if (isNumber(word)) {
      DLC_ASSIGN(const int64_t number, parseCount(word, 0, INT32_MAX));
      ends.insert(number);
    } else
      return usageError("--stop: '{}' is no token{}", printable(word, 60),
                        program_ ? " of the tokenizer"
                                 : "'s number, and there is no tokenizer");
  }
  return ends;
}

Result<std::string> Vocabulary::nameOf(int64_t token) const {
  if (!program_)
    return std::to_string(token);
  DLC_ASSIGN(const Json name, program_->ask({{"name", token}}, "name"));
  return name.is_string()
             ? fmt::format("'{}' ({})", printable(name.get<std::string>(), 60),
                           token)
             : std::to_string(token);
}

Vocabulary::Stream::Stream(const Vocabulary &vocabulary, bool asNumbers)
    : asNumbers_(asNumbers || (!vocabulary.program_ && !vocabulary.isBytes_)),
      isBytes_(vocabulary.isBytes_), program_(vocabulary.program_) {}

Status Vocabulary::Stream::skip(const std::vector<int64_t> &tokens) {
  return asNumbers_ || isBytes_
             ? Status()
             : program_->ask({{"skip", tokens}}, "skipped").status();
}

Result<std::string> Vocabulary::Stream::add(int64_t token) {
  if (asNumbers_)
    return std::exchange(isFirst_, false) ? std::to_string(token)
                                          : fmt::format(" {}", token);
  if (!isBytes_)
    return textIn(program_->ask({{"push", token}}, "text"));
  bytes_ += char(token); // the command rejects values above 255
  return takeUtf8(bytes_, false);
}

Result<std::string> Vocabulary::Stream::finish() {
  if (asNumbers_)
    return std::string();
  return isBytes_ ? Result<std::string>(takeUtf8(bytes_, true))
                  : textIn(program_->ask({{"finish", true}}, "text"));
}

struct GenerateArguments : FlagArguments {
  GenerateArguments() : FlagArguments("generate") {
    addModel(table, "generate.model", model);
    table.text(
        "generate.tokenizer", tokenizer, "FILE|bytes",
        "tokenizer.json; bytes: each token is a byte; default: prompt and "
        "output are token ids");
    Option &text = table.add("generate.prompt", "start of the text", "TEXT");
    text.set = [this](auto &words) -> Status {
      DLC_ASSIGN(prompt, oneWord(words));
      return {};
    };
    text.get = [this]() -> std::optional<Words> {
      return prompt ? std::optional(Words{*prompt}) : std::nullopt;
    };
    table.text(
        "generate.prompt-file", promptFile, "FILE",
        "file with the start of the text, without a newline at its end; a .bin "
        "has tokens with llm.c's header; default without --prompt: stdin");
    table.toggle("generate.special-tokens", specialTokens,
                 "special tokens before the prompt, such as <s>, that the "
                 "tokenizer's post-processor adds to a document");
    table.count("generate.tokens", tokens, 1,
                "largest number of tokens to generate", 1 << 30);
    table.list(
        "generate.stop", stops, "TOKEN",
        "token, as text or id, that ends the text and is not printed; the "
        "flag may be repeated; none: no token; default: each special "
        "token of the tokenizer except the unknown one");
    table.toggle("generate.ids", ids, "token ids as output, not text");
    addAverages(table, "generate.ema", averages);
    addThreads(table, "generate.threads", threads,
               "threads (default: all cores)");
    table.group("Drawing");
    sampling.addTo(table, "generate");
    table.require([this](const OptionTable::Given &) {
      return prompt && !promptFile.empty()
                 ? usageError("--prompt and --prompt-file are both given, "
                              "expected one")
                 : Status();
    });
  }

  std::string model, tokenizer, promptFile;
  std::optional<std::string> prompt;
  SamplerOptions sampling;
  int64_t tokens = 100;
  Words stops;
  bool ids = false, specialTokens = false;
  int averages = 0;
  std::optional<int64_t> threads;
};

Result<std::vector<int64_t>> tokensOfFile(const std::string &path) {
  DLC_ASSIGN(const TokenFile file, TokenFile::open(path, std::nullopt));
  std::vector<int64_t> tokens(size_t(file.count()));
  file.read(0, file.count(), tokens.data());
  return tokens;
}

Result<std::string> promptText(const GenerateArguments &arguments) {
  if (arguments.prompt)
    return *arguments.prompt;
  std::string text;
  if (arguments.promptFile.empty()) {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    DLC_ASSIGN(text, readFile(arguments.promptFile));
  }
  if (text.ends_with('\n'))
    text.pop_back();
  return text;
}

Result<std::vector<int64_t>> promptOf(const GenerateArguments &arguments,
                                      const Vocabulary &vocabulary) {
  if (arguments.promptFile.ends_with(".bin"))
    return tokensOfFile(arguments.promptFile);
  DLC_ASSIGN(const std::string text, promptText(arguments));
  DLC_ASSIGN(auto tokens, vocabulary.encode(text, arguments.specialTokens));
  if (tokens.empty())
    return usageError("the prompt is empty, but generation needs at least one "
                      "token: give --prompt{}",
                      arguments.specialTokens ? "" : ", or --special-tokens");
  return tokens;
}

// The number of generated tokens, and the end token, if one was generated.
struct Written {
  int64_t tokens = 0;
  std::optional<int64_t> end;
};

Result<Written> write(Generator &generator, std::vector<int64_t> tokens,
                      const GenerateArguments &arguments,
                      const Vocabulary &vocabulary,
                      const std::set<int64_t> &ends) {
  Vocabulary::Stream stream(vocabulary, arguments.ids);
  DLC_TRY(stream.skip(tokens));
  Written written;
  bool isFull = false;
  for (; written.tokens < arguments.tokens; ++written.tokens) {
    if (!isFull && int64_t(tokens.size()) > generator.context()) {
      isFull = true;
      warning("the model reads {0} tokens: from here on only the last {0} "
              "tokens of the text",
              generator.context());
    }
    DLC_ASSIGN(const auto logits, generator.next(tokens));
    DLC_ASSIGN(
        const uint32_t token,
        chooseToken(logits, uint64_t(written.tokens), arguments.sampling));
    if (ends.count(token)) {
      written.end = token;
      break;
    }
    if (arguments.tokenizer == "bytes" && token > 255)
      return failed("the model generated token {}, which is not a byte", token);
    tokens.push_back(token);
    DLC_ASSIGN(const std::string text, stream.add(token));
    printText(text);
    flushOutput();
  }
  DLC_ASSIGN(const std::string rest, stream.finish());
  printText(rest + "\n");
  return written;
}

Status generate(const GenerateArguments &arguments) {
  DLC_ASSIGN(const Vocabulary vocabulary,
             Vocabulary::open(arguments.tokenizer));
  DLC_ASSIGN(const auto ends, vocabulary.endsOf(arguments.stops));
  DLC_ASSIGN(Model model, openModel(arguments.model));
  DLC_ASSIGN(const auto session,
             Session::create(std::move(model),
                             {.threads = int(arguments.threads.value_or(0)),
                              .averages = arguments.averages}));
  DLC_ASSIGN(Generator generator, Generator::create(*session));
  if (!generator.hasCache())
    info("each token needs a forward pass over all {} tokens: dlc compile "
         "--decode adds a key-value cache",
         generator.context());
  DLC_ASSIGN(auto tokens, promptOf(arguments, vocabulary));
  const auto begin = std::chrono::steady_clock::now();
  DLC_ASSIGN(const Written written,
             write(generator, std::move(tokens), arguments, vocabulary, ends));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  std::string why;
  if (written.end) {
    DLC_ASSIGN(const std::string end, vocabulary.nameOf(*written.end));
    why = "; ended by " + end;
  }
  info("{} tokens, {:.1f} a second{}", written.tokens,
       double(written.tokens) / std::max(seconds, 1e-9), why);
  return {};
}

} // namespace

void addGenerate(CommandLine &line) {
  CLI::App *command = line.app.add_subcommand(
      "generate", "generate text by a language model, token by token");
  auto arguments = std::make_shared<GenerateArguments>();
  addFlagCommand(line, *command, arguments, generate, {"model"});
  command->footer(
      R"(Text is printed as it is generated, without the prompt, and ends with a newline; control characters are escaped.
The model is causal and compiled for [B, T] tokens: for each token it reads all T again or, compiled with --decode, only
that token. A model that is not causal is refused.

Examples:
  dlc generate runs/gpt-1 --tokenizer=tokenizer.json --prompt='Once upon'
  dlc generate runs/gpt-1 --tokenizer=tokenizer.json --prompt-file=a.txt --tokens=500 \
      --temperature=0.8 --top-p=0.95 --seed=1 --ema
  echo 5 17 3 | dlc generate runs/gpt-1)");
}

} // namespace dlc::tool
