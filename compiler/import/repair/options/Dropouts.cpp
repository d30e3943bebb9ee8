// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/NodeView.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/base/options/Pattern.h"
#include <algorithm>
#include <fmt/format.h>

namespace dlc::import {
namespace {

struct Rule {
  std::string text;
  std::optional<Pattern> nodes; // nullopt: the Dropout nodes
  std::optional<double> ratio;  // nullopt: the node's own
  bool fits = false;
};

/// Splits at the last colon, since node names may have colons.
Result<Rule> parse(const std::string &text) {
  if (text == "true" || text == "exported")
    return Rule{text, {}, {}};
  const size_t colon = text.rfind(':');
  const size_t number = colon == std::string::npos ? 0 : colon + 1;
  auto ratio = parseNumber(text.substr(number), 0, 1);
  if (!ratio.ok() || *ratio >= 1 || colon == 0)
    return usageError("expected exported, or RATIO or REGEX:RATIO with a RATIO "
                      "from 0 to below 1, found '{}'",
                      text);
  if (colon == std::string::npos)
    return Rule{text, {}, *ratio};
  DLC_ASSIGN(Pattern nodes, Pattern::parse(text.substr(0, colon)));
  return Rule{text, std::move(nodes), *ratio};
}

bool isDropout(const onnx::NodeProto &node) {
  return operatorName(node) == "Dropout";
}

/// In inference form, unless other nodes determine this.
bool isIdle(const onnx::NodeProto &node, const OnnxFile &file) {
  const std::string flag = inputOf(node, 2);
  const Weight *training = file.weights.find(flag);
  return flag.empty() ||
         (training && training->bytes == 1 && isZero(training->view()));
}

void choose(OnnxFile &file, const onnx::NodeProto &node,
            std::vector<Rule> &rules) {
  bool isChosen = false;
  for (Rule &rule : rules) {
    if (rule.nodes ? !rule.nodes->search(nodeLabel(node)) : !isDropout(node))
      continue;
    rule.fits = true;
    if (!isChosen)
      file.dropouts.emplace(node.output(0), rule.ratio);
    isChosen = true;
  }
}

Status checkFits(const OnnxFile &file, const std::vector<Rule> &rules) {
  for (const Rule &rule : rules) {
    if (rule.fits)
      continue;
    std::vector<std::string> names;
    for (const auto *node : file.nodes)
      if (node->output_size())
        names.push_back(nodeLabel(*node));
    if (rule.nodes)
      return usageError("--dropout={} matches no node{}", rule.text,
                        nearbyNames(rule.nodes->text(), names));
    return usageError(
        "--dropout: the file has no Dropout node; exporters leave them out of "
        "a model in evaluation mode. Export it in training mode "
        "(training=TrainingMode.TRAINING, or model.train() with dynamo=True), "
        "or name the nodes whose results drop out: --dropout=REGEX:RATIO");
  }
  return {};
}

} // namespace

Status checkDropout(const std::string &rule) { return parse(rule).status(); }

Result<int> findDropouts(OnnxFile &file,
                         const std::vector<std::string> &texts) {
  std::vector<Rule> rules;
  for (const std::string &text : texts) {
    DLC_ASSIGN(Rule rule, parse(text));
    rules.push_back(std::move(rule));
  }
  int idle = 0;
  for (const auto *node : file.nodes)
    if (node->output_size() && !node->output(0).empty()) {
      choose(file, *node, rules);
      idle += isDropout(*node) && isIdle(*node, file) &&
              !file.dropouts.count(node->output(0));
    }
  DLC_TRY(checkFits(file, rules));
  if (idle)
    file.remarks.push_back({fmt::format(
        "{} Dropout node{} in inference form and drop{} nothing; --dropout "
        "trains with {}",
        idle, idle > 1 ? "s are" : " is", idle > 1 ? "" : "s",
        idle > 1 ? "their ratios" : "its ratio")});
  return int(file.dropouts.size());
}

} // namespace dlc::import
