// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Survey.h"
#include "compiler/import/CustomOps.h"
#include "compiler/import/Support.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/file/TorchNotes.h"
#include "compiler/import/fold/HostEval.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

std::string labelOf(const std::string &name, const std::string &op,
                    const std::string &firstResult) {
  if (!name.empty())
    return name;
  return firstResult.empty() ? op : op + " -> " + firstResult;
}

std::string withoutIterations(const std::string &node) {
  std::string text;
  for (size_t i = 0; i < node.size(); ++i) {
    const size_t close =
        node[i] == '[' ? node.find_first_not_of("0123456789", i + 1) : i;
    const bool isIteration = close > i + 1 && close < node.size() &&
                             node[close] == ']' && close + 1 < node.size() &&
                             node[close + 1] == '/';
    if (isIteration)
      i = close;
    else
      text += node[i];
  }
  return text;
}

/// "['', 'b.0', 'b.0.qkv', 'linear']": the scopes between the model and the
/// call.
static std::vector<std::string> modulesIn(const onnx::NodeProto &node) {
  constexpr size_t kLongest = 1 << 12;
  std::vector<std::string> names;
  for (const auto &note : node.metadata_props())
    if (note.key() == "pkg.torch.onnx.name_scopes" &&
        note.value().size() <= kLongest)
      names = quotedStrings(note.value());
  return names.size() > 2 ? std::vector(names.begin() + 1, names.end() - 1)
                          : std::vector<std::string>();
}

namespace {

/// Collects nodes of a graph and its subgraphs by operator.
class Surveyor {
public:
  explicit Surveyor(Missing &missing) : missing(missing) {}

  void add(const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &node : graph.node()) {
      OperatorUse &use = useOf(node);
      const std::string label =
          labelOf(node.name(), node.op_type(), firstResult(node));
      use.nodes.push_back(label);
      if (auto modules = modulesIn(node); !modules.empty())
        use.modules.emplace(label, std::move(modules));
      addBodies(node, node.name().empty() ? firstResult(node) : label);
    }
  }

  std::vector<OperatorUse> uses;

private:
  static std::string firstResult(const onnx::NodeProto &node) {
    return node.output_size() ? node.output(0) : "";
  }

  OperatorUse &useOf(const onnx::NodeProto &node) {
    auto [place, isNew] = places.emplace(operatorName(node), uses.size());
    if (isNew)
      uses.push_back({place->first, {}, missing.erase(place->first) > 0});
    return uses[place->second];
  }

  /// Names bodies as rows/flow/ControlFlow.cpp does.
  void addBodies(const onnx::NodeProto &node, const std::string &label) {
    for (const auto &attribute : node.attribute()) {
      if (!attribute.has_g())
        continue;
      useOf(node).aliases.push_back(label);
      const std::string prefix = withoutIterations(
          label + "/" +
          (node.op_type() == "If" ? attribute.name() + "/" : std::string()));
      for (const onnx::NodeProto &inner : attribute.g().node()) {
        const std::string name =
            prefix + (inner.name().empty() ? inner.op_type() : inner.name());
        useOf(inner).nodes.push_back(name);
        addBodies(inner, name);
      }
    }
  }

  Missing &missing;
  std::map<std::string, size_t> places;
};

} // namespace

Result<std::vector<OperatorUse>>
surveyOnnx(const std::string &path, int64_t budget,
           const std::vector<std::string> &opLibraries) {
  DLC_ASSIGN(const CustomOps custom, CustomOps::load(opLibraries, ""));
  DLC_ASSIGN(auto source, parseOnnx(path));
  DLC_ASSIGN(OnnxFile file, loadOnnx(path, Budget(size_t(budget))));
  const HostEvaluator evaluator(file.budget);
  Missing missing = missingOperators(file, [&](const std::string &op) {
    return evaluator.knows(op) || custom.find(op);
  });

  Surveyor surveyor(missing);
  surveyor.add(source->graph());
  for (auto &[name, nodes] : missing)
    surveyor.uses.push_back({name, std::move(nodes), true});
  return std::move(surveyor.uses);
}

} // namespace dlc::import
