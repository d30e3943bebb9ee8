// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions.
#ifndef DLC_LINEAR
#define DLC_LINEAR
include "DlcBase.td"

def Dlc_MatmulOp : Dlc_Library<"matmul", CastAllow, "inferMatmul", [PlaceableInterface]> {
  let summary = "a @ b (+ bias), batch dimensions broadcast like numpy's";
  let shapes = [{a [..., M, K] or, transposed, [..., K, M]; b [..., K, N] or [..., N, K]; bias [N]; y [..., M, N], ...
    broadcast}];
  let description = [{(C1) ranks are at least 2; (C2) contracted sizes agree; (C3) batch dims broadcast;
    (C4) bias is [N]; (C5) element types agree, but the result of halves may be f32; (C6) an `activation`, which lowering alone sets, is "relu" or "gelu_tanh":
    the result is its value; (C7) it is by library or generated.}];
  let example = [{%y = dlc.matmul %a, %b, %bias {trans_b}
      : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, Optional<Dlc_Float>:$bias,
      UnitAttr:$trans_a, UnitAttr:$trans_b, OptionalAttr<StrAttr>:$activation,
      Dlc_PlacedBy:$by);
  let results = (outs Dlc_Float:$y);
  let compatible = "compatibleOrWide";
  let answers = MayLack<"bias", "getBias">.text # PlacedAs<"matmul">.text;
  let assemblyFormat = Dlc_PlacedFormat;
}

defvar Dlc_GroupedLaws = [{Negative groups count from the end. (C1) x is a matrix; (C2) groups are a vector, one for each of its
    rows; (C5) it is by library or decomposed;}];
def Dlc_GroupedMatmulOp : Dlc_Library<"grouped_matmul", CastAllow, "inferGroupedMatmul", [LookupInterface, PlaceableInterface]> {
  let summary = "each row of x times the matrix of its group, as of a token and its expert";
  let shapes = "x [T, K]; w [G, K, N] or, transposed, [G, N, K]; groups [T]; y [T, N]";
  let description = Dlc_GroupedLaws # " (C3) w has rank 3 and x's columns as its matrices' rows; (C4) element types agree.";
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
  let summary = "gradient of grouped_matmul's w";
  let shapes = "x [T, K]; dy [T, N]; groups [T]; dw [G, K, N] or, transposed, [G, N, K]";
  let description = Dlc_GroupedLaws # " (C3) dy has x's rows, dw rank 3 and the columns of both; (C4) element types agree.";
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

defvar Dlc_ConvLaws = [{(C1) x and w have one rank, 3 to 5; (C2) x's channels are group * w's; (C3) O divides by group, which
    is positive; (C5) element types agree; (C6) the window fits into the padded input; (C7) each spatial dimension has a stride,
    two pads and a dilation, positive but for the pads, as is the window; (C8) the layout is nchw or nhwc: channels first or last. With filters_last, which
    lowering alone sets, w and its gradient are [O, K..., C / group]; (C10) it is by library, generated, winograd2 or
    winograd4: Winograd's products on tiles of 2x2 or 4x4 outputs.}];
class Dlc_Conv<string mnemonic, string infer> : Dlc_Library<mnemonic, CastAllow, infer, [ImageInterface, PlaceableInterface]> {
  let assemblyFormat = Dlc_PlacedFormat;
  dag window = (ins Dlc_Ints:$strides, Dlc_Ints:$pads, Dlc_Ints:$dilations,
      DefaultValuedAttr<I64Attr, "1">:$group, DefaultValuedStrAttr<StrAttr, "nchw">:$layout, UnitAttr:$filters_last);
}
def Dlc_ConvOp : Dlc_Conv<"conv", "inferConv"> {
  let summary = "convolution over 1 to 3 dimensions; pads are [begin..., end...]";
  let shapes = "x [N, C, D...]; w [O, C / group, K...]; bias [O]; y [N, O, E...]; channels last of x and y behind D and E";
  let description = Dlc_ConvLaws # "; (C4) bias is [O].";
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
  let description = !strconcat("Of the convolution of x and w: ", Dlc_ConvLaws, "; (C9) dy has its result's shape.");
  let hasVerifier = 1;
  dag window = (ins Dlc_Ints:$strides, Dlc_Ints:$pads, Dlc_Ints:$dilations,
      DefaultValuedAttr<I64Attr, "1">:$group, DefaultValuedStrAttr<StrAttr, "nchw">:$layout, UnitAttr:$filters_last);
}
def Dlc_ConvBackwardDataOp : Dlc_ConvBackward<"conv_backward_data"> {
  let summary = "gradient of conv's input";
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
  let summary = "gradient of conv's weights";
  let shapes = "x [N, C, D...]; dy [N, O, E...]; dw [O, C / group, K...]";
  let example = [{%dw = dlc.conv_backward_filter %x, %y
      {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64}
      : (tensor<1x4x8x8xf32>, tensor<1x6x4x4xf32>)
      -> tensor<6x2x3x3xf32>}];
  let arguments = !con((ins Dlc_Float:$x, Dlc_Float:$dy), window, Dlc_Placed);
  let results = (outs Dlc_Float:$dw);
  let answers = Images<"0, 1", "">.text # PlacedAs<"conv">.text;
}

defvar Dlc_PoolLaws = [{(C1) x has rank 3 to 5; (C2) each spatial dimension has a kernel size, a stride, two pads and a
    dilation, positive but for the pads; (C3) the window fits into the padded input; (C4) the layout is nchw or nhwc}];
class Dlc_Pool<string mnemonic, Dlc_Cast cast, string infer> : Dlc_Library<mnemonic, cast, infer, [ImageInterface, PlaceableInterface]> {
  let assemblyFormat = Dlc_PlacedFormat;
  string pools = PlacedAs<"pool">.text;
  dag window = (ins Dlc_Ints:$kernel, Dlc_Ints:$strides, Dlc_Ints:$pads, Dlc_Ints:$dilations,
      DefaultValuedStrAttr<StrAttr, "nchw">:$layout);
}
class Dlc_PoolBackward<string mnemonic, Dlc_Cast cast> : Dlc_Op<mnemonic, cast,
    [Pure, LibraryInterface, ImageInterface, PlaceableInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let description = !strconcat("Of the pooling of dx: ", Dlc_PoolLaws,
      "; (C5) what comes from its result has the result's shape; (C6) it is by library or decomposed.");
  let hasVerifier = 1;
  let assemblyFormat = Dlc_PlacedFormat;
  string pools = PlacedAs<"pool">.text;
  dag window = (ins Dlc_Ints:$kernel, Dlc_Ints:$strides, Dlc_Ints:$pads, Dlc_Ints:$dilations,
      DefaultValuedStrAttr<StrAttr, "nchw">:$layout);
}
def Dlc_MaxPoolOp : Dlc_Pool<"max_pool", CastClear, "inferMaxPool"> {
  let summary = "maximum of each window and its position in it (row-major, the first one wins)";
  let shapes = "x [N, C, D...]; y and index [N, C, E...]; channels last behind D and E";
  let description = Dlc_PoolLaws # "; (C5) a window has at most 255 elements; (C6) it is by library or decomposed.";
  let arguments = !con((ins Dlc_Float:$x), window, Dlc_Placed);
  let example = [{%max, %index = dlc.max_pool %x
      {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}
      : (tensor<1x4x8x8xf32>)
      -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)}];
  let results = (outs Dlc_Float:$y, RankedTensorOf<[I8]>:$index);
  let answers = Images<"0", "0, 1">.text # pools;
}
def Dlc_MaxPoolBackwardOp : Dlc_PoolBackward<"max_pool_backward", CastClear> {
  let summary = "gradient of max_pool's input";
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
  let summary = "mean of each window";
  let shapes = "x [N, C, D...]; y [N, C, E...]; channels last behind D and E";
  let description = Dlc_PoolLaws # "; (C5) it is by library or decomposed.";
  let arguments = !con((ins Dlc_Float:$x), window, (ins UnitAttr:$count_include_pad), Dlc_Placed);
  let example = [{%y = dlc.avg_pool %x
      {count_include_pad, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, layout = "nhwc"}
      : (tensor<1x4x8x8xf32>)
      -> tensor<1x2x4x8xf32>}];
  let results = (outs Dlc_Float:$y);
  let answers = Images<"0", "0">.text # pools;
}
def Dlc_AvgPoolBackwardOp : Dlc_PoolBackward<"avg_pool_backward", CastInfer> {
  let summary = "gradient of avg_pool's input";
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
