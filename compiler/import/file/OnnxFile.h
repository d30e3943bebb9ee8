// SPDX-License-Identifier: Apache-2.0
// An ONNX file, read defensively: nothing in it is trusted.
#pragma once
#include "compiler/import/file/Decisions.h"
#include "compiler/import/file/Replaced.h"
#include "compiler/import/tensor/Budget.h"
#include "compiler/import/tensor/WeightStore.h"
#include "runtime/base/Status.h"
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

constexpr int kOldestOpset = 7, kNewestOpset = 28;
constexpr int kOldestIr = 3, kNewestIr = 14;

/// A model whose structure has been checked: versions, names, order, functions
/// (inlined), and every initializer's shape, type and payload.
struct OnnxFile {
  std::string path;
  std::shared_ptr<onnx::ModelProto> model;
  int64_t opset = 0;                          // version of ai.onnx
  std::vector<const onnx::NodeProto *> nodes; // main graph, in order of use
  std::vector<std::shared_ptr<onnx::NodeProto>> made; // not the model's nodes
  WeightStore weights;               // initializers; keeps `model`
  Budget budget;                     // grown by the files' sizes
  std::map<std::string, Role> roles; // those that repairs settled
  std::vector<Decision> decisions;   // and all that it did
  std::vector<Remark> remarks;       // what to say of it
  std::vector<Replaced> replaced;    // initializers that it renamed
  std::set<std::string> added;       // nodes, by output, and initializers of it
  std::map<std::string, std::string> aliases; // second name -> initializer
  /// A tensor of the source -> the name of the file's that it was merged into.
  std::map<std::string, std::string> partedFrom;
  /// What an exporter made of a parameter, most often rows of a table -> it.
  std::map<std::string, std::string> cutFrom;
  std::set<std::string> foldedNorms; // weights with a batch norm in them
  /// Norms of --unfold-bn that no note names -> the layer before, "conv1".
  std::map<std::string, std::string> freshNorms;
  /// Output of a Gather -> row of its table that gets no gradient from it.
  std::map<std::string, int64_t> paddings;
  /// First output of a node -> the ratio at which it drops out in training;
  /// none: the Dropout's own.
  std::map<std::string, std::optional<double>> dropouts;
};

/// Reads the model at `path`. A failure is Code::BadModel, of a file that
/// cannot be opened Code::Failed, with a message that starts with the path.
Result<OnnxFile> loadOnnx(const std::string &path, Budget budget);

/// Only the protobuf message: no checks beyond size, syntax and versions.
Result<std::shared_ptr<onnx::ModelProto>> parseOnnx(const std::string &path);

} // namespace dlc::import
