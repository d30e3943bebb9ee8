// SPDX-License-Identifier: Apache-2.0
// Rows of the compiler's own options; those of a step are in passes/options.
#include "compiler/driver/Options.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/roles/Padding.h"
#include "compiler/import/rows/Rows.h"
#include "compiler/target/Target.h"

#include "llvm/ADT/StringExtras.h"
#include <fmt/ranges.h>

namespace dlc {
namespace {

using Dims = std::map<std::string, std::vector<int64_t>>;

/// Parses "8,32": unique numbers of at least `low`.
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

/// Options that restore training behaviour lost in an export for inference.
void addTrainMode(OptionTable &table, import::ImportOptions &i) {
  Option &dropout =
      table.list("model.dropout", i.dropouts, "RATIO",
                 "dropout in training for a file in inference form: Dropout "
                 "nodes at their own ratios, or all at RATIO; REGEX:RATIO: "
                 "after nodes whose names match, by the first matching rule");
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
  table.toggle("model.unfold-bn", i.renewNorms,
               "a new batch norm after each convolution into which an exporter "
               "folded one: it normalises by the batch in training, and is the "
               "identity in eval and predict until its statistics change");
  table.toggle("model.qat", i.trainQuantized,
               "quantization-aware training of a file with QuantizeLinear and "
               "DequantizeLinear nodes: its integer weights become floats that "
               "are trained and quantized in each step, by scales that are "
               "trained, too (LSQ)");
  table
      .patterns("model.unfold-bn-at", i.renewNormsAt,
                "Conv, ConvTranspose and Gemm nodes for --unfold-bn, where the "
                "file does not record them")
      .only("model.unfold-bn", {});
  table.patterns("model.freeze-bn", i.frozenNorms,
                 "batch norms, by module names, that use their running "
                 "statistics in training, as in PyTorch's eval mode; they do "
                 "not change (--freeze: their weights and biases)");
}

void addFixedInputs(OptionTable &table, std::map<std::string, double> &inputs) {
  Option &row =
      table.add("model.fix-input",
                "number in place of an input, such as a sampling rate: the "
                "data has no such array, and of an If that depends on it "
                "alone one branch is left",
                "NAME=NUMBER");
  row.repeats = true;
  row.set = [&inputs](auto &words) -> Status {
    inputs.clear();
    for (const std::string &word : words) {
      const size_t split = word.rfind('=');
      if (split == std::string::npos)
        return usageError("expected NAME=NUMBER, found '{}'", word);
      DLC_ASSIGN(inputs[word.substr(0, split)],
                 parseNumber(word.substr(split + 1), -kNoLimit, kNoLimit));
    }
    return {};
  };
  row.get = [&inputs] {
    Words words;
    for (const auto &[name, number] : inputs)
      words.push_back(name + "=" + numberText(number));
    return words;
  };
}

void addSizes(OptionTable &table, CompileOptions &o) {
  Option &batch =
      table.add("model.batch",
                "rows of one rank's micro-batch; 0: as exported, else 32; "
                "several: one program each, selected by the data; auto: the "
                "largest that fits into --memory",
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
  Option &dim = table.add("model.dim",
                          "size of a symbolic dimension; several: one program "
                          "each, selected by the data",
                          "NAME=N[,N...]");
  dim.repeats = true;
  dim.set = [&o](auto &words) { return setDims(o.dims, words); };
  dim.get = [&o] {
    Words words;
    for (const auto &[name, sizes] : o.dims)
      words.push_back(fmt::format("{}={}", name, fmt::join(sizes, ",")));
    return words;
  };
  addFixedInputs(table, o.import.fixedInputs);
  table.require([&o](const OptionTable::Given &) -> Status {
    return !o.autoBatch || o.memory.budget > 0
               ? Status()
               : usageError("--batch=auto needs --memory=SIZE, the limit that "
                            "the batch has to fit");
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
               "a program for prediction only, without a training step");
  table.toggle("model.decode", o.decode,
               "an additional program with a key-value cache that reads one "
               "token at a time, for dlc generate");
  table.toggle("model.pack", o.pack,
               "rows of several documents, which 'position_ids' tells apart: "
               "each is computed as if it stood alone");
  table.require([&o](const OptionTable::Given &) -> Status {
    return o.decode && o.sizes().size() > 1
               ? usageError("--decode supports a single size: give one "
                            "--batch, and one number per --dim")
               : Status();
  });
  table.patterns(
      "model.train", i.roles.train,
      "initializers that train in addition to those that train by role");
  table.patterns("model.freeze", i.roles.freeze,
                 "parameters that do not train");
  table
      .list("model.padding-idx", i.paddings, "PARAM:ROW",
            "row of an embedding table without a gradient, like torch's "
            "padding_idx; files of torch's dynamo exporter record it")
      .set = [&i](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(import::checkPadding(word));
    i.paddings = words;
    return {};
  };
  addTrainMode(table, i);
  Option &features =
      table.list("model.features", i.features, "NAME,...",
                 "inner tensors, by their names or their nodes' names, as "
                 "additional outputs of predict and of the export");
  features.commas = true;
  table.list("model.op-library", i.opLibraries, "FILE",
             "shared library of custom operators (runtime/plan/ops/dlc_op.h), "
             "whose code runs here and becomes part of the artifact: name only "
             "libraries that you trust");
  Option &noRepair =
      table.list("model.no-repair", i.noRepairs, "NAME,...",
                 "repairs of the file to leave out, by their names in "
                 "--explain-import");
  noRepair.commas = true;
  noRepair.set = [&i](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(import::checkNoRepair(word));
    i.noRepairs = words;
    return {};
  };
  table
      .toggle("model.explain-import", i.explain,
              "print each repair of the file: changes and time")
      .notKept();
  table.choice(
      "model.layout", o.layout, {"auto", "nchw", "nhwc"},
      "layout of images inside a step; auto: the faster one on the target");
}

void addFineTune(OptionTable &table, import::ImportOptions &i) {
  table
      .list("model.init", i.init.rules, "[REGEX:]KIND",
            "initial values of the weights whose names match, or of all: "
            "{xavier,kaiming}_{uniform,normal}, trunc_normal, orthogonal, "
            "zeros, ones, keep; the first matching rule applies")
      .set = [&i](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(import::InitRule::parse(word).status());
    i.init.rules = words;
    return {};
  };
  table.count("model.replace-head", i.headClasses, 0,
              "number of classes of a new last layer; 0: no new layer");
  table.text("model.names", i.names, "FILE",
             ".safetensors file of the weights that the model was exported "
             "with; tensors get its names and layouts by comparing values");
  table.list("model.untie", i.untied, "NAME",
             "weight shared by several modules, such as embedding and head, of "
             "which each module gets a copy; with a second name of the weight, "
             "such as lm_head.weight, only that module");
  table.text("model.weights", i.weights, "FILE",
             "initial weights from a .safetensors or .onnx file, by PyTorch's "
             "names and layouts where the model's file records them; a prefix "
             "such as 'module.' is ignored");
  table
      .toggle("model.weights-partial", i.weightsPartial,
              "weights that the file lacks, or has in another shape, keep "
              "their values")
      .only("model.weights", {});
}

void addMemory(OptionTable &table, CompileOptions &o) {
  table.patterns("memory.recompute", o.memory.recompute,
                 "nodes whose activations are recomputed in the backward pass, "
                 "not stored");
  table
      .bytes("memory.budget", o.memory.budget,
             "bound on a rank's memory, met by recomputing activations, or by "
             "copying them to the host and back; 0: none")
      .named("--memory");
  table
      .choice("memory.offload", o.memory.offload, {"auto", "off", "only"},
              "copies of activations to the host's memory and back, to fit "
              "into --memory; auto: where they are predicted to cost less "
              "time than recomputing; only: nothing is recomputed")
      .only("model.target", targetsThat([](const Target &target) {
              return target.hostCopy(1) > 0;
            }));
  table.require([&o](const OptionTable::Given &) -> Status {
    return o.memory.offload != OffloadMode::Only || o.memory.budget > 0
               ? Status()
               : usageError("--offload=only needs --memory=SIZE, the limit "
                            "that a step has to fit");
  });
  table
      .bytes("memory.import-budget", o.import.budget,
             "bound on the memory of constants computed during import, in "
             "addition to the files' size; also bounds the work, one operation "
             "per two bytes")
      .named("--import-budget");
  Option &chunk = table.add(
      "memory.loss-chunk",
      "rows for which a linear layer and its cross entropy are computed, "
      "forward and backward, before the next ones, so that logits are never "
      "whole; auto: where they are large on a CPU, or large for --memory",
      "auto|off|ROWS");
  chunk.set = [&o](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    if (word == "auto" || word == "off" || word == "false") {
      o.memory.lossRows = word == "auto" ? 0 : MemoryOptions::kWhole;
      return {};
    }
    auto rows = parseCount(word, 1);
    if (!rows)
      return usageError("expected auto, off or a number of rows, found '{}'",
                        word);
    o.memory.lossRows = *rows;
    return {};
  };
  chunk.get = [&o] {
    const int64_t rows = o.memory.lossRows;
    return Words{rows > 0                        ? std::to_string(rows)
                 : rows == MemoryOptions::kWhole ? "off"
                                                 : "auto"};
  };
}

/// GPUs before compute capability 8.9 have no products of 8-bit floats.
Status checkFloat8(const StepOptions &step) {
  if (!step.amp.float8() || step.target.name != "cuda")
    return {};
  Words fitting;
  for (const std::string &sm : step.target.sm)
    if (sm.size() > 2 || sm >= "89")
      fitting.push_back(sm);
  if (fitting.size() == step.target.sm.size())
    return {};
  return usageError(
      "--amp-dtype=fp8 needs GPUs of compute capability 8.9 or "
      "newer, but kernels are compiled for --sm={}: use --sm={}, "
      "or --amp-dtype=bf16",
      fmt::join(step.target.sm, ","),
      fitting.empty() ? "90" : fmt::format("{}", fmt::join(fitting, ",")));
}

} // namespace

void CompileOptions::addTo(OptionTable &table) {
  addModel(table, *this);
  table.text("train.teacher", teacher, "FILE",
             "ONNX model that a step computes, too, in inference mode, for "
             "--distill; its weights do not train, and it is no part of eval, "
             "predict and export");
  table.require([this](auto &) {
    if (teacher.empty() != train.distill.terms.empty())
      return usageError("--teacher and --distill need each other: "
                        "--teacher=FILE --distill='kl(temperature=2)'");
    return !teacher.empty() && predictOnly
               ? usageError("--teacher is a part of training steps, which "
                            "--predict-only leaves out: drop one of the two")
               : Status();
  });
  train.addTo(table);
  table.require([this](auto &) { return checkFloat8(train); });
  addFineTune(table, import);
  Words operators;
  for (const auto &[name, row] : import::allRows())
    operators.push_back(name);
  train.amp.addLists(table, std::move(operators));
  addMemory(table, *this);
}

} // namespace dlc
