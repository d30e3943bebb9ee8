// SPDX-License-Identifier: Apache-2.0
#include "passes/autocast/CastReport.h"
#include "passes/Step.h"
#include "passes/autocast/CastNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {
namespace {

std::string nameOf(Operation *op) {
  if (op->hasAttr(kLossMark))
    return "loss";
  std::string nodes = llvm::join(nodesOf(op), "; ");
  return nodes.empty() ? op->getName().stripDialect().str() : nodes;
}

std::string reason(const CastDecision &d) {
  std::string by = d.entry.by.str();
  std::string from = d.from ? nameOf(d.from) : "an input";
  switch (d.rule) {
  case CastRule::Listed:
    return by;
  case CastRule::Between:
    return by + ", between " + from + " and " + nameOf(d.to);
  case CastRule::Tail:
    return by + ", from " + from + " to the end";
  case CastRule::Follows:
    return by + ", follows " + from;
  case CastRule::Behind:
    return by + ", denied: on the way from " + from;
  case CastRule::NotBelow:
    return by + ", nothing allowed above it";
  case CastRule::NotAbove:
    return by + ", nothing allowed below it";
  case CastRule::Inputs:
    return by + ", follows its inputs";
  case CastRule::Promoted:
    return by + ", promoted: " + from + " is f32";
  case CastRule::Overflow:
    return "denied: a constant is beyond half's range";
  }
  llvm_unreachable("a rule");
}

/// Pads to the width of a column, and adds the separator.
std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()) + 2, ' ');
  return text;
}

struct Line {
  std::string node, op, dtype, casts, why;
};

std::string plural(unsigned n, StringRef noun) {
  return (Twine(n) + " " + noun + (n == 1 ? "" : "s")).str();
}

} // namespace

std::vector<std::string> explainCasts(func::FuncOp f,
                                      const CastDecisions &decisions,
                                      const CastsAdded &added,
                                      StringRef halfName) {
  SmallVector<Line> table;
  unsigned half = 0;
  size_t node = 0, op = 0;
  for (const auto &[decided, d] : decisions) {
    unsigned casts = added.casts.lookup(decided);
    Line line{nameOf(decided), decided->getName().stripDialect().str(),
              added.float8.contains(decided) ? "fp8"
              : d.half                       ? halfName.str()
                                             : "f32",
              plural(casts, "cast"), reason(d)};
    auto note = added.notes.find(decided);
    if (note != added.notes.end())
      line.why += note->second;
    node = std::max(node, line.node.size());
    op = std::max(op, line.op.size());
    half += d.half;
    table.push_back(std::move(line));
  }
  std::vector<std::string> lines;
  for (const Line &l : table)
    lines.push_back(padded(l.node, node) + padded(l.op, op) +
                    padded(l.dtype, 4) + padded(l.casts, 8) + l.why);
  std::string types = halfName.str();
  if (size_t n = added.float8.size())
    types += llvm::formatv(", {0} of them in fp8", n);
  lines.push_back(llvm::formatv(
      "@{0}: {1} of {2} ops in {3}, {4}, {5} of them of states, {6} rounded",
      f.getName(), half, table.size(), types, plural(added.total, "cast"),
      added.ofStates, plural(added.constants, "constant")));
  return lines;
}

} // namespace dlc
