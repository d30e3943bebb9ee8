// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions.
#ifndef DLC_LINEAR
#define DLC_LINEAR
include "DlcBase.td"

def Dlc_MatmulOp : Dlc_Library<"matmul", CastAllow, "inferMatmul", [PlaceableInterface]> {
  let summary = "matrix product y = a @ b (+ bias); batch dimensions broadcast like numpy's";
  let shapes = [{a [..., M, K] or, with trans_a, [..., K, M]; b [..., K, N] or, with trans_b, [..., N, K]; bias [N]; y [..., M, N], ...
    broadcast}];
  let description = [{`activation` is applied to the result; only lowering sets the attribute. (C1) a and b have rank 2 or more; (C2) contracted
    sizes are equal; (C3) batch dimensions broadcast; (C4) bias has shape [N]; (C5) element types are equal, but y may be f32 if the
    operands have 16 bits; (C6) `activation` is "relu" or "gelu_tanh"; (C7) `by` is open, library or generated.}];
  let example = [{%y = dlc.matmul %a, %b, %bias {trans_b}
      : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, Optional<Dlc_Float>:$bias,
      UnitAttr:$trans_a, UnitAttr:$trans_b, OptionalAttr<StrAttr>:$activation,
      Dlc_PlacedBy:$by);
  let results = (outs Dlc_Float:$y);
  let hasCanonicalizer = 1;
  let compatible = "compatibleOrWide";
  let answers = MayLack<"bias", "getBias">.text # PlacedAs<"matmul">.text;
  let assemblyFormat = Dlc_PlacedFormat;
}

defvar Dlc_GroupedLaws = [{A negative group counts from the end. (C1) x has rank 2; (C2) groups has shape [T];
    (C5) `by` is open, library or decomposed;}];
def Dlc_GroupedMatmulOp : Dlc_Library<"grouped_matmul", CastAllow, "inferGroupedMatmul", [LookupInterface, PlaceableInterface]> {
  let summary = "matrix product per row: y[t] = x[t] @ w[groups[t]], as of tokens and their experts";
  let shapes = "x [T, K]; w [G, K, N] or, with trans_w, [G, N, K]; groups [T]; y [T, N]";
  let description = Dlc_GroupedLaws # " (C3) w has the shape above; (C4) x and w have one element type.";
  let arguments = !con((ins Dlc_Float:$x, Dlc_Float:$w, Dlc_Index:$groups, UnitAttr:$trans_w), Dlc_Placed);
  let assemblyFormat = Dlc_PlacedFormat;
  let example = [{%y = dlc.grouped_matmul %x, %w, %i {trans_w}
      : (tensor<4x3xf32>, tensor<2x5x3xf32>, tensor<4xi64>) -> tensor<4x5xf32>}];
  let results = (outs Dlc_Float:$y);
  let answers = [{int64_t countOf(unsigned i) { return i == 2 ? tensorType(getW()).getDimSize(0) : 0; }
    bool countsFromEnd(unsigned) { return true; }
  }] # PlacedAs<"grouped_matmul">.text;
}
def Dlc_GroupedMatmulBackwardWeightOp : Dlc_Op<"grouped_matmul_backward_weight", CastAllow,
    [Pure, LibraryInterface, LookupInterface, PlaceableInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let summary = "gradient of w of grouped_matmul: dw[g] is the sum of x[t]^T dy[t] over the rows t of group g";
  let shapes = "x [T, K]; dy [T, N]; groups [T]; dw [G, K, N] or, with trans_w, [G, N, K]";
  let description = Dlc_GroupedLaws # " (C3) dy and dw have the shapes above; (C4) x, dy and dw have one element type.";
  let arguments = !con((ins Dlc_Float:$x, Dlc_Float:$dy, Dlc_Index:$groups, UnitAttr:$trans_w), Dlc_Placed);
  let assemblyFormat = Dlc_PlacedFormat;
  let example = [{%dw = dlc.grouped_matmul_backward_weight %x, %y, %i {trans_w}
      : (tensor<4x3xf32>, tensor<4x5xf32>, tensor<4xi64>) -> tensor<2x5x3xf32>}];
  let results = (outs Dlc_Float:$dw);
  let answers = [{int64_t countOf(unsigned i) { return i == 2 ? tensorType(getDw()).getDimSize(0) : 0; }
    bool countsFromEnd(unsigned) { return true; }
  }] # PlacedAs<"grouped_matmul">.text;
  let hasVerifier = 1;
}

defvar Dlc_ConvLaws = [{`strides`, `dilations`: one per spatial dimension, in elements; `pads`: elements, [begin..., end...]; `layout`: "nchw" (channels
    first) or "nhwc" (channels last); `filters_last`: w and dw are [O, K..., C / group]; only lowering sets it. (C1) x and w have one rank
    from 3 to 5; (C2) C is `group` times w's channels; (C3) `group` is positive and divides O; (C5) element types are equal; (C6) the
    window fits into the padded input; (C7) each spatial dimension has a stride, two pads, a dilation and a window size, all but the pads
    positive; (C8) the layout is nchw or nhwc; (C10) `by` is open, library, generated, winograd2 or winograd4 (tiles of 2x2 or 4x4 outputs)}];
class Dlc_Conv<string mnemonic, string infer> : Dlc_Library<mnemonic, CastAllow, infer, [ImageInterface, PlaceableInterface]> {
  let assemblyFormat = Dlc_PlacedFormat;
  dag window = (ins Dlc_Ints:$strides, Dlc_Ints:$pads, Dlc_Ints:$dilations,
      DefaultValuedAttr<I64Attr, "1">:$group, DefaultValuedStrAttr<StrAttr, "nchw">:$layout, UnitAttr:$filters_last);
}
def Dlc_ConvOp : Dlc_Conv<"conv", "inferConv"> {
  let summary = "convolution y = x * w (+ bias) (cross-correlation) over 1 to 3 spatial dimensions";
  let shapes = "x [N, C, D...]; w [O, C / group, K...]; bias [O]; y [N, O, E...]; with layout nhwc, x [N, D..., C] and y [N, E..., O]";
  let description = Dlc_ConvLaws # "; (C4) bias has shape [O].";
  let example = [{%y = dlc.conv %x, %w, %o
      {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64}
      : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>)
      -> tensor<1x6x4x4xf32>}];
  let arguments = !con((ins Dlc_Float:$x, Dlc_Float:$w, Optional<Dlc_Float>:$bias), window, Dlc_Placed);
  let results = (outs Dlc_Float:$y);
  let answers = Images<"0", "0">.text # MayLack<"bias", "getBias">.text # PlacedAs<"conv">.text;
}
class Dlc_ConvBackward<string mnemonic> : Dlc_Op<mnemonic, CastAllow,
    [Pure, LibraryInterface, ImageInterface, PlaceableInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let assemblyFormat = Dlc_PlacedFormat;
  let description = !strconcat("Attributes are those of conv. ", Dlc_ConvLaws, "; (C9) dy has the shape of conv's result.");
  let hasVerifier = 1;
  dag window = (ins Dlc_Ints:$strides, Dlc_Ints:$pads, Dlc_Ints:$dilations,
      DefaultValuedAttr<I64Attr, "1">:$group, DefaultValuedStrAttr<StrAttr, "nchw">:$layout, UnitAttr:$filters_last);
}
def Dlc_ConvBackwardDataOp : Dlc_ConvBackward<"conv_backward_data"> {
  let summary = "gradient of x of conv";
  let shapes = "dy [N, O, E...]; w [O, C / group, K...]; dx [N, C, D...]";
  let example = [{%dx = dlc.conv_backward_data %y, %w
      {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64}
      : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf32>)
      -> tensor<1x4x8x8xf32>}];
  let arguments = !con((ins Dlc_Float:$dy, Dlc_Float:$w), window, Dlc_Placed);
  let results = (outs Dlc_Float:$dx);
  let answers = Images<"0", "0">.text # PlacedAs<"conv">.text;
}
def Dlc_ConvBackwardFilterOp : Dlc_ConvBackward<"conv_backward_filter"> {
  let summary = "gradient of w of conv";
  let shapes = "x [N, C, D...]; dy [N, O, E...]; dw [O, C / group, K...]";
  let example = [{%dw = dlc.conv_backward_filter %x, %y
      {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64}
      : (tensor<1x4x8x8xf32>, tensor<1x6x4x4xf32>)
      -> tensor<6x2x3x3xf32>}];
  let arguments = !con((ins Dlc_Float:$x, Dlc_Float:$dy), window, Dlc_Placed);
  let results = (outs Dlc_Float:$dw);
  let answers = Images<"0, 1", "">.text # PlacedAs<"conv">.text;
}

