// SPDX-License-Identifier: Apache-2.0
// The rows of what is the compiler's own; those of a step are passes/options.
#include "compiler/driver/Casts.h"
#include "compiler/driver/Options.h"
#include "compiler/import/Padding.h"
#include "compiler/import/state/Dropouts.h"

#include "llvm/ADT/StringExtras.h"
#include <fmt/ranges.h>

namespace dlc {
namespace {

using Dims = std::map<std::string, std::vector<int64_t>>;

/// "8,32", each of at least `low` and there once.
Result<std::vector<int64_t>> parseCounts(const std::string &text, int64_t low,
                                         int64_t high) {
  std::vector<int64_t> counts;
  for (llvm::StringRef word : llvm::split(text, ',')) {
    DLC_ASSIGN(int64_t n, parseCount(word.str(), low, high));
    if (llvm::is_contained(counts, n))
      return usageError("{} is given twice", n);
    counts.push_back(n);
  }
  return counts;
}

Status setBatches(std::vector<int64_t> &batches, const Words &words) {
  constexpr int64_t kMost = int64_t(1) << 30;
  DLC_ASSIGN(auto counts,
             parseCounts(fmt::format("{}", fmt::join(words, ",")), 0, kMost));
  if (counts.size() > 1 && llvm::is_contained(counts, 0))
    return usageError("expected numbers of at least 1, found 0 among {}",
                      counts.size());
  batches = counts == std::vector<int64_t>{0} ? std::vector<int64_t>()
                                              : std::move(counts);
  return {};
}

Status setDims(Dims &dims, const Words &words) {
  dims.clear();
  for (const std::string &word : words) {
    const size_t split = word.find('=');
    if (split == std::string::npos)
      return usageError("expected NAME=N, found '{}'", word);
    auto sizes = parseCounts(word.substr(split + 1), 0, INT64_MAX);
    if (!sizes)
      return usageError("expected NAME=N with N of 0 or more, found '{}': {}",
                        word, sizes.status().message());
    if (sizes->size() > 1 && llvm::is_contained(*sizes, 0))
      return usageError("expected NAME=N,M with numbers of at least 1, found "
                        "'{}'",
                        word);
    dims[word.substr(0, split)] = *std::move(sizes);
  }
  return {};
}

/// What an export for inference has lost of training.
void addTrainMode(OptionTable &table, import::ImportOptions &i) {
  Option &dropout = table.list(
      "model.dropout", i.dropouts, "RATIO",
      "drops out in training though the file is in inference form: each "
      "Dropout "
      "node at its own ratio, or all at RATIO; REGEX:RATIO: behind nodes that "
      "match, the first rule that matches counts");
  dropout.optionalWord = true;
  dropout.set = [&i](auto &words) -> Status {
    if (words == Words{"false"})
      return i.dropouts.clear(), Status();
    for (const std::string &word : words)
      DLC_TRY(import::checkDropout(word));
    i.dropouts = words;
    return {};
  };
  dropout.get = [&i] {
    return i.dropouts.empty() ? Words{"false"} : i.dropouts;
  };
  table.toggle(
      "model.unfold-bn", i.renewNorms,
      "a new batch norm behind each convolution into which an exporter "
      "folded one; it normalises by the batch from the first step on, "
      "and computes nothing in eval and predict until its statistics "
      "move");
  table
      .patterns(
          "model.unfold-bn-at", i.renewNormsAt,
          "behind the Conv, ConvTranspose and Gemm nodes that match, where "
          "the file does not say")
      .only("model.unfold-bn", {});
}

void addSizes(OptionTable &table, CompileOptions &o) {
  Option &batch =
      table.add("model.batch",
                "rows of one rank's micro-batch; 0: those that the model was "
                "exported for, else 32; several: programs for each, of which "
                "the data chooses; auto: the most for which --memory is enough",
                "N[,N...]");
  batch.set = [&o](auto &words) {
    o.autoBatch = words == Words{"auto"};
    return setBatches(o.batches, o.autoBatch ? Words{"0"} : words);
  };
  batch.get = [&o] {
    return Words{o.autoBatch ? "auto"
                 : o.batches.empty()
                     ? "0"
                     : fmt::format("{}", fmt::join(o.batches, ","))};
  };
  Option &dim = table.add(
      "model.dim", "binds a symbolic dimension of the model; several: as above",
      "NAME=N[,N...]");
  dim.repeats = true;
  dim.set = [&o](auto &words) { return setDims(o.dims, words); };
  dim.get = [&o] {
    Words words;
    for (const auto &[name, sizes] : o.dims)
      words.push_back(fmt::format("{}={}", name, fmt::join(sizes, ",")));
    return words;
  };
  table.require([&o](const OptionTable::Given &) -> Status {
    return !o.autoBatch || o.memory.budget > 0
               ? Status()
               : usageError("--batch=auto needs --memory=SIZE, which it fills");
  });
  table.require([&o](const OptionTable::Given &) -> Status {
    size_t count = std::max<size_t>(1, o.batches.size());
    for (const auto &[name, sizes] : o.dims)
      count = std::min(count * sizes.size(), kMaxSizes + 1);
    return count <= kMaxSizes
               ? Status()
               : usageError("--batch and --dim make more than {} sizes: "
                            "compile fewer",
                            kMaxSizes);
  });
}

void addModel(OptionTable &table, CompileOptions &o) {
  import::ImportOptions &i = o.import;
  addSizes(table, o);
  table.toggle("model.predict-only", o.predictOnly,
               "no training step: the artifact can only predict");
  table.toggle("model.decode", o.decode,
               "also a program that reads one token more of a text, with a "
               "cache of keys and values, for dlc generate");
  table.require([&o](const OptionTable::Given &) -> Status {
    return o.decode && o.sizes().size() > 1
               ? usageError("--decode is of one size: give one --batch, and "
                            "each --dim one number")
               : Status();
  });
  table.toggle("model.training-info", i.ownStep,
               "the step that the model's own training_info says: its loss, "
               "optimizer, rate and parameters, in place of --loss, "
               "--optimizer and what that reads");
  table.patterns("model.train", i.roles.train,
                 "trains initializers that match, too");
  table.patterns("model.freeze", i.roles.freeze,
                 "does not train those that match");
  table
      .list("model.padding-idx", i.paddings, "PARAM:ROW",
            "a row of an embedding table that gets no gradient, as torch's "
            "padding_idx; files of torch's dynamo exporter say it themselves")
      .set = [&i](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(import::checkPadding(word));
    i.paddings = words;
    return {};
  };
  addTrainMode(table, i);
  Option &features = table.list(
      "model.features", i.features, "NAME,...",
      "inner tensors, by their names or those of the nodes that make them, "
      "that predict and the export return behind the model's outputs");
  features.commas = true;
  table.list(
      "model.op-library", i.opLibraries, "FILE",
      "a shared library with operators of one's own "
      "(runtime/plan/ops/dlc_op.h), whose code runs here and goes into the "
      "artifact: name only what you trust");
  table.choice("model.layout", o.layout, {"auto", "nchw", "nhwc"},
               "of images inside a step; auto: what is faster on the target");
}

void addFineTune(OptionTable &table, import::ImportOptions &i) {
  table
      .list("model.init", i.init.rules, "[REGEX:]KIND",
            "initial values of the weights that match, or of all: "
            "{xavier,kaiming}_{uniform,normal}, trunc_normal, orthogonal, "
            "zeros, ones, keep; the first that matches counts")
      .set = [&i](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(import::InitRule::parse(word).status());
    i.init.rules = words;
    return {};
  };
  table.count("model.replace-head", i.headClasses, 0,
              "classes of a new last layer; 0: the model's own");
  table.text("model.names", i.names, "FILE",
             "a .safetensors file of the weights that the model was exported "
             "with: tensors get its names and layouts by their values");
  table.list("model.untie", i.untied, "NAME",
             "a weight that several modules share, such as embedding and head: "
             "each gets its own, which starts with the same values; a second "
             "name of it, such as lm_head.weight, parts that one alone");
  table.text("model.weights", i.weights, "FILE",
             "takes weights from a .safetensors or .onnx file, by PyTorch's "
             "names and layouts where the model's file says what its tensors "
             "are; a prefix such as 'module.' may be there or not");
  table
      .toggle("model.weights-partial", i.weightsPartial,
              "names that the file lacks, or has in another shape, keep their "
              "value")
      .only("model.weights", {});
}

/// What the importer knows of autocast's lists: the ONNX operators.
void addCastLists(OptionTable &table, AmpOptions &o) {
  for (auto [key, field] :
       {std::pair("amp.allow", &o.allow), std::pair("amp.deny", &o.deny),
        std::pair("amp.infer", &o.infer), std::pair("amp.clear", &o.clear)})
    table.find(key)->set = [field](auto &words) -> Status {
      for (const std::string &word : words)
        DLC_TRY(checkCastName(word));
      *field = words;
      return {};
    };
  table
      .text("amp.lists", o.listsFile, "FILE",
            "a YAML file with more of them by allow, deny, infer and clear")
      .named("--amp-lists")
      .only("amp.level", {"O1", "O2", "O3"})
      .set = [&o](auto &words) -> Status {
    o.fileLists.clear();
    o.listsFile = words.size() == 1 ? words[0] : "";
    if (o.listsFile.empty())
      return {};
    DLC_ASSIGN(o.fileLists, readCastLists(o.listsFile));
    return {};
  };
}

void addMemory(OptionTable &table, CompileOptions &o) {
  table.patterns("memory.recompute", o.memory.recompute,
                 "computes activations of nodes that match again, not to keep "
                 "them");
  table
      .bytes("memory.budget", o.memory.budget,
             "most a rank may take, by computing activations again as needed; "
             "0: no limit")
      .named("--memory");
  table
      .bytes("memory.import-budget", o.import.budget,
             "most that constants computed while a model is read may take, "
             "beside its files' own size, and a step of work for every two "
             "bytes")
      .named("--import-budget");
}

} // namespace

void CompileOptions::addTo(OptionTable &table) {
  addModel(table, *this);
  train.addTo(table);
  addFineTune(table, import);
  addCastLists(table, train.amp);
  addMemory(table, *this);
}

} // namespace dlc
