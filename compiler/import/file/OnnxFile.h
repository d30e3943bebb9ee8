// SPDX-License-Identifier: Apache-2.0
// Reads and checks an ONNX file, which is untrusted.
#pragma once
#include "compiler/import/file/Decisions.h"
#include "compiler/import/file/Replaced.h"
#include "compiler/import/tensor/Budget.h"
#include "compiler/import/tensor/OnnxMessages.h"
#include "compiler/import/tensor/WeightStore.h"
#include "runtime/base/Status.h"
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dlc::import {

constexpr int kOldestOpset = 7, kNewestOpset = 28;
constexpr int kOldestIr = 3, kNewestIr = 14;

/// A model whose structure was checked: versions, names, order, (inlined)
/// functions, and every initializer's shape, type and payload.
struct OnnxFile {
  std::string path;
  std::shared_ptr<onnx::ModelProto> model;
  int64_t opset = 0;                          // version of ai.onnx
  std::vector<const onnx::NodeProto *> nodes; // main graph, topological order
  std::vector<std::shared_ptr<onnx::NodeProto>> made; // not in `model`
  WeightStore weights;               // initializers; keeps `model` alive
  Budget budget;                     // grown by the files' sizes
  std::map<std::string, Role> roles; // roles that repairs set
  std::vector<Decision> decisions;   // decisions of all repairs
  std::vector<Remark> remarks;       // messages for the user
  std::vector<Replaced> replaced;    // initializers with new names or layouts
  std::set<std::string> added;       // added nodes (by output) and initializers
  std::map<std::string, std::string> aliases; // second name -> initializer
  /// Name of a tensor of the source -> the file's tensor that contained it.
  std::map<std::string, std::string> partedFrom;
  /// A value that an exporter computed from a parameter, usually rows of a
  /// table -> that parameter.
  std::map<std::string, std::string> cutFrom;
  /// Outputs of batch norms that use their running statistics in training, too.
  std::set<std::string> inferenceNorms;
  /// Outputs of ReduceMax and ReduceMin nodes -> the axes along which their
  /// gradient goes to the first of equal elements.
  std::map<std::string, std::vector<int64_t>> indexedExtrema;
  std::set<std::string> foldedNorms; // weights that include a batch norm
  /// Output of a Gather -> the row of its table that gets no gradient from it.
  std::map<std::string, int64_t> paddings;
  /// First output of a node -> its dropout ratio in training; nullopt keeps the
  /// ratio of the Dropout node.
  std::map<std::string, std::optional<double>> dropouts;
};

/// All names of each initializer, which patterns of options match: its own,
/// then second names in the source.
std::map<std::string, std::vector<std::string>>
namesOfWeights(const OnnxFile &file);

/// Reads the model at `path`. Code::BadModel, or Code::Failed if the file
/// cannot be opened; messages start with the path.
Result<OnnxFile> loadOnnx(const std::string &path, Budget budget);

/// Parses the protobuf message; only its size, syntax and versions are checked.
Result<std::shared_ptr<onnx::ModelProto>> parseOnnx(const std::string &path);

} // namespace dlc::import
