// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Decisions.h"
#include "compiler/import/file/GraphCheck.h"
#include "runtime/base/Text.h"
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace dlc::import {
namespace {

/// Text of a warning before and after the names of its tensors; kinds without a
/// row have no warnings.
struct Warning {
  const char *kind, *before, *after;
  const char *end = "torch.onnx.export(..., dynamo=True, optimize=False)";
};

constexpr Warning kWarnings[] = {
    {"as it is",
     "the exporter folded functions of parameters that cannot be inverted; "
     "their results train instead: ",
     ". To train the parameters, export with "},
    {"resized",
     "tables of one parameter that the exporter moved or joined, and resized "
     "where the source interpolates them; they train in the size that the "
     "file has: ",
     ". Where that is not the parameter's, export with "},
    {"one node",
     "norms that the exporter merged, as the source has several with equal "
     "parameters, train as one: ",
     ". Unless the source calls one module twice, export with "},
    {"apart",
     "parts of one parameter that hold the same numbers train as different "
     "parts of it: ",
     ". If the source reads one of them several times, export with "},
    {"overlapping",
     "parts of one parameter that have elements in common, each a tensor of "
     "its own in the file, are not trained: ",
     ". To train the parameter, export with "},
    {"lost", "parameters of the source that the file does not have: ",
     ". They cannot be trained. If the model uses them, the exporter folded "
     "them away: export with "},
    {"unnamed", "parameters of the source that no node names: ",
     ". A tool fused nodes after the export, whose tensors train under new "
     "names; for the source's names, give dlc ",
     "the exporter's own file"},
    {"untrained",
     "constants that the exporter computed, perhaps from parameters, which are "
     "not trained: ",
     ". To train them as they are, compile with --train=REGEX, which they "
     "match; to train the parameters, export with "},
    {"number",
     "scalars that are not trained, as the file does not say whether they are "
     "parameters or settings: ",
     ". Compile with --train=REGEX for parameters and --freeze=REGEX for "
     "settings, or export with "},
    {"zero row",
     "a row of zeros in an embedding table, as torch makes for its "
     "padding_idx, which this file cannot say; the row trains as the others "
     "do. If it is a padding row, compile with ",
     ", or export with "},
    {"frequency",
     "embedding tables of which the source divides the gradient of each row by "
     "its count in the batch (scale_grad_by_freq), which dlc does not: ",
     "", ""},
    {"smoothing",
     "losses without the label_smoothing that the source gives them, which the "
     "exporter dropped: ",
     ". To smooth the labels, make the scores an output and compile with ",
     "--loss=OUTPUT:cross_entropy --label-smoothing=NUMBER"},
    {"fixed",
     "tensors that are named as parameters contain values that models do not "
     "train (tables of sines, progressions, windows), and are not trained: ",
     ". If they are learned, compile with ", "--train=REGEX, which they match"},
    {"kept",
     "tensors that are named and used as models do with their buffers "
     "(statistics of the input, frozen norms, frequencies) are not trained: ",
     ". Those that are parameters need ", "--train=REGEX, which they match"},
    {"trained",
     "tensors that are trained, as nothing but the name says that they are "
     "buffers: ",
     ". Those that are need ", "--freeze=REGEX, which they match"},
    {"by role",
     "tensors that the file does not call parameters or buffers are trained, "
     "as products and sums read them: ",
     ". Those that are buffers need ", "--freeze=REGEX, which they match"},
    {"operand",
     "tensors that sums or products read, but no layer, are not trained: ",
     ". Those that are parameters (positions, scales) need ",
     "--train=REGEX, which they match; --freeze=REGEX keeps the others without "
     "this warning"},
    {"two biases",
     "biases of recurrent layers that are zeros; both halves train, by which "
     "they move twice as far as in a source that has one bias, such as Keras: ",
     ". If it has one, compile with ",
     "--lr-scale=REGEX:0.5, which they match"},
    {"straight through",
     "sums x + (q - x), which is q, are read as the straight-through "
     "estimators that they look like, whose detach() an exporter drops; "
     "nothing learns through q - x: ",
     ". Where q is to learn, write q, or give the model nodes ",
     "ai.dlc.StopGradient (docs/guide/losses.md)"},
    {"detached",
     "values that the source detaches, which the file's notes do not place; "
     "gradients go through them: ",
     ". Export with "},
};

/// "'sub_1' (of 'attn.gate' and 2 more)"
std::string quoted(const Decision &decision) {
  std::string text =
      fmt::format("'{}'", printable(decision.named.empty() ? decision.tensor
                                                           : decision.named));
  std::vector<std::string> of = decision.of;
  if (of.empty())
    return text;
  of[0] = fmt::format("'{}'", printable(of[0]));
  return fmt::format("{} (of {})", text, listed(of, 1));
}

/// Decisions about training options, not about the exporter's changes.
const std::set<std::string> kOfTraining = {
    "padding",   "zero row",  "fixed",      "kept",     "trained",
    "by role",   "operand",   "fresh",      "number",   "untied",
    "carried",   "one bias",  "two biases", "detached", "straight through",
    "quantized", "frequency", "smoothing"};

} // namespace

DecisionReport report(const std::vector<Decision> &decisions) {
  std::map<std::string, int> counts;
  std::map<std::string, std::vector<std::string>> warned;
  for (const Decision &decision : decisions) {
    if (!kOfTraining.count(decision.kind))
      ++counts[decision.kind];
    if (decision.warn)
      warned[decision.kind].push_back(quoted(decision));
  }
  std::vector<std::string> kinds;
  for (const auto &[kind, count] : counts)
    kinds.push_back(fmt::format("{} {}", count, kind));
  DecisionReport report;
  if (!counts.empty())
    report.summary =
        fmt::format("the exporter merged or folded tensors: {} (dlc inspect "
                    "says which and why)",
                    fmt::join(kinds, ", "));
  for (const Warning &warning : kWarnings)
    if (auto names = warned.find(warning.kind); names != warned.end())
      report.warnings.push_back(fmt::format("{}{}{}{}", warning.before,
                                            listed(names->second, 3),
                                            warning.after, warning.end));
  return report;
}

} // namespace dlc::import
