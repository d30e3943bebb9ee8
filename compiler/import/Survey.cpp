#include "compiler/import/Survey.h"
#include "compiler/import/CustomOps.h"
#include "compiler/import/Support.h"
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/restore/Restore.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

std::string labelOf(const std::string &name, const std::string &op,
                    const std::string &firstResult) {
  if (!name.empty())
    return name;
  return firstResult.empty() ? op : op + " -> " + firstResult;
}

/// As missingOperators calls it.
static std::string qualifiedName(const onnx::NodeProto &node) {
  const bool isCore = node.domain().empty() || node.domain() == "ai.onnx";
  return isCore ? node.op_type() : node.domain() + "." + node.op_type();
}

Result<std::vector<OperatorUse>>
surveyOnnx(const std::string &path, int64_t budget,
           const std::vector<std::string> &opLibraries) {
  DLC_ASSIGN(const CustomOps custom, CustomOps::load(opLibraries, ""));
  DLC_ASSIGN(auto source, parseOnnx(path));
  DLC_ASSIGN(OnnxFile file, loadRestored(path, Budget(size_t(budget))));
  const HostEvaluator evaluator(file.budget);
  Missing missing = missingOperators(file, [&](const std::string &op) {
    return evaluator.knows(op) || custom.knows(op);
  });

  std::vector<OperatorUse> uses;
  std::map<std::string, size_t> places;
  for (const onnx::NodeProto &node : source->graph().node()) {
    auto [place, isNew] = places.emplace(qualifiedName(node), uses.size());
    if (isNew)
      uses.push_back({place->first, {}, missing.erase(place->first) > 0});
    uses[place->second].nodes.push_back(labelOf(
        node.name(), node.op_type(), node.output_size() ? node.output(0) : ""));
  }
  for (auto &[name, nodes] : missing)
    uses.push_back({name, std::move(nodes), true});
  return uses;
}

} // namespace dlc::import
