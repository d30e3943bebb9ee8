// SPDX-License-Identifier: Apache-2.0
// Converts MLIR diagnostics to the tool's messages.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include <set>
#include <string>

namespace dlc {

/// A diagnostic's text after the ONNX nodes that it is about, with types in the
/// form of other messages: "f32 [32, 10]".
std::string messageOf(mlir::Diagnostic &diagnostic);

/// During its lifetime, errors of the context are collected for `errors()`, and
/// warnings and remarks are printed, each with the ONNX nodes that it is about.
/// Repeated messages, such as those of further sizes, are printed once.
/// `quiet`: ignores warnings and remarks.
class DiagnosticLog {
public:
  explicit DiagnosticLog(mlir::MLIRContext &context, bool quiet = false);
  /// All errors so far, one per line.
  const std::string &errors() const { return text; }

private:
  mlir::ScopedDiagnosticHandler handler;
  std::string text;
  std::set<std::string> said;
};

} // namespace dlc
