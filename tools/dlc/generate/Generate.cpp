// SPDX-License-Identifier: Apache-2.0
// dlc generate: continues a text with a language model.
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/generate/Vocabulary.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/tokens/TokenFile.h"
#include "runtime/train/generate/Generator.h"
#include "runtime/train/generate/Sampler.h"

#include <chrono>
#include <iostream>
#include <iterator>

namespace dlc::tool {
namespace {

struct GenerateArguments : FlagArguments {
  GenerateArguments() : FlagArguments("generate") {
    table.group("Options");
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
