// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Exec.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::exec {

llvm::hash_code hash_value(const LoopGroup &group) {
  return llvm::hash_combine(
      group.size,
      llvm::hash_combine_range(group.loops.begin(), group.loops.end()));
}
llvm::hash_code hash_value(const Schedule &s) {
  return llvm::hash_combine(
      s.kind, llvm::hash_combine_range(s.outer.begin(), s.outer.end()),
      llvm::hash_combine_range(s.inner.begin(), s.inner.end()), s.block,
      s.grain, s.flops, s.bytes);
}

int64_t iterationsOf(ArrayRef<LoopGroup> groups) {
  int64_t n = 1;
  for (const LoopGroup &g : groups)
    n *= g.size;
  return n;
}

int64_t Schedule::blocks() const {
  return block ? llvm::divideCeil(blocked().size, block) : 1;
}

int64_t Schedule::extent() const {
  if (kind == Columns) {
    const int64_t n = outer.back().size;
    return n ? iterationsOf(outer) / n * blocks() : 0;
  }
  if (kind == Elementwise && iterationsOf(inner) == 0)
    return 0;
  return iterationsOf(outer) * blocks();
}

//===--- text -------------------------------------------------------------===//

static constexpr StringLiteral kKinds[] = {"elementwise", "rows", "columns",
                                           "whole"};

static ParseResult parseKind(AsmParser &parser, Schedule::Kind &kind) {
  StringRef word;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  const auto *found = llvm::find(kKinds, word);
  if (found == std::end(kKinds))
    return parser.emitError(at, "expected elementwise, rows, columns or whole, "
                                "found '")
           << word << "'";
  kind = Schedule::Kind(found - kKinds);
  return success();
}

static ParseResult parseGroup(AsmParser &parser, LoopGroup &group) {
  auto loop = [&] { return parser.parseInteger(group.loops.emplace_back()); };
  return failure(
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, loop) ||
      parser.parseColon() || parser.parseInteger(group.size));
}
static ParseResult parseGroups(AsmParser &parser,
                               SmallVectorImpl<LoopGroup> &groups) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parseGroup(parser, groups.emplace_back());
  });
}
static ParseResult parseField(AsmParser &parser, Schedule &s) {
  StringRef name;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name) || parser.parseEqual())
    return failure();
  if (name == "outer" || name == "inner")
    return parseGroups(parser, name == "outer" ? s.outer : s.inner);
  int64_t *number = llvm::StringSwitch<int64_t *>(name)
                        .Case("block", &s.block)
                        .Case("grain", &s.grain)
                        .Case("flops", &s.flops)
                        .Case("bytes", &s.bytes)
                        .Default(nullptr);
  if (!number)
    return parser.emitError(at, "expected outer, inner, block, grain, flops or "
                                "bytes, found '")
           << name << "'";
  return parser.parseInteger(*number);
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  Schedule s;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess() || parseKind(parser, s.kind))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseField(parser, s))
      return {};
  if (parser.parseGreater())
    return {};
  return ScheduleAttr::getChecked([&] { return parser.emitError(at); },
                                  parser.getContext(), s);
}

static void print(AsmPrinter &printer, StringRef name,
                  ArrayRef<LoopGroup> groups) {
  if (groups.empty())
    return;
  printer << ", " << name << " = [";
  llvm::interleaveComma(groups, printer, [&](const LoopGroup &g) {
    printer << "[";
    llvm::interleaveComma(g.loops, printer);
    printer << "]: " << g.size;
  });
  printer << "]";
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  const Schedule &s = getValue();
  printer << "<" << kKinds[s.kind];
  exec::print(printer, "outer", s.outer);
  exec::print(printer, "inner", s.inner);
  if (s.block)
    printer << ", block = " << s.block;
  printer << ", grain = " << s.grain << ", flops = " << s.flops
          << ", bytes = " << s.bytes << ">";
}

//===--- laws -------------------------------------------------------------===//

LogicalResult
ScheduleAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     Schedule s) {
  if (s.grain < 1 || s.block < 0 || s.flops < 0 || s.bytes < 0)
    return emitError() << "(C2) expected a grain of one or more, and nothing "
                          "below zero";
  llvm::SmallSet<unsigned, 8> seen;
  for (const LoopGroup &g : llvm::concat<const LoopGroup>(s.outer, s.inner)) {
    if (g.size < 0)
      return emitError() << "(C2) expected a grain of one or more, and nothing "
                            "below zero";
    for (unsigned loop : g.loops)
      if (!seen.insert(loop).second)
        return emitError() << "(C3) loop " << loop << " occurs twice";
  }
  const bool cuts = s.kind == Schedule::Columns ||
                    (s.kind == Schedule::Elementwise && !s.inner.empty());
  if (s.kind == Schedule::Columns ? s.outer.empty() || !s.block
                                  : s.block && !cuts)
    return emitError() << "(C4) a block cuts the first inner group of "
                          "elementwise, or the last outer one of columns, "
                          "which need it";
  return success();
}

} // namespace dlc::exec
