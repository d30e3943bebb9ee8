// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/base/options/Pattern.h"
#include <algorithm>
#include <fmt/format.h>
#include <unordered_set>

namespace dlc::import {
namespace {

bool isLayer(const onnx::NodeProto &node) {
  const std::string op = operatorName(node);
  return (op == "Conv" || op == "ConvTranspose" || op == "Gemm") &&
         node.input_size() > 1 && node.output_size() > 0;
}

/// A batch norm that was folded into a layer.
struct FoldedNorm {
  std::string name;                      // "layer1.0.bn1"
  double epsilon = 1e-5, momentum = 0.1; // torch's defaults
};

/// Parsed from the call that torch's dynamo exporter recorded on the fused
/// node.
std::optional<FoldedNorm> notedNorm(const TorchNotes &notes,
                                    const onnx::NodeProto &layer) {
  const TorchCall &call = notes.call(layer);
  if (!call.known || call.target.find("batch_norm") == std::string::npos ||
      call.args.size() < 7 || !call.args[1].starts_with('%'))
    return std::nullopt;
  auto weight = notes.parameter(call.args[1].substr(1));
  if (!weight)
    return std::nullopt;
  const size_t first = call.target.ends_with("no_training") ? 5 : 6;
  FoldedNorm norm{withoutEnd(*weight, ".weight")};
  norm.momentum = asNumber<double>(call.args[first]).value_or(norm.momentum);
  if (first + 1 < call.args.size())
    norm.epsilon =
        asNumber<double>(call.args[first + 1]).value_or(norm.epsilon);
  return norm;
}

class NormRenewer {
public:
  explicit NormRenewer(OnnxFile &file)
      : file(file), edit(file), notes(file.model->graph()) {}

  Result<int> run(const std::vector<std::string> &patterns) {
    DLC_ASSIGN(auto layers, chosen(patterns));
    for (onnx::NodeProto *layer : layers)
      DLC_TRY(renew(*layer).withContext("--unfold-bn"));
    edit.close();
    // Decisions about lost norms, which are restored.
    std::erase_if(file.decisions, [&](const Decision &decision) {
      return decision.kind == "lost" && edit.weight(decision.tensor);
    });
    DLC_TRY(putInOrder(file));
    file.remarks.push_back(
        {fmt::format("new batch norms: {}; outside of training they start as "
                     "identities",
                     layers.size())});
    return int(layers.size());
  }

private:
  Result<std::vector<onnx::NodeProto *>>
  chosen(const std::vector<std::string> &texts) {
    DLC_ASSIGN(auto patterns, parsePatterns(texts));
    std::vector<onnx::NodeProto *> layers;
    std::vector<std::string> names;
    std::vector<bool> matched(patterns.size());
    const auto found = foldedNorms(file);
    const std::unordered_set<const onnx::NodeProto *> folded(found.begin(),
                                                             found.end());
    for (auto &node : *edit.graph.mutable_node()) {
      bool is = patterns.empty() && folded.count(&node);
      if (is && !isLayer(node))
        return badModel("--unfold-bn: '{}' is a {}, which has more in it than "
                        "the layer that a batch norm was folded into; give dlc "
                        "the file as it was before its optimizer",
                        printable(nodeLabel(node)), printable(node.op_type()));
      if (!isLayer(node))
        continue;
      names.push_back(nodeLabel(node));
      for (size_t i = 0; i < patterns.size(); ++i)
        if (patterns[i].search(names.back()))
          is = matched[i] = true;
      if (is && !hasNorm(node))
        layers.push_back(&node);
    }
    for (size_t i = 0; i < patterns.size(); ++i)
      if (!matched[i])
        return usageError("--unfold-bn-at={} matches no Conv, ConvTranspose or "
                          "Gemm{}",
                          texts[i], nearbyNames(texts[i], names));
    if (layers.empty())
      return usageError(
          "--unfold-bn: {}; --unfold-bn-at=REGEX names the layers that are to "
          "have one",
          patterns.empty()
              ? "nothing in the file says that a batch norm was folded"
              : "each layer that matches has a batch norm behind it");
    return layers;
  }

  bool hasNorm(const onnx::NodeProto &layer) const {
    return std::ranges::any_of(edit.uses(layer.output(0)), [](const Use &use) {
      return use.node->op_type() == "BatchNormalization";
    });
  }

  Status renew(onnx::NodeProto &layer) {
    const FoldedNorm norm = normOf(layer);
    DLC_ASSIGN(int64_t channels, widthOf(layer));
    for (const char *part :
         {".weight", ".bias", ".running_mean", ".running_var"})
      if (edit.unusedName(norm.name + part) != norm.name + part)
        return badModel("the model already has '{}{}', which the batch norm "
                        "behind '{}' would be called",
                        norm.name, part, nodeLabel(layer));
    for (int i = 1; i < layer.input_size(); ++i)
      file.foldedNorms.erase(layer.input(i));
    auto own = [&](const char *part, float value) {
      edit.ownInitializer(
          norm.name + part, DType::F32, {channels},
          bytesOf(std::vector<float>(size_t(channels), value), DType::F32));
      return norm.name + part;
    };
    // The variance such that variance + epsilon = 1.
    const std::string weight = own(".weight", 1), bias = takeBias(layer, norm),
                      mean = own(".running_mean", 0),
                      var = own(".running_var", float(1 - norm.epsilon));
    const std::string result = layer.output(0),
                      inner = edit.unusedName(result + "/folded");
    layer.set_output(0, inner);
    auto &node = edit.addNode(
        "BatchNormalization",
        {inner, weight, bias.empty() ? own(".bias", 0) : bias, mean, var},
        result, {{"epsilon", norm.epsilon}, {"momentum", 1 - norm.momentum}});
    node.set_name(norm.name);
    file.decisions.push_back(
        {norm.name, "fresh",
         fmt::format("a new batch norm behind '{}', into which the exporter "
                     "folded one: scale 1, mean 0, variance 1{}",
                     nodeLabel(layer),
                     bias.empty() ? "" : ", the layer's bias")});
    return {};
  }

