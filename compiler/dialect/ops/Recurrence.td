// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, and sums over the paths of CTC. A matmul computes the input projection of all steps (x W^T and biases);
// these ops compute the recurrence. T steps, B rows, H hidden units. `reverse`: steps are computed from the last to the first.
#ifndef DLC_RECURRENCE
#define DLC_RECURRENCE
include "DlcBase.td"

class Dlc_Recurrence<string mnemonic, string infer>
    : Dlc_Pure<mnemonic, CastAllow, infer, [DeclareOpInterfaceMethods<FlopsInterface>]>;

defvar Dlc_StateStays = " Where `valid` is false, the step copies the previous state.";
defvar Dlc_RecurrenceLaws = [{ (C1) r is [G H, H] for G gates, and x [T, B, G H] with T >= 1; (C2) h0 and c0 are [B, H],
    bias is [H]; (C3) `valid` is [T, B]; (C4) x, r and h0 have one element type.}];
defvar Dlc_RecurrenceBackwardLaws = [{(C1) r is [G H, H] for G gates, and dh [T, B, H] with T >= 1; (C2) the other operands have
    the shapes above, with the T, B and H of dh; (C3) `valid` is [T, B]; (C4) dh and r have
    one element type.}];

def Dlc_LstmOp : Dlc_Recurrence<"lstm", "inferLstm"> {
  let summary = "recurrence of an LSTM over T steps";
  let shapes = "x [T, B, 4 H]; r [4 H, H]; h0 and c0 [B, H]; valid [T, B]; h and c [T, B, H]; gates [4, T, B, H]";
  let description = !strconcat([{[i, o, f, g] = [sigmoid, sigmoid, sigmoid, tanh](x + h' r^T), c = f c' + i g and h = o tanh(c), where h' and c'
    are the state of the previous step, at first h0 and c0; `gates` are i, o, f and g.}], Dlc_StateStays, Dlc_RecurrenceLaws);
  let example = [{%h, %c, %gates = dlc.lstm %x, %r, %h0, %h0
      : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
      -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$r, Dlc_Float:$h0, Dlc_Float:$c0, Optional<Dlc_Bool>:$valid, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$h, Dlc_Float:$c, Dlc_Float:$gates);
  let answers = Pins<"i == 3", "i == 1">.text;
}
def Dlc_LstmBackwardOp : Dlc_Recurrence<"lstm_backward", "inferLstmBackward"> {
  let summary = "gradients of x, h0 and c0 of lstm";
  let shapes = "dh, dc and c [T, B, H]; gates [4, T, B, H]; c0, dh0 and dc0 [B, H]; r [4 H, H]; valid [T, B]; dx [T, B, 4 H]";
  let description = Dlc_RecurrenceBackwardLaws;
  let example = [{%dx, %dh0, %dc0 = dlc.lstm_backward %h, %h, %gates, %h, %c0, %r
      : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xf32>)
      -> (tensor<5x2x12xf32>, tensor<2x3xf32>, tensor<2x3xf32>)}];
  let arguments = (ins Dlc_Float:$dh, Dlc_Float:$dc, Dlc_Float:$gates, Dlc_Float:$c, Dlc_Float:$c0, Dlc_Float:$r,
      Optional<Dlc_Bool>:$valid, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dh0, Dlc_Float:$dc0);
}

def Dlc_GruOp : Dlc_Recurrence<"gru", "inferGru"> {
  let summary = "recurrence of a GRU over T steps";
  let shapes = "x [T, B, 3 H]; r [3 H, H]; bias [H]; h0 [B, H]; valid [T, B]; h [T, B, H]; gates [4, T, B, H]";
  let description = !strconcat([{x and r consist of parts for z, r and n: z = sigmoid(x_z + h' r_z^T), r = sigmoid(x_r + h' r_r^T). With `reset_after`,
    p = h' r_n^T + bias and n = tanh(x_n + r p); without, p = r h' and n = tanh(x_n + p r_n^T + bias). h = (1 - z) n + z h', where h' is
    the previous step's h, at first h0. `gates` are z, r, n and p.}], Dlc_StateStays, Dlc_RecurrenceLaws);
  let example = [{%h, %gates = dlc.gru %x, %r, %o, %h0 {reset_after}
      : (tensor<5x2x9xf32>, tensor<9x3xf32>, tensor<3xf32>, tensor<2x3xf32>)
      -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$r, Dlc_Float:$bias, Dlc_Float:$h0, Optional<Dlc_Bool>:$valid,
      UnitAttr:$reset_after, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$h, Dlc_Float:$gates);
}
def Dlc_GruBackwardOp : Dlc_Recurrence<"gru_backward", "inferGruBackward"> {
  let summary = "gradients of x and h0 of gru, and dp, that of the results of the products with r";
  let shapes = "dh and h [T, B, H]; gates [4, T, B, H]; h0 and dh0 [B, H]; r [3 H, H]; valid [T, B]; dx and dp [T, B, 3 H]";
  let description = !strconcat("dp equals dx, except that with `reset_after` the part of dp for n is multiplied by the gate r. ", Dlc_RecurrenceBackwardLaws);
  let example = [{%dx, %dp, %dh0 = dlc.gru_backward %h, %gates, %h, %h0, %r {reset_after}
      : (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>)
      -> (tensor<5x2x9xf32>, tensor<5x2x9xf32>, tensor<2x3xf32>)}];
  let arguments = (ins Dlc_Float:$dh, Dlc_Float:$gates, Dlc_Float:$h, Dlc_Float:$h0, Dlc_Float:$r,
      Optional<Dlc_Bool>:$valid, UnitAttr:$reset_after, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dp, Dlc_Float:$dh0);
}

def Dlc_RnnOp : Dlc_Recurrence<"rnn", "inferRnn"> {
  let summary = "recurrence of a plain recurrent layer over T steps";
  let shapes = "x and h [T, B, H]; r [H, H]; h0 [B, H]; valid [T, B]";
  let description = !strconcat("h = tanh(x + h' r^T) or, with `relu`, max(x + h' r^T, 0), where h' is the previous step's h, at first h0.", Dlc_StateStays, Dlc_RecurrenceLaws);
  let example = [{%h = dlc.rnn %x, %r, %h0 {relu} : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<5x2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$r, Dlc_Float:$h0, Optional<Dlc_Bool>:$valid, UnitAttr:$relu, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$h);
}
def Dlc_RnnBackwardOp : Dlc_Recurrence<"rnn_backward", "inferRnnBackward"> {
  let summary = "gradients of x and h0 of rnn";
  let shapes = "dh, h and dx [T, B, H]; dh0 [B, H]; r [H, H]; valid [T, B]";
  let description = Dlc_RecurrenceBackwardLaws;
  let example = [{%dx, %dh0 = dlc.rnn_backward %dh, %h, %r : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<3x3xf32>)
      -> (tensor<5x2x3xf32>, tensor<2x3xf32>)}];
  let arguments = (ins Dlc_Float:$dh, Dlc_Float:$h, Dlc_Float:$r, Optional<Dlc_Bool>:$valid, UnitAttr:$relu, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dh0);
}

defvar Dlc_CtcLaws = [{ (C1) e is [T, B, L] with T >= 1 and L >= 3; (C2) jumps and dlast are [B, L];
    (C3) `valid` is [T, B]}];
def Dlc_CtcPathsOp : Dlc_Pure<"ctc_paths", CastDeny, "inferCtcPaths"> {
  let summary = "logarithms of the sums of the weights of CTC's paths";
  let shapes = "e and all [T, B, L]; jumps and last [B, L]; valid [T, B]";
  let description = !strconcat([{A path starts at position 0 before the first step, with weight 1. A step moves the path to position l from l, from
    l - 1 or, where `jumps[l]`, from l - 2, and multiplies the weight by exp(e[l]). `all` is, for each step and position, the log of the
    sum of the weights of paths that end there, `last` that of the last step; the log of an empty sum is -1e30.}], Dlc_StateStays, Dlc_CtcLaws, ".");
  let example = [{%last, %all = dlc.ctc_paths %e, %jumps, %valid : (tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<5x2xi1>)
      -> (tensor<2x7xf32>, tensor<5x2x7xf32>)}];
  let arguments = (ins Dlc_Float:$e, Dlc_Bool:$jumps, Dlc_Bool:$valid);
  let results = (outs Dlc_Float:$last, Dlc_Float:$all);
}
def Dlc_CtcPathsBackwardOp : Dlc_Pure<"ctc_paths_backward", CastDeny, "inferCtcPathsBackward"> {
  let summary = "gradient of e of ctc_paths";
  let shapes = "dlast and jumps [B, L]; e, all and de [T, B, L]; valid [T, B]";
  let description = !strconcat(Dlc_CtcLaws, "; (C4) `all` has the shape of e; (C5) e, `all` and dlast have one element type.");
  let example = [{%de = dlc.ctc_paths_backward %dlast, %e, %all, %jumps, %valid
      : (tensor<2x7xf32>, tensor<5x2x7xf32>, tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<5x2xi1>) -> tensor<5x2x7xf32>}];
  let arguments = (ins Dlc_Float:$dlast, Dlc_Float:$e, Dlc_Float:$all, Dlc_Bool:$jumps, Dlc_Bool:$valid);
  let results = (outs Dlc_Float:$de);
}
#endif
