// Movement: constants, views, gather and scatter.
#ifndef DLC_SHAPE
#define DLC_SHAPE
include "DlcBase.td"

def Dlc_ConstantOp : Op<Dlc_Dialect, "constant", [Pure, ConstantLike, AllTypesMatch<["value", "y"]>]> {
  let summary = "a small constant; weights are state, never attributes";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Dlc_Tensor:$y);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "double":$splat, "::mlir::RankedTensorType":$type)>];
}
def Dlc_IotaOp : Dlc_Op<"iota", CastNever, [Pure]> {
  let summary = "the index along `axis`";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Dlc_Tensor:$y);
  let hasVerifier = 1;
}
def Dlc_ReshapeOp : Dlc_Op<"reshape", CastClear, [Pure]> {
  let summary = "same elements, other shape";
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Dlc_TransposeOp : Dlc_Pure<"transpose", CastClear, "inferTranspose"> {
  let summary = "y[i...] = x[i permuted]; dimension d of y is dimension perm[d] of x";
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$perm);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
}
def Dlc_BroadcastOp : Dlc_Op<"broadcast", CastClear, [Pure]> {
  let summary = "numpy broadcast to the result's shape";
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Dlc_SliceOp : Dlc_Pure<"slice", CastClear, "inferSlice"> {
  let summary = "y[i] = x[starts + i * steps], `sizes` elements a dimension; steps may be negative";
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$starts, Dlc_Ints:$sizes, Dlc_Ints:$steps);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
}
def Dlc_PadOp : Dlc_Pure<"pad", CastClear, "inferPad"> {
  let summary = "`low` and `high` new elements of `value` around x, `interior` between its elements";
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$low, Dlc_Ints:$high, Dlc_Ints:$interior, F64Attr:$value);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_ConcatOp : Dlc_Pure<"concat", CastClear, "inferConcat"> {
  let summary = "operands joined along `axis`";
  let arguments = (ins Variadic<Dlc_Tensor>:$xs, I64Attr:$axis);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_GatherOp : Dlc_Library<"gather", CastClear, "inferGather"> {
  let summary = "slices of data along `axis`, chosen by indices";
  let arguments = (ins Dlc_Tensor:$data, Dlc_Index:$indices, I64Attr:$axis);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_ScatterAddOp : Dlc_Op<"scatter_add", CastInfer,
    [Pure, LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let summary = "zeros with updates added at indices along `axis`: gather's gradient";
  let arguments = (ins Dlc_Index:$indices, Dlc_Float:$updates, I64Attr:$axis);
  let results = (outs Dlc_Float:$y);
}
#endif