  /// Reads the norm's parameters from the exporter's note on the fused node.
  FoldedNorm normOf(const onnx::NodeProto &layer) const {
    if (auto noted = notedNorm(notes, layer))
      return *noted;
    std::string name = layer.input(1);
    if (isMadeUp(notes, name))
      name = moduleOf(notes, layer).value_or(nodeLabel(layer));
    return {withoutEnd(name, ".weight") + ".bn"};
  }

  Result<int64_t> widthOf(const onnx::NodeProto &layer) const {
    const Weight *weight = edit.weight(layer.input(1));
    if (!weight || weight->shape.size() < 2)
      return badModel("the weight '{}' of {} is not an initializer",
                      layer.input(1), describe(layer));
    if (weight->dtype != DType::F32)
      return badModel("the weight of {} is {}, expected f32", describe(layer),
                      nameOf(weight->dtype));
    return channelsOf(layer, weight->shape);
  }

  /// Moves the layer's bias to the norm; "" if there is none, or if both have
  /// one in the source.
  std::string takeBias(onnx::NodeProto &layer, const FoldedNorm &norm) {
    const std::string name = inputOf(layer, 2), own = norm.name + ".bias";
    const Weight *bias = edit.weight(name);
    if (!bias || edit.isFixed(name) || bias->dtype != DType::F32 ||
        bias->shape.size() != 1 || notes.isParameterTarget(name))
      return "";
    edit.addInitializer(own, *bias);
    edit.redirect({&layer, 2}, own);
    layer.mutable_input()->RemoveLast();
    return own;
  }

  OnnxFile &file;
  GraphEdit edit;
  TorchNotes notes;
};

} // namespace

std::vector<const onnx::NodeProto *> foldedNorms(const OnnxFile &file) {
  const bool isTorch = isOfTorch(*file.model);
  const auto isNamedSo = [&](const onnx::NodeProto &node) {
    if (node.op_type().find("Conv") == std::string::npos ||
        node.input_size() < 2)
      return false;
    const std::string &weight = node.input(1);
    // A folded norm gives the layer a bias with a generated name.
    const std::string bias = inputOf(node, 2);
    const bool isFolded = weight.starts_with("onnx::Conv") && !bias.empty() &&
                          !bias.ends_with(".bias");
    return weight.starts_with("ConvBnFusion_W_") || // onnxruntime's
           (isTorch && (file.foldedNorms.count(weight) || isFolded));
  };
  std::vector<const onnx::NodeProto *> found;
  for (const auto *node : file.nodes)
    if (isRewritten(*node, kFoldedNorm) || isNamedSo(*node))
      found.push_back(node);
  return found;
}

Result<int> renewNorms(OnnxFile &file,
                       const std::vector<std::string> &patterns) {
  return NormRenewer(file).run(patterns);
}

Result<int> freezeNorms(OnnxFile &file, const std::vector<std::string> &texts) {
  DLC_ASSIGN(auto patterns, parsePatterns(texts));
  const TorchNotes notes(file.model->graph());
  GraphEdit edit(file);
  std::vector<std::string> names;
  std::vector<bool> matched(patterns.size());
  int frozen = 0;
  for (const auto &node : edit.graph.node()) {
    if (operatorName(node) != "BatchNormalization" || node.input_size() < 5 ||
        !node.output_size())
      continue;
    names.push_back(withoutEnd(node.input(1), ".weight"));
    bool isFrozen = false;
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (!patterns[i].search(names.back()))
        continue;
      isFrozen = matched[i] = true;
      if (!edit.weight(node.input(3)) || isMadeUp(notes, node.input(3)))
        return usageError("--freeze-bn={} matches '{}', which has no running "
                          "statistics",
                          texts[i], printable(names.back()));
    }
    if (isFrozen)
      file.inferenceNorms.insert(node.output(0)), ++frozen;
  }
  for (size_t i = 0; i < patterns.size(); ++i)
    if (!matched[i])
      return usageError(
          "--freeze-bn={} matches no batch norm{}", texts[i],
          names.empty()
              ? std::string("; the file has none (--unfold-bn: where an "
                            "exporter folded them into convolutions)")
              : nearbyNames(texts[i], names));
  file.remarks.push_back({fmt::format(
      "batch norms whose running statistics do not change, by --freeze-bn: {}",
      frozen)});
  return frozen;
}

} // namespace dlc::import
