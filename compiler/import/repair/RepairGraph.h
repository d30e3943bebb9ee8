// SPDX-License-Identifier: Apache-2.0
// A model while repairs change it.
#pragma once
#include "compiler/import/bind/BindInputs.h"
#include "compiler/import/repair/torch/Restoring.h"
#include <memory>

namespace dlc::import {

struct Graph {
  explicit Graph(OnnxFile file, mlir::MLIRContext *context = nullptr)
      : file(std::move(file)), context(context) {}

  /// Its nodes are stale while the graph is open.
  OnnxFile file;
  mlir::MLIRContext *context;    // of `inputs`
  std::vector<std::string> head; // tensors of the new one
  std::map<std::string, Found> roles;
  std::unordered_map<std::string, int> uses; // of values by live nodes
  GraphInputs inputs;
  std::vector<RepairRun> runs;

  /// Opened on the first call; must not move until it is closed.
  Restoring &opened();
  Status close();

private:
  std::unique_ptr<Restoring> work;
};

} // namespace dlc::import
