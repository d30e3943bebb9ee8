// SPDX-License-Identifier: Apache-2.0
// Location of an op's ONNX node, in the form of ImportedModel (Importer.h).
#pragma once
#include "compiler/import/Survey.h"
#include "compiler/import/repair/upgrade/StandardBodies.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

inline mlir::Location locationOf(mlir::MLIRContext *context,
                                 const onnx::NodeProto &node) {
  auto text = [&](const std::string &word) {
    return mlir::StringAttr::get(context, word);
  };
  auto within = [&](mlir::Location loc, const std::string &operation) {
    return mlir::FusedLoc::get(context, {loc}, text(operation));
  };
  const std::string name = labelOf(node.name(), node.op_type(),
                                   node.output_size() ? node.output(0) : "");
  mlir::Location loc = within(mlir::NameLoc::get(text(name)), node.op_type());
  for (const auto &note : node.metadata_props())
    if (note.key() == kPartOf)
      loc = within(loc, note.value());
  return loc;
}

} // namespace dlc::import
