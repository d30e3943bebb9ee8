// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Diagnostics.h"
#include "compiler/lower/Labels.h"
#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {

/// "32x10xf32" as "f32 [32, 10]".
static std::string typeText(StringRef type) {
  SmallVector<StringRef> parts;
  type.split(parts, 'x');
  return (parts.back() + " [" + llvm::join(ArrayRef(parts).drop_back(), ", ") +
          "]")
      .str();
}

std::string messageOf(Diagnostic &diagnostic) {
  constexpr StringRef kTensor = "tensor<";
  const std::string label = printable(locationLabel(diagnostic.getLocation()));
  std::string text = label.empty() ? "" : label + ": ",
              given = diagnostic.str();
  StringRef rest = given;
  for (size_t at; (at = rest.find(kTensor)) != StringRef::npos;) {
    const size_t end = rest.find('>', at);
    if (end == StringRef::npos)
      break;
    const bool isQuoted = rest.take_front(at).ends_with("'") &&
                          rest.drop_front(end + 1).starts_with("'");
    text += rest.take_front(at - isQuoted);
    text += typeText(rest.slice(at + kTensor.size(), end));
    rest = rest.drop_front(end + 1 + isQuoted);
  }
  return text + rest.str();
}

DiagnosticLog::DiagnosticLog(MLIRContext &context, bool quiet)
    : handler(&context, [this, quiet](Diagnostic &d) {
        const std::string message = messageOf(d);
        if (d.getSeverity() == DiagnosticSeverity::Error)
          text += (text.empty() ? "" : "\n") + message;
        else if (quiet || !said.insert(message).second)
          return success();
        else if (d.getSeverity() == DiagnosticSeverity::Warning)
          logWarning(message);
        else
          info("{}", message);
        return success();
      }) {
  // The note is useless, and printing an op takes time linear in all ops.
  context.printOpOnDiagnostic(false);
}

} // namespace dlc
