// SPDX-License-Identifier: Apache-2.0
// A model that is being repaired.
#pragma once
#include "compiler/import/bind/BindInputs.h"
#include "compiler/import/repair/torch/Restoring.h"
#include <memory>

namespace dlc::import {

struct Graph {
  explicit Graph(OnnxFile file, mlir::MLIRContext *context = nullptr)
      : file(std::move(file)), context(context) {}

  /// Its `nodes` are invalid while the graph is open.
  OnnxFile file;
  mlir::MLIRContext *context;    // of `inputs`
  std::vector<std::string> head; // tensors of the new head
  std::map<std::string, Found> roles;
  std::unordered_map<std::string, int> uses; // uses of values by live nodes
  GraphInputs inputs;
  std::vector<RepairRun> runs;

  /// Opens the graph on the first call; must not be moved until it is closed.
  Restoring &opened();
  Status close();

private:
  std::unique_ptr<Restoring> work;
};

} // namespace dlc::import