defvar Dlc_PoolLaws = [{Attributes: see conv. (C1) x has rank 3 to 5; (C2) each spatial dimension has a kernel size, a stride, two
    pads and a dilation, all but the pads positive; (C3) the window fits into the padded input; (C4) the layout is nchw or nhwc}];
class Dlc_Pool<string mnemonic, Dlc_Cast cast, string infer> : Dlc_Library<mnemonic, cast, infer, [ImageInterface, PlaceableInterface]> {
  let assemblyFormat = Dlc_PlacedFormat;
  string pools = PlacedAs<"pool">.text;
  dag window = (ins Dlc_Ints:$kernel, Dlc_Ints:$strides, Dlc_Ints:$pads, Dlc_Ints:$dilations,
      DefaultValuedStrAttr<StrAttr, "nchw">:$layout);
}
class Dlc_PoolBackward<string mnemonic, Dlc_Cast cast> : Dlc_Op<mnemonic, cast,
    [Pure, LibraryInterface, ImageInterface, PlaceableInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let description = !strconcat("x is the operand of the pooling, of dx's type. ", Dlc_PoolLaws,
      "; (C5) dy and index have the shape of the pooling's result; (C6) `by` is open, library or decomposed.");
  let hasVerifier = 1;
  let assemblyFormat = Dlc_PlacedFormat;
  string pools = PlacedAs<"pool">.text;
  dag window = (ins Dlc_Ints:$kernel, Dlc_Ints:$strides, Dlc_Ints:$pads, Dlc_Ints:$dilations,
      DefaultValuedStrAttr<StrAttr, "nchw">:$layout);
}
def Dlc_MaxPoolOp : Dlc_Pool<"max_pool", CastClear, "inferMaxPool"> {
  let summary = "maximum of each window, and the row-major index of the first maximum within the window";
  let shapes = "x [N, C, D...]; y and index [N, C, E...]; with layout nhwc, C is last";
  let description = Dlc_PoolLaws # "; (C5) a window has at most 255 elements; (C6) `by` is open, library or decomposed.";
  let arguments = !con((ins Dlc_Float:$x), window, Dlc_Placed);
  let example = [{%max, %index = dlc.max_pool %x
      {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}
      : (tensor<1x4x8x8xf32>)
      -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)}];
  let results = (outs Dlc_Float:$y, RankedTensorOf<[I8]>:$index);
  let answers = Images<"0", "0, 1">.text # pools;
}
def Dlc_MaxPoolBackwardOp : Dlc_PoolBackward<"max_pool_backward", CastClear> {
  let summary = "gradient of x of max_pool: the sum of dy over the windows whose maximum the element is";
  let shapes = "dy and index [N, C, E...]; dx [N, C, D...]";
  let arguments = !con((ins Dlc_Float:$dy, RankedTensorOf<[I8]>:$index), window, Dlc_Placed);
  let example = [{%dx = dlc.max_pool_backward %max, %index
      {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}
      : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
      -> tensor<1x4x8x8xf32>}];
  let results = (outs Dlc_Float:$dx);
  let answers = Images<"0, 1", "0">.text # pools;
}
def Dlc_AvgPoolOp : Dlc_Pool<"avg_pool", CastInfer, "inferAvgPool"> {
  let summary = "mean of each window; padding counts as elements only with `count_include_pad`";
  let shapes = "x [N, C, D...]; y [N, C, E...]; with layout nhwc, C is last";
  let description = Dlc_PoolLaws # "; (C5) `by` is open, library or decomposed.";
  let arguments = !con((ins Dlc_Float:$x), window, (ins UnitAttr:$count_include_pad), Dlc_Placed);
  let example = [{%y = dlc.avg_pool %x
      {count_include_pad, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, layout = "nhwc"}
      : (tensor<1x4x8x8xf32>)
      -> tensor<1x2x4x8xf32>}];
  let results = (outs Dlc_Float:$y);
  let answers = Images<"0", "0">.text # pools;
}
def Dlc_AvgPoolBackwardOp : Dlc_PoolBackward<"avg_pool_backward", CastInfer> {
  let summary = "gradient of x of avg_pool";
  let shapes = "dy [N, C, E...]; dx [N, C, D...]";
  let arguments = !con((ins Dlc_Float:$dy), window, (ins UnitAttr:$count_include_pad), Dlc_Placed);
  let example = [{%dx = dlc.avg_pool_backward %avg
      {count_include_pad, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, layout = "nhwc"}
      : (tensor<1x2x4x8xf32>)
      -> tensor<1x4x8x8xf32>}];
  let results = (outs Dlc_Float:$dx);
  let answers = Images<"0", "0">.text # pools;
}
#endif
