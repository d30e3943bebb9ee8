// SPDX-License-Identifier: Apache-2.0
// Movement: constants, views, gather and scatter.
#ifndef DLC_SHAPE
#define DLC_SHAPE
include "DlcBase.td"

defvar Dlc_Movement = DeclareOpInterfaceMethods<MovementInterface>;

def Dlc_ConstantOp : Dlc_AnyOp<"constant", [Pure, ConstantLike, GeneratorInterface, AllTypesMatch<["value", "y"]>]> {
  let summary = "a small constant; weights are state, never attributes";
  let shapes = "y as the value";
  let example = [{%y = dlc.constant dense<1.000000e+00> : tensor<2xf32>}];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Dlc_Tensor:$y);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "double":$splat, "::mlir::RankedTensorType":$type)>];
}
def Dlc_IotaOp : Dlc_Op<"iota", CastNever, [Pure, GeneratorInterface]> {
  let summary = "the index along `axis`";
  let shapes = "y any";
  let description = "(C1) the axis is within the rank.";
  let example = [{%y = dlc.iota {axis = 1 : i64} : () -> tensor<2x3xi64>}];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Dlc_Tensor:$y);
  let hasVerifier = 1;
}
def Dlc_ReshapeOp : Dlc_Op<"reshape", CastClear, [Pure]> {
  let summary = "same elements, other shape";
  let shapes = "y any of as many elements as x";
  let description = "(C1) element types agree; (C2) so do the numbers of elements.";
  let example = [{%y = dlc.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>}];
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Dlc_TransposeOp : Dlc_Pure<"transpose", CastClear, "inferTranspose", [Dlc_Movement]> {
  let summary = "y[i...] = x[i permuted]; dimension d of y is dimension perm[d] of x";
  let shapes = "y[d] = x[perm[d]]";
  let description = "(C1) perm is a permutation of x's dimensions.";
  let example = [{%y = dlc.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>}];
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$perm);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
}
def Dlc_BroadcastOp : Dlc_Op<"broadcast", CastClear, [Pure]> {
  let summary = "numpy broadcast to the result's shape";
  let shapes = "y any that x broadcasts to";
  let description = "(C1) x has the result's element type and a shape that broadcasts to its shape.";
  let example = [{%y = dlc.broadcast %x : (tensor<2x3xf32>) -> tensor<5x2x3xf32>}];
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Dlc_SliceOp : Dlc_Pure<"slice", CastClear, "inferSlice", [Dlc_Movement]> {
  let summary = "y[i] = x[starts + i * steps], `sizes` elements a dimension; steps may be negative";
  let shapes = "y as sizes";
  let description = "(C1) there is a start, a size and a step a dimension; (C2) all that is read is within x.";
  let example = [{%y = dlc.slice %x {sizes = array<i64: 1, 2>, starts = array<i64: 1, 2>, steps = array<i64: 1, -1>}
      : (tensor<2x3xf32>) -> tensor<1x2xf32>}];
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$starts, Dlc_Ints:$sizes, Dlc_Ints:$steps);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
}
def Dlc_PadOp : Dlc_Pure<"pad", CastClear, "inferPad", [Dlc_Movement]> {
  let summary = "`low` and `high` new elements of `value` around x, `interior` between its elements";
  let shapes = "y[d] = low[d] + x[d] + interior[d] max(x[d] - 1, 0) + high[d]";
  let description = "(C1) there is a low, a high and an interior size a dimension; (C2) none is negative.";
  let example = [{%y = dlc.pad %x
      {high = array<i64: 0, 1>, interior = array<i64: 1, 0>, low = array<i64: 1, 0>, value = 0.000000e+00 : f64}
      : (tensor<2x3xf32>)
      -> tensor<4x4xf32>}];
  let answers = "int64_t pieces() { return 2; }\n";
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$low, Dlc_Ints:$high, Dlc_Ints:$interior, F64Attr:$value);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_ConcatOp : Dlc_Pure<"concat", CastClear, "inferConcat", [Dlc_Movement]> {
  let summary = "operands joined along `axis`";
  let shapes = "y as the operands, with the sum of their sizes along the axis";
  let description = [{(C1) there is an operand; (C2) the axis is within its rank; (C3) operands agree in element type, rank
    and all other dimensions.}];
  let example = [{%y = dlc.concat %x, %x {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>}];
  let answers = "int64_t pieces() { return getXs().size(); }\n";
  let arguments = (ins Variadic<Dlc_Tensor>:$xs, I64Attr:$axis);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_GatherOp : Dlc_Library<"gather", CastClear, "inferGather", [LookupInterface, PlaceableInterface]> {
  let summary = "slices of data along `axis`, chosen by indices";
  let shapes = "data [A..., n, B...], n at the axis; indices [I...]; y [A..., I..., B...]";
  let description = [{Negative indices count from the end. The slice `padding` gets no gradient, as torch's padding_idx.
    (C1) the axis is within data's rank; (C2) `padding` is one of the slices; (C3) it is by library or
    generated, a part of the kernel that reads it.}];
  let arguments = !con((ins Dlc_Tensor:$data, Dlc_Index:$indices, I64Attr:$axis, OptionalAttr<I64Attr>:$padding),
      Dlc_Placed);
  let assemblyFormat = Dlc_PlacedFormat;
  let example = [{%y = dlc.gather %x, %i {axis = 0 : i64, padding = 1 : i64}
      : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>}];
  let results = (outs Dlc_Tensor:$y);
  let answers = [{int64_t countOf(unsigned i) {
      return i == 1 ? tensorType(getData()).getDimSize(getAxis()) : 0;
    }
    bool countsFromEnd(unsigned) { return true; }
  }] # PlacedAs<"gather">.text;
}
def Dlc_ScatterAddOp : Dlc_Op<"scatter_add", CastInfer,
    [Pure, LibraryInterface, PlaceableInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let summary = "zeros with updates added at indices along `axis`: gather's gradient";
  let shapes = "indices [I...]; updates [A..., I..., B...]; y [A..., n, B...], n at the axis";
  let description = [{(C1) the axis is within y's rank; (C2) element types of updates and y agree; (C3) updates have y's
    shape with the indices' dimensions in place of the axis; (C4) it is by library or decomposed.}];
  let arguments = !con((ins Dlc_Index:$indices, Dlc_Float:$updates, I64Attr:$axis), Dlc_Placed);
  let answers = PlacedAs<"scatter_add">.text;
  let assemblyFormat = Dlc_PlacedFormat;
  let example = [{%y = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>}];
  let results = (outs Dlc_Float:$y);
  let hasVerifier = 1;
}
def Dlc_UniqueRowsOp : Dlc_Library<"unique_rows", CastNever, "inferUniqueRows"> {
  let summary = "the rows that scatter_add's result has of updates along axis 0: their numbers, sorted, and their sums";
  let shapes = "indices and rows [N]; updates and sums [N, B...]";
  let description = [{`size`: the number of rows of the whole. Negative indices count from the end; the updates of index `size` are
    of no row. If there are fewer than N rows, those behind have the number `size` and the sum 0. `ranks`: the updates are those of
    so many ranks. (C1) indices are a vector; (C2) each has an update; (C3) the whole has rows.}];
  let arguments = (ins Dlc_Index:$indices, Dlc_Float:$updates, I64Attr:$size, OptionalAttr<I64Attr>:$ranks);
  let results = (outs Dlc_Index:$rows, Dlc_Float:$sums);
  let example = [{%rows, %sums = dlc.unique_rows %i, %u {size = 5 : i64}
      : (tensor<4xi64>, tensor<4x3xf32>) -> (tensor<4xi64>, tensor<4x3xf32>)}];
}
def Dlc_PutRowsOp : Dlc_Library<"put_rows", CastNever, "inferSameAsFirst"> {
  let summary = "x with other values in the rows of these numbers, each of which occurs once";
  let shapes = "x and y [R, B...]; rows [N]; values [N, B...]";
  let description = [{The number R is of no row. (C1) rows are a vector; (C2) values have x's element type and a row of x for each.}];
  let arguments = (ins Dlc_Float:$x, Dlc_Index:$rows, Dlc_Float:$values);
  let results = (outs Dlc_Float:$y);
  let example = [{%y = dlc.put_rows %x, %rows, %v : (tensor<2x3xf32>, tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>}];
  let answers = "bool mayOverwrite(unsigned, unsigned operand) { return operand == 0; }\n";
  let hasVerifier = 1;
}
#endif
