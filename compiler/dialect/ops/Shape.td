// SPDX-License-Identifier: Apache-2.0
// Ops that create or move elements: constants, views, gather and scatter.
#ifndef DLC_SHAPE
#define DLC_SHAPE
include "DlcBase.td"

defvar Dlc_Movement = DeclareOpInterfaceMethods<MovementInterface>;

def Dlc_ConstantOp : Dlc_AnyOp<"constant", [Pure, ConstantLike, GeneratorInterface, AllTypesMatch<["value", "y"]>]> {
  let summary = "small constant `value`; weights are states, never constants";
  let shapes = "y as the value";
  let example = [{%y = dlc.constant dense<1.000000e+00> : tensor<2xf32>}];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Dlc_Tensor:$y);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "double":$splat, "::mlir::RankedTensorType":$type)>];
}
def Dlc_IotaOp : Dlc_Op<"iota", CastNever, [Pure, GeneratorInterface]> {
  let summary = "index of each element along `axis`, from 0";
  let shapes = "y any";
  let description = "(C1) `axis` is in [0, rank of y).";
  let example = [{%y = dlc.iota {axis = 1 : i64} : () -> tensor<2x3xi64>}];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Dlc_Tensor:$y);
  let hasVerifier = 1;
}
def Dlc_ReshapeOp : Dlc_Op<"reshape", CastClear, [Pure]> {
  let summary = "the elements of x in row-major order, in another shape";
  let shapes = "y any with as many elements as x";
  let description = "(C1) x and y have one element type; (C2) x and y have equally many elements.";
  let example = [{%y = dlc.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>}];
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Dlc_TransposeOp : Dlc_Pure<"transpose", CastClear, "inferTranspose", [Dlc_Movement]> {
  let summary = "permutation of dimensions: dimension d of y is dimension perm[d] of x";
  let shapes = "y[d] = x[perm[d]]";
  let description = "(C1) `perm` is a permutation of the dimensions of x.";
  let example = [{%y = dlc.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>}];
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$perm);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}
def Dlc_BroadcastOp : Dlc_Op<"broadcast", CastClear, [Pure]> {
  let summary = "broadcast of x to the shape of y, like numpy's";
  let shapes = "y any that x broadcasts to";
  let description = "(C1) x and y have one element type, and the shape of x broadcasts to that of y.";
  let example = [{%y = dlc.broadcast %x : (tensor<2x3xf32>) -> tensor<5x2x3xf32>}];
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Dlc_SliceOp : Dlc_Pure<"slice", CastClear, "inferSlice", [Dlc_Movement]> {
  let summary = "slice y[i] = x[starts + i steps] with `sizes` elements per dimension; steps may be negative";
  let shapes = "y as sizes";
  let description = "(C1) Each dimension of x has a start, a size and a step; (C2) steps are not 0, sizes not negative, and all indices are within x.";
  let example = [{%y = dlc.slice %x {sizes = array<i64: 1, 2>, starts = array<i64: 1, 2>, steps = array<i64: 1, -1>}
      : (tensor<2x3xf32>) -> tensor<1x2xf32>}];
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$starts, Dlc_Ints:$sizes, Dlc_Ints:$steps);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
}
def Dlc_PadOp : Dlc_Pure<"pad", CastClear, "inferPad", [Dlc_Movement]> {
  let summary = "padding of each dimension with `value`: `low` elements before x, `high` after x, `interior` between adjacent elements";
  let shapes = "y[d] = low[d] + x[d] + interior[d] max(x[d] - 1, 0) + high[d]";
  let description = "(C1) Each dimension has a `low`, `high` and `interior` number of elements; (C2) no number is negative.";
  let example = [{%y = dlc.pad %x
      {high = array<i64: 0, 1>, interior = array<i64: 1, 0>, low = array<i64: 1, 0>, value = 0.000000e+00 : f64}
      : (tensor<2x3xf32>)
      -> tensor<4x4xf32>}];
  let answers = "int64_t pieces() { return 2; }\n";
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$low, Dlc_Ints:$high, Dlc_Ints:$interior, F64Attr:$value);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_ConcatOp : Dlc_Pure<"concat", CastClear, "inferConcat", [Dlc_Movement]> {
  let summary = "concatenation of the operands along `axis`";
  let shapes = "y as the operands, with the sum of their sizes along the axis";
  let description = [{(C1) There is at least one operand; (C2) `axis` is in [0, rank of the operands); (C3) operands have one element
    type and rank, and equal sizes of all dimensions but `axis`.}];
  let example = [{%y = dlc.concat %x, %x {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>}];
  let answers = "int64_t pieces() { return getXs().size(); }\n";
  let arguments = (ins Variadic<Dlc_Tensor>:$xs, I64Attr:$axis);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_GatherOp : Dlc_Library<"gather", CastClear, "inferGather", [LookupInterface, PlaceableInterface]> {
  let summary = "lookup: slices of data along `axis` at the indices";
  let shapes = "data [A..., n, B...], n at the axis; indices [I...]; y [A..., I..., B...]";
  let description = [{Negative indices count from the end. `padding`: index of the slice that gets no gradient (PyTorch's padding_idx).
    (C1) `axis` is in [0, rank of data); (C2) `padding` is in [0, n); (C3) `by` is open, library or generated (within
    the kernel that reads y).}];
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
  let summary = "gradient of data of gather: zeros, to which the updates are added at the indices along `axis`";
  let shapes = "indices [I...]; updates [A..., I..., B...]; y [A..., n, B...], n at the axis";
  let description = [{(C1) `axis` is in [0, rank of y); (C2) updates and y have one element type; (C3) updates has the shape of y
    with the dimensions of indices in place of `axis`; (C4) `by` is open, library or decomposed.}];
  let arguments = !con((ins Dlc_Index:$indices, Dlc_Float:$updates, I64Attr:$axis), Dlc_Placed);
  let answers = PlacedAs<"scatter_add">.text;
  let assemblyFormat = Dlc_PlacedFormat;
  let example = [{%y = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>}];
  let results = (outs Dlc_Float:$y);
  let hasVerifier = 1;
}
def Dlc_UniqueRowsOp : Dlc_Library<"unique_rows", CastNever, "inferUniqueRows", [PlaceableInterface]> {
  let summary = "sparse scatter_add along axis 0: the distinct indices, and for each the sum of its updates";
  let shapes = "indices and rows [N]; updates and sums [N, B...]";
  let description = [{`size`: number of rows of the table. Negative indices count from the end; updates of index `size` are ignored. The library
    sorts the distinct indices; decomposed, each is at its first position in indices. The remaining rows are `size` and their sums 0.
    `ranks`: the number of ranks whose updates are concatenated. (C1) indices has rank 1; (C2) updates has N rows; (C3) `size` is at
    least 1; (C4) `by` is open, library or decomposed.}];
  let arguments = !con((ins Dlc_Index:$indices, Dlc_Float:$updates, I64Attr:$size, OptionalAttr<I64Attr>:$ranks), Dlc_Placed);
  let answers = PlacedAs<"unique_rows">.text;
  let assemblyFormat = Dlc_PlacedFormat;
  let results = (outs Dlc_Index:$rows, Dlc_Float:$sums);
  let example = [{%rows, %sums = dlc.unique_rows %i, %u {size = 5 : i64}
      : (tensor<4xi64>, tensor<4x3xf32>) -> (tensor<4xi64>, tensor<4x3xf32>)}];
}
def Dlc_PutRowsOp : Dlc_Library<"put_rows", CastNever, "inferSameAsFirst", [PlaceableInterface]> {
  let summary = "copy of x in which the rows at distinct indices, `rows`, are replaced by `values`";
  let shapes = "x and y [R, B...]; rows [N]; values [N, B...]";
  let description = [{The values of index R are ignored. `ranks`: that of the dlc.unique_rows that made the rows. (C1) rows has rank 1;
    (C2) values has the shape above and x's element type; (C3) `by` is open, library or generated.}];
  let arguments = !con((ins Dlc_Float:$x, Dlc_Index:$rows, Dlc_Float:$values, OptionalAttr<I64Attr>:$ranks), Dlc_Placed);
  let assemblyFormat = Dlc_PlacedFormat;
  let results = (outs Dlc_Float:$y);
  let example = [{%y = dlc.put_rows %x, %rows, %v : (tensor<2x3xf32>, tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>}];
  let answers = "bool mayOverwrite(unsigned, unsigned operand) { return operand == 0; }\n" # PlacedAs<"put_rows">.text;
  let hasVerifier = 1;
}
#endif
