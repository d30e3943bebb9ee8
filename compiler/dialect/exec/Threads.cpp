// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Exec.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::exec {

llvm::hash_code hash_value(const Threads &t) {
  auto sizes = t.tile ? ArrayRef<int64_t>(t.tile->sizes) : ArrayRef<int64_t>();
  return llvm::hash_combine(t.grid, t.block, t.vector, t.across, t.chunks,
                            t.indexBits, t.inRegisters, t.sparse,
                            llvm::hash_combine_range(sizes));
}

//===--- text -------------------------------------------------------------===//

static constexpr StringLiteral kOfTile[] = {"tile", "warps", "slots", "left",
                                            "right"};

/// "128x64x32"
static ParseResult parseSizes(AsmParser &parser,
                              SmallVectorImpl<int64_t> &sizes) {
  return parser.parseDimensionList(sizes, /*allowDynamic=*/false,
                                   /*withTrailingX=*/false);
}
static ParseResult parseWarps(AsmParser &parser, Tile &tile) {
  SmallVector<int64_t> warps;
  SMLoc at = parser.getCurrentLocation();
  if (parseSizes(parser, warps))
    return failure();
  if (warps.size() != 2)
    return parser.emitError(at, "expected warps down and across, as 4x2");
  tile.down = warps[0];
  tile.across = warps[1];
  return success();
}
/// "depth x 8 copied"
static ParseResult parseOperand(AsmParser &parser, TileOperand &operand) {
  StringRef along;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&along) || parser.parseKeyword("x") ||
      parser.parseInteger(operand.vector))
    return failure();
  if (along != "depth" && along != "outer")
    return parser.emitError(at, "expected depth or outer, found '")
           << along << "'";
  operand.depthIsFast = along == "depth";
  operand.isCopied = succeeded(parser.parseOptionalKeyword("copied"));
  return success();
}

static ParseResult parseTileField(AsmParser &parser, StringRef name,
                                  Tile &tile) {
  if (name == "tile")
    return parseSizes(parser, tile.sizes);
  if (name == "warps")
    return parseWarps(parser, tile);
  if (name == "slots")
    return parser.parseInteger(tile.slots);
  return parseOperand(parser, name == "left" ? tile.left.emplace()
                                             : tile.right.emplace());
}
static int64_t *numberOf(Threads &t, StringRef name) {
  if (name == "transposed")
    return &t.transposed.emplace();
  return llvm::StringSwitch<int64_t *>(name)
      .Case("grid", &t.grid)
      .Case("block", &t.block)
      .Case("vector", &t.vector)
      .Case("across", &t.across)
      .Case("chunks", &t.chunks)
      .Case("index", &t.indexBits)
      .Default(nullptr);
}
static ParseResult parseField(AsmParser &parser, Threads &t) {
  StringRef name;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  if (name == "registers" || name == "sparse") {
    (name == "sparse" ? t.sparse : t.inRegisters) = true;
    return success();
  }
  if (int64_t *number = numberOf(t, name))
    return failure(parser.parseEqual() || parser.parseInteger(*number));
  if (!llvm::is_contained(kOfTile, name))
    return parser.emitError(at, "expected grid, block, vector, across, chunks, "
                                "index, registers, sparse, transposed, tile, "
                                "warps, slots, left or right, found '")
           << name << "'";
  Tile &tile = t.tile ? *t.tile : t.tile.emplace();
  return failure(parser.parseEqual() || parseTileField(parser, name, tile));
}

Attribute ThreadsAttr::parse(AsmParser &parser, Type) {
  Threads t;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     [&] { return parseField(parser, t); }))
    return {};
  return ThreadsAttr::getChecked([&] { return parser.emitError(at); },
                                 parser.getContext(), t);
}

static void print(AsmPrinter &printer, const TileOperand &operand) {
  printer << (operand.depthIsFast ? "depth" : "outer") << " x "
          << operand.vector << (operand.isCopied ? " copied" : "");
}
static void print(AsmPrinter &printer, const Tile &tile) {
  printer << ", tile = ";
  llvm::interleave(tile.sizes, printer, "x");
  printer << ", warps = " << tile.down << "x" << tile.across;
  if (tile.slots != Tile().slots)
    printer << ", slots = " << tile.slots;
  for (auto [name, operand] :
       {std::pair("left", &tile.left), std::pair("right", &tile.right)})
    if (*operand) {
      printer << ", " << name << " = ";
      exec::print(printer, **operand);
    }
}

void ThreadsAttr::print(AsmPrinter &printer) const {
  const Threads &t = getValue(), usual;
  printer << "<grid = " << t.grid << ", block = " << t.block;
  auto number = [&](StringRef name, int64_t n, int64_t ifNotSaid) {
    if (n != ifNotSaid)
      printer << ", " << name << " = " << n;
  };
  number("vector", t.vector, usual.vector);
  number("across", t.across, usual.across);
  number("chunks", t.chunks, usual.chunks);
  number("index", t.indexBits, usual.indexBits);
  printer << (t.inRegisters ? ", registers" : "")
          << (t.sparse ? ", sparse" : "");
  if (t.transposed)
    printer << ", transposed = " << *t.transposed;
  if (t.tile)
    exec::print(printer, *t.tile);
  printer << ">";
}

//===--- laws -------------------------------------------------------------===//

static bool isWhole(const Tile &tile) {
  const bool isProduct = tile.left && tile.right;
  return llvm::all_of(tile.sizes, [](int64_t n) { return n > 0; }) &&
         tile.slots > 0 && tile.down > 0 && tile.across > 0 &&
         bool(tile.left) == bool(tile.right) &&
         tile.sizes.size() == (isProduct ? 3 : 2);
}

LogicalResult
ThreadsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    Threads t) {
  if (t.grid < 0 || t.block < 1 || t.across < 1 || t.chunks < 0)
    return emitError() << "(C5) expected threads side by side and in a block, "
                          "and nothing below zero";
  SmallVector<int64_t> vectors{t.vector};
  if (t.tile)
    for (const auto *side : {&t.tile->left, &t.tile->right})
      if (*side)
        vectors.push_back((*side)->vector);
  if (!llvm::all_of(vectors, llvm::isPowerOf2_64) ||
      (t.indexBits != 32 && t.indexBits != 64))
    return emitError() << "(C6) expected vectors of a power of two, and an "
                          "index of 32 or 64 bits";
  if (t.inRegisters + t.sparse + t.transposed.has_value() + t.tile.has_value() >
      1)
    return emitError() << "(C7) expected one of registers, sparse, transposed "
                          "and tile";
  if (t.tile &&
      !(isWhole(*t.tile) && t.block % (t.tile->down * t.tile->across) == 0))
    return emitError() << "(C8) expected a tile of rows x columns x depth with "
                          "left and right, or of two sizes, and warps that "
                          "have the block's threads";
  return success();
}

} // namespace dlc::exec
