// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc-compile/quantize/QuantizedExport.h"

#include "compiler/export/quantize/FoldNorms.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"

#include <cstdlib>
#include <filesystem>

namespace dlc::tool {
namespace {

// Of a calibration: its model and artifact.
class WorkFolder {
public:
  static Result<std::unique_ptr<WorkFolder>> create() {
    std::string path =
        (std::filesystem::temp_directory_path() / "dlc-quantize-XXXXXX")
            .string();
    if (!::mkdtemp(path.data()))
      return systemError("create a folder", path);
    return std::unique_ptr<WorkFolder>(new WorkFolder(std::move(path)));
  }
  ~WorkFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }

  const std::string path;

private:
  explicit WorkFolder(std::string path) : path(std::move(path)) {}
};

// With all weights inside.
Result<onnx::ModelProto> inferenceModel(const std::string &skeleton,
                                        const exporter::Tensors &tensors,
                                        const std::string &folder) {
  constexpr uint64_t kMost = uint64_t(1) << 30;
  uint64_t bytes = skeleton.size();
  for (const auto &[name, tensor] : tensors)
    bytes += tensor.bytes;
  if (bytes > kMost)
    return limitExceeded("the model has {} MiB of weights, and at most {} are "
                         "quantized",
                         bytes >> 20, kMost >> 20);
  const std::string path = folder + "/model.onnx";
  DLC_TRY(exporter::exportOnnx(skeleton, tensors, path, {size_t(2) * kMost}));
  DLC_ASSIGN(const std::string text, readFile(path, 2 * kMost));
  onnx::ModelProto model;
  if (!model.ParseFromString(text))
    return corrupt("the source model in the artifact does not parse");
  return model;
}

void say(const exporter::QuantizationPlan &plan,
         const std::vector<std::string> &biases) {
  for (const std::string &node : plan.nodes)
    info("int8: {}", printable(node));
  for (const exporter::NotQuantized &node : plan.left)
    info("stays f32: {} ({}): {}", printable(node.node), node.op, node.why);
  for (const std::string &bias : biases)
    info("stays f32: {}: it is no vector of a number for each output channel "
         "that fits into an i32",
         printable(bias));
  std::string others;
  for (const auto &[op, count] : plan.otherOps)
    others += fmt::format("{}{} {}", others.empty() ? "" : ", ", count,
                          printable(op, 60));
  if (!others.empty())
    info("stays f32, as it has no weight to multiply with: {}", others);
}

} // namespace

void QuantizeOptions::addTo(OptionTable &table) {
  table.choice("export.quantize", type, {"off", "int8"},
               "int8: 8-bit integers (QDQ) for what Conv, Gemm and MatMul "
               "read, by the ranges of --calibration");
  table
      .text("export.calibration", calibration.data, "PATH",
            "samples of the model's inputs, as --data of dlc predict: some of "
            "the training's")
      .only("export.quantize", {"int8"});
  table
      .count("export.samples", calibration.samples, 1,
             "so many of them at most, evenly chosen")
      .only("export.quantize", {"int8"});
  table
      .choice(
          "export.calibration-method", calibration.method,
          {"minmax", "percentile", "entropy"},
          "ranges: of all elements, of the share that --percentile says, or "
          "those of which integers say most, by Kullback and Leibler")
      .only("export.quantize", {"int8"});
  table
      .number("export.percentile", calibration.percentile, 50, 100,
              "of elements by their size; what is beyond is cut off")
      .only("export.calibration-method", {"percentile"});
  table.require([this](const OptionTable::Given &) {
    return isAsked() && calibration.data.empty()
               ? usageError("--quantize=int8 needs --calibration=PATH: samples "
                            "that show what ranges values have")
               : Status();
  });
}

Status exportQuantized(const std::string &skeleton,
                       const exporter::Tensors &tensors, const Model &source,
                       const QuantizeOptions &options,
                       const std::string &path) {
  DLC_ASSIGN(const auto folder, WorkFolder::create());
  DLC_ASSIGN(onnx::ModelProto model,
             inferenceModel(skeleton, tensors, folder->path));
  const int folded = exporter::foldNorms(*model.mutable_graph());
  DLC_ASSIGN(const auto plan, exporter::planQuantization(model));
  DLC_ASSIGN(const Calibration calibration,
             calibrate(model, plan.activations, source, options.calibration,
                       folder->path));
  const auto biases = exporter::quantize(model, calibration.ranges);
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    return limitExceeded("the model is larger than protobuf's limit of 2 GiB");
  DLC_TRY(writeFileAtomically(path, bytes));
  say(plan, biases);
  info("{}: {} of {} Conv, Gemm and MatMul in int8, by {} samples of '{}'{}",
       path, plan.nodes.size(), plan.nodes.size() + plan.left.size(),
       calibration.samples, options.calibration.data,
       folded ? fmt::format("; {} batch norms folded", folded) : "");
  return {};
}

} // namespace dlc::tool
