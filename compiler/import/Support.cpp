// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Support.h"
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/SchemaCheck.h"
#include "compiler/import/guide/ForeignModel.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "compiler/import/repair/upgrade/StandardBodies.h"
#include "compiler/import/repair/upgrade/Upgrading.h"
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include "runtime/base/options/Pattern.h"
#include <fmt/ranges.h>

namespace dlc::import {

std::string_view whyNot(const std::string &op) {
  constexpr std::string_view
      kSearch = "a search that calls a decoder: compile "
                "the decoder",
      kPacked = "its sizes depend on the data: use the model from before it "
                "was packed",
      kServing = "attention of an inference server over a key-value cache: use "
                 "the model from before that was inserted",
      kLayout = "a layout for one kind of processor: use the model from before "
                "that optimization (ORT_ENABLE_EXTENDED at most)",
      kIntegers = "computes with integers, which have no gradient: use the "
                  "model from before it was quantized",
      kSize = "the size of its result depends on the data, and a program's "
              "shapes are fixed",
      kMachine = "machine code of another tool: use the model from before its "
                 "compilation";
  static const std::pair<std::string_view, std::string_view> reasons[] = {
      {"com.microsoft.nchwc.", kLayout},
      {"com.ms.internal.nhwc.", kLayout},
      {"com.microsoft.QOrdered", kLayout},
      {"com.microsoft.DynamicQuantize", kIntegers},
      {"com.microsoft.MatMulInteger", kIntegers},
      {"com.microsoft.QAttention", kIntegers},
      {"com.microsoft.QGemm", kIntegers},
      {"com.microsoft.QLinear", kIntegers},
      {"com.microsoft.BeamSearch", kSearch},
      {"com.microsoft.GreedySearch", kSearch},
      {"com.microsoft.Sampling", kSearch},
      {"com.microsoft.WhisperBeamSearch", kSearch},
      {"com.microsoft.Packed", kPacked},
      {"com.microsoft.RemovePadding", kPacked},
      {"com.microsoft.RestorePadding", kPacked},
      {"com.microsoft.DecoderMasked", kServing},
      {"com.microsoft.PagedAttention", kServing},
      {"NonMaxSuppression", kSize},
      {"Unique", kSize},
      {"com.microsoft.EPContext", kMachine},
      {"com.microsoft.Snpe", kMachine}};
  for (auto [start, reason] : reasons)
    if (op.starts_with(start))
      return reason;
  return "";
}

namespace {

std::string list(const Missing &missing) {
  constexpr size_t kNamed = 4; // nodes named per operator
  std::string text = fmt::format(
      "{} operator{} of the model {} not supported:", missing.size(),
      missing.size() > 1 ? "s" : "", missing.size() > 1 ? "are" : "is");
  constexpr int kListed = 50; // operators
  int count = 0;
  for (const auto &[op, nodes] : missing) {
    if (++count > kListed)
      return text + fmt::format("\n  and {} more", missing.size() - kListed);
    std::vector<std::string> labels;
    for (const std::string &node : nodes)
      labels.push_back(fmt::format("'{}'", printable(node)));
    text += fmt::format("\n  {} in {} node{}: {}", op, nodes.size(),
                        nodes.size() > 1 ? "s" : "", listed(labels, kNamed));
    if (!whyNot(op).empty())
      text += fmt::format(" ({})", whyNot(op));
  }
  return text;
}

} // namespace

std::string_view
howImported(const std::string &op,
            const std::function<bool(const std::string &)> &folds) {
  if (allRows().count(op))
    return "row";
  if (hasStandardBody(op) || contribRules().count(op))
    return "form";
  return folds(op) ? "folded" : "no";
}

Missing
missingOperators(const OnnxFile &file,
                 const std::function<bool(const std::string &)> &folds) {
  Missing missing;
  for (const auto *node : file.nodes) {
    const std::string name = operatorName(*node);
    const bool known = howImported(name, folds) != "no";
    const int since = firstOpset(name);
    if (known && since <= file.opset)
      continue;
    std::string op = printable(name);
    if (known)
      op += fmt::format(" (in opset {} only from {})", file.opset, since);
    missing[op].push_back(nodeLabel(*node));
  }
  return missing;
}

Status checkSupport(const OnnxFile &file,
                    const std::function<bool(const std::string &)> &folds) {
  const Missing missing = missingOperators(file, folds);
  return missing.empty() ? Status() : badModel("{}", list(missing));
}

std::string ownTraining(const OnnxFile &file) {
  std::vector<std::string> steps;
  for (const auto &info : file.model->training_info())
    for (const auto &node : info.algorithm().node())
      if (operatorName(node) == "ai.onnx.preview.training.Gradient")
        steps.push_back(fmt::format(
            "Gradient of '{}'", printable(NodeView(node, 1).text("y", ""))));
      else if (node.domain() == "ai.onnx.preview.training")
        steps.push_back(printable(node.op_type()));
  if (!file.model->training_info_size())
    return "";
  steps.resize(std::min<size_t>(steps.size(), 4));
  return fmt::format("the model's training_info ({}) is ignored: dlc's "
                     "options, such as --loss and --optimizer, define the step",
                     fmt::join(steps, ", "));
}

std::string fusedBatchNorm(const OnnxFile &file) {
  const auto folded = foldedNorms(file);
  if (folded.empty())
    return "";
  return fmt::format(
      "the exporter folded batch norm into {} nodes (the first is '{}'); the "
      "model trains without it. To keep it, export by {} ({}); "
      "--unfold-bn starts new ones",
      folded.size(), printable(folded.front()->name()), kExportLine,
      kExportGuide);
}

std::string batchOfOne(const OnnxFile &file) {
  bool isOne = false;
  for (const auto &input : file.model->graph().input()) {
    const auto &dims = input.type().tensor_type().shape().dim();
    if (file.weights.find(input.name()))
      continue;
    for (const auto &dim : dims)
      if (!dim.has_dim_value()) // symbolic, as an open batch is
        return "";
    isOne |= !dims.empty() && dims[0].dim_value() == 1;
  }
  if (!isOne)
    return "";
  return fmt::format("the file fixes the batch at 1, so a step trains on one "
                     "sample: --batch=32 changes that, or export with an open "
                     "batch, as in {} ({})",
                     kExportLine, kExportGuide);
}

std::string lostUpdates(const OnnxFile &file) {
  const TorchNotes notes(file.model->graph());
  std::set<std::string> read, statistics;
  for (const auto *node : file.nodes)
    for (int i = 0; i < node->input_size(); ++i) {
      const bool isOfNorm =
          operatorName(*node) == "BatchNormalization" && i >= 3;
      if (notes.updatedBuffers().count(node->input(i)))
        (isOfNorm ? statistics : read).insert(node->input(i));
    }
  std::vector<std::string> lost;
  for (const std::string &name : read)
    if (!statistics.count(name))
      lost.push_back(fmt::format("'{}'", printable(name)));
  if (lost.empty())
    return "";
  return fmt::format("the source's forward updates buffers in training, and "
                     "the file does not say how; in training by dlc they keep "
                     "the file's values: {}. Where the updates matter (power "
                     "iterations, moving codebooks), export the model without "
                     "the layer that makes them",
                     listed(lost, 3));
}

std::string lostStatistics(const OnnxFile &file) {
  const TorchNotes notes(file.model->graph());
  std::vector<std::string> lost;
  for (const auto *node : file.nodes) {
    const std::string &module = notes.call(*node).scope;
    if (operatorName(*node) == "InstanceNormalization" &&
        notes.call(*node).target == "instance_norm" &&
        notes.bufferTargets().count(module + ".running_mean"))
      lost.push_back(fmt::format("'{}'", printable(module)));
  }
  if (lost.empty())
    return "";
  return fmt::format("instance norms of the source keep running statistics "
                     "for evaluation, which the file does not have: {}. dlc "
                     "evaluates them by each sample's statistics, as it trains",
                     listed(lost, 3));
}

std::string lostAverages(const OnnxFile &file) {
  const TorchNotes notes(file.model->graph());
  std::vector<std::string> lost;
  for (const auto *node : file.nodes) {
    const double momentum = NodeView(*node, file.opset).number("momentum", 0.9);
    if (operatorName(*node) == "BatchNormalization" &&
        (momentum == 0 || momentum == 1) &&
        file.weights.find(inputOf(*node, 3)) &&
        !isMadeUp(notes, inputOf(*node, 3)) &&
        !file.inferenceNorms.count(node->output(0)))
      lost.push_back(fmt::format("'{}'", printable(nodeLabel(*node))));
  }
  if (lost.empty())
    return "";
  return fmt::format("running statistics of batch norms become those of the "
                     "last batch (momentum 0 in the file) or do not change "
                     "(1), as torch exports momentum=None, a cumulative "
                     "average: {}. To average, set a momentum, such as 0.1, "
                     "before the export; --freeze-bn=REGEX keeps statistics",
                     listed(lost, 3));
}

std::string lostBackwards(const OnnxFile &file) {
  // The frame of a call F.apply(...), then that of its forward(); the frames of
  // apply() itself are not in the traces.
  static const Pattern call = *Pattern::parse(
      "File \"(?:[^\"\n]*/)?([^\"\n]*)\", line ([0-9]+), in [^\n]*\n"
      "[^\n]*[.]apply\\([^\n]*\n"
      " *File \"([^\"\n]*)\", line [0-9]+, in forward\n");
  std::map<std::string, std::string> lost; // by the line that calls
  for (const auto *node : file.nodes)
    for (const auto &note : node->metadata_props()) {
      if (note.key() != "pkg.torch.onnx.stack_trace")
        continue;
      const auto found = call.groups(note.value());
      // A layer may be called in the same line; checkpoint() is a Function.
      if (found && (*found)[2].find("/torch/nn/") == std::string::npos &&
          (*found)[2].find("/torch/utils/") == std::string::npos)
        lost.emplace((*found)[0] + ":" + (*found)[1], nodeLabel(*node));
    }
  if (lost.empty())
    return "";
  std::vector<std::string> names;
  for (const auto &[line, node] : lost)
    names.push_back(fmt::format("'{}' ({})", printable(node), printable(line)));
  return fmt::format("the source computes nodes in a torch.autograd.Function, "
                     "whose backward() the file does not have; they get the "
                     "gradients of its forward(): {}. Where those differ, as "
                     "in straight-through estimators and gradient reversal, "
                     "write the function with detach(), which the file keeps",
                     listed(names, 3));
}

std::string lostDivisors(const OnnxFile &file) {
  constexpr size_t kDivisor = 6; // argument of avg_pool2d and avg_pool3d
  const TorchNotes notes(file.model->graph());
  std::vector<std::string> lost;
  for (const auto *node : file.nodes) {
    const TorchCall &call = notes.call(*node);
    if (call.target.starts_with("avg_pool") && call.args.size() > kDivisor &&
        call.args[kDivisor] != "None")
      lost.push_back(fmt::format("'{}'", printable(nodeLabel(*node))));
  }
  if (lost.empty())
    return "";
  return fmt::format("average pools of the source have a divisor_override, "
                     "which the exporter dropped: {}. They divide by the size "
                     "of the window",
                     listed(lost, 3));
}

std::string lostNotes(const OnnxFile &file) {
  if (!hasLostNotes(*file.model))
    return "";
  return fmt::format(
      "torch exported this model, and {} dropped the notes that say what was "
      "merged and folded in it: biases that were zero may be missing, equal "
      "tensors may be merged, and folded scales are not trained. The tensors "
      "of the file train. To train the source's parameters, give dlc the "
      "exporter's own file",
      isSavedByOnnxRuntime(*file.model) ? "onnxruntime's optimizer"
                                        : "a tool after it");
}

} // namespace dlc::import
