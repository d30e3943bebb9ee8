// SPDX-License-Identifier: Apache-2.0
// The dialect, its enums and the classes that op families share.
#ifndef DLC_BASE
#define DLC_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "Interfaces.td"

def Dlc_Dialect : Dialect {
  let name = "dlc";
  let cppNamespace = "::dlc::ir";
  let summary = "training steps as functions of named states";
  let hasConstantMaterializer = 1;
}

def Dlc_Policy : I32EnumAttr<"CastPolicy", "autocast list of an op", [
    I32EnumAttrCase<"Allow", 0, "allow">, I32EnumAttrCase<"Infer", 1, "infer">,
    I32EnumAttrCase<"Deny", 2, "deny">, I32EnumAttrCase<"Clear", 3, "clear">,
    I32EnumAttrCase<"Never", 4, "never">]> {
  let cppNamespace = "::dlc::ir";
}
def Dlc_Predicate : I32EnumAttr<"Predicate", "comparison operator", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
    I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::dlc::ir";
}
def Dlc_Role : I32EnumAttr<"Role", "role of a state", [
    I32EnumAttrCase<"param", 0>, I32EnumAttrCase<"buffer", 1>, I32EnumAttrCase<"constant", 2, "const">,
    I32EnumAttrCase<"moment", 3>, I32EnumAttrCase<"ema", 4>, I32EnumAttrCase<"scaler", 5>,
    I32EnumAttrCase<"step", 6>, I32EnumAttrCase<"accumulator", 7>,
    I32EnumAttrCase<"factor", 8>, I32EnumAttrCase<"error", 9>]> {
  let cppNamespace = "::dlc::ir";
}
def Dlc_Combine : I32EnumAttr<"Combine", "reduction operator", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"max", 2>,
    I32EnumAttrCase<"min", 3>, I32EnumAttrCase<"argmax", 4>]> {
  let cppNamespace = "::dlc::ir";
}

def Dlc_By : I32EnumAttr<"By", "implementation of an op", [
    I32EnumAttrCase<"Open", 0, "open">, I32EnumAttrCase<"Library", 1, "library">,
    I32EnumAttrCase<"Generated", 2, "generated">, I32EnumAttrCase<"Decomposed", 3, "decomposed">,
    I32EnumAttrCase<"Winograd2", 4, "winograd2">, I32EnumAttrCase<"Winograd4", 5, "winograd4">]> {
  let cppNamespace = "::dlc::ir";
}

def Dlc_Tensor : RankedTensorOf<[F16, BF16, F32, F64, I1, I8, I32, I64]>;
def Dlc_Float : RankedTensorOf<[F16, BF16, F32, F64]>;
def Dlc_Bool : RankedTensorOf<[I1]>;
def Dlc_Index : RankedTensorOf<[I64]>;
defvar Dlc_Ints = DenseI64ArrayAttr;

// How autocast chooses an op's precision. DenyFp16: f32 under fp16; under bf16 the precision of the operands.
class Dlc_Cast<string cpp> {
  string policy = "static CastPolicy castPolicy(bool fp16) { return " # cpp # "; }\n";
}
def CastAllow : Dlc_Cast<"CastPolicy::Allow">;
def CastInfer : Dlc_Cast<"CastPolicy::Infer">;
def CastDeny : Dlc_Cast<"CastPolicy::Deny">;
def CastDenyFp16 : Dlc_Cast<"fp16 ? CastPolicy::Deny : CastPolicy::Infer">;
def CastClear : Dlc_Cast<"CastPolicy::Clear">;
def CastNever : Dlc_Cast<"CastPolicy::Never">;

// C++ implementations of interface methods, for `answers`. Images<"0", "0, 1">: operand 0, results 0 and 1 are images.
class Pins<string operand, string result = "false"> {
  string text = "bool pinsOperand(unsigned i) { return " # operand # "; }\n"
      # "bool pinsResult(unsigned i) { return " # result # "; }\n";
}
class Images<string operands, string results> {
  string text = "static ::llvm::SmallVector<unsigned> imageOperands() { return {" # operands # "}; }\n"
      # "static ::llvm::SmallVector<unsigned> imageResults() { return {" # results # "}; }\n";
}
class MayLack<string operand, string getter> {
  string text = "::llvm::SmallVector<std::pair<::llvm::StringRef, bool>> optionalOperands() {\n"
      # "  return {{\"has_" # operand # "\", bool(" # getter # "())}};\n}\n";
}

// Base of all ops of the dialect. `shapes` and `example` appear in docs/ops.md; test/layout/ops_test.py verifies the example.
class Dlc_AnyOp<string mnemonic, list<Trait> traits = []> : Op<Dlc_Dialect, mnemonic, traits> {
  string shapes = "";
  string example = "";
}
class PlacedAs<string name> {
  string text = "static ::llvm::StringRef placedAs() { return \"" # name # "\"; }\n";
}
// The last attribute of an op with PlaceableInterface, and the op's format: dlc.gather %a, %b by = generated {...}.
defvar Dlc_PlacedBy = DefaultValuedAttr<Dlc_By, "::dlc::ir::By::Open">;
defvar Dlc_Placed = (ins Dlc_PlacedBy:$by);
defvar Dlc_PlacedFormat = "operands (`by` `=` $by^)? attr-dict `:` functional-type(operands, results)";

class Dlc_Op<string mnemonic, Dlc_Cast cast, list<Trait> traits = []>
    : Dlc_AnyOp<mnemonic, traits # [CastPolicyInterface]> {
  string declarations = "";
  string answers = "";
  let extraClassDeclaration = cast.policy # declarations # answers;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

// An op whose result types the family's function `infer` derives from operands and attributes:
// LogicalResult infer(std::optional<Location>, Adaptor, SmallVectorImpl<Type> &).
class Dlc_Pure<string mnemonic, Dlc_Cast cast, string infer, list<Trait> traits = []>
    : Dlc_Op<mnemonic, cast, traits # [Pure, InferTypeOpAdaptor]> {
  string definitions = "";
  string compatible = "compatibleTypes";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *,
        std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return }] # infer # [{(location, adaptor, types);
    }
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return }] # compatible # [{(l, r);
    }
  }] # definitions;
  let declarations = "static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r);\n";
}

// A call of the device's library (LibraryInterface).
class Dlc_Library<string mnemonic, Dlc_Cast cast, string infer, list<Trait> traits = []>
    : Dlc_Pure<mnemonic, cast, infer,
               traits # [LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]>;

#endif
