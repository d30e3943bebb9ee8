// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, and sums over CTC's paths. The input projection of all steps (x W^T and the biases) is a matmul; only
// the recurrence is an op. T steps, a batch of B, H hidden units; with `reverse` the last step comes first.
#ifndef DLC_RECURRENCE
#define DLC_RECURRENCE
include "DlcBase.td"

class Dlc_Recurrence<string mnemonic, string infer>
    : Dlc_Pure<mnemonic, CastAllow, infer, [DeclareOpInterfaceMethods<FlopsInterface>]>;

defvar Dlc_StateStays = " Where `valid` is false a step keeps the previous state.";
defvar Dlc_RecurrenceLaws = [{ (C1) r is [G H, H] for G gates, x [T, B, G H] and T at least 1; (C2) what is one a row is [B, H],
    a bias [H]; (C3) `valid` is [T, B]; (C4) element types of x, r and h0 agree.}];
defvar Dlc_RecurrenceBackwardLaws = [{(C1) r is [G H, H] for G gates, dh [T, B, H] and T at least 1; (C2) other tensors of all
    steps have as many steps, rows and units, h0 and c0 are [B, H]; (C3) `valid` is [T, B]; (C4) element types of dh and r
    agree.}];

def Dlc_LstmOp : Dlc_Recurrence<"lstm", "inferLstm"> {
  let summary = "the steps of an LSTM";
  let shapes = "x [T, B, 4 H]; r [4 H, H]; h0 and c0 [B, H]; valid [T, B]; h and c [T, B, H]; gates [4, T, B, H]";
  let description = !strconcat([{[i, o, f, g] = [sigmoid, sigmoid, sigmoid, tanh](x + h' r^T), c = f c' + i g, h = o tanh(c), with the
    previous state h', c'; `gates` are i, o, f, g.}], Dlc_StateStays, Dlc_RecurrenceLaws);
  let example = [{%h, %c, %gates = dlc.lstm %x, %r, %h0, %h0
      : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
      -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$r, Dlc_Float:$h0, Dlc_Float:$c0, Optional<Dlc_Bool>:$valid, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$h, Dlc_Float:$c, Dlc_Float:$gates);
  let answers = Pins<"i == 3", "i == 1">.text;
}
def Dlc_LstmBackwardOp : Dlc_Recurrence<"lstm_backward", "inferLstmBackward"> {
  let summary = "gradients of lstm's x, h0 and c0";
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
  let summary = "the steps of a GRU";
  let shapes = "x [T, B, 3 H]; r [3 H, H]; bias [H]; h0 [B, H]; valid [T, B]; h [T, B, H]; gates [4, T, B, H]";
  let description = !strconcat([{With x and r of z, r and n: z = sigmoid(x_z + h' r_z^T), r = sigmoid(x_r + h' r_r^T); with `reset_after`
    p = h' r_n^T + bias and n = tanh(x_n + r p), without p = r h' and n = tanh(x_n + p r_n^T + bias); h = (1 - z) n + z h', with
    the previous state h'. `gates` are z, r, n, p.}], Dlc_StateStays, Dlc_RecurrenceLaws);
  let example = [{%h, %gates = dlc.gru %x, %r, %o, %h0 {reset_after}
      : (tensor<5x2x9xf32>, tensor<9x3xf32>, tensor<3xf32>, tensor<2x3xf32>)
      -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$r, Dlc_Float:$bias, Dlc_Float:$h0, Optional<Dlc_Bool>:$valid,
      UnitAttr:$reset_after, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$h, Dlc_Float:$gates);
}
def Dlc_GruBackwardOp : Dlc_Recurrence<"gru_backward", "inferGruBackward"> {
  let summary = "gradients of gru's x, of its matrix products' results, and of h0";
  let shapes = "dh and h [T, B, H]; gates [4, T, B, H]; h0 and dh0 [B, H]; r [3 H, H]; valid [T, B]; dx and dp [T, B, 3 H]";
  let description = !strconcat("dp equals dx, except that with `reset_after` its part for n is multiplied by r. ", Dlc_RecurrenceBackwardLaws);
  let example = [{%dx, %dp, %dh0 = dlc.gru_backward %h, %gates, %h, %h0, %r {reset_after}
      : (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>)
      -> (tensor<5x2x9xf32>, tensor<5x2x9xf32>, tensor<2x3xf32>)}];
  let arguments = (ins Dlc_Float:$dh, Dlc_Float:$gates, Dlc_Float:$h, Dlc_Float:$h0, Dlc_Float:$r,
      Optional<Dlc_Bool>:$valid, UnitAttr:$reset_after, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dp, Dlc_Float:$dh0);
}

def Dlc_RnnOp : Dlc_Recurrence<"rnn", "inferRnn"> {
  let summary = "the steps of a plain recurrent layer";
  let shapes = "x and h [T, B, H]; r [H, H]; h0 [B, H]; valid [T, B]";
  let description = !strconcat("h = tanh(x + h' r^T), with `relu` max(x + h' r^T, 0), with the previous state h'.", Dlc_StateStays, Dlc_RecurrenceLaws);
  let example = [{%h = dlc.rnn %x, %r, %h0 {relu} : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<5x2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$r, Dlc_Float:$h0, Optional<Dlc_Bool>:$valid, UnitAttr:$relu, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$h);
}
def Dlc_RnnBackwardOp : Dlc_Recurrence<"rnn_backward", "inferRnnBackward"> {
  let summary = "gradients of rnn's x and h0";
  let shapes = "dh, h and dx [T, B, H]; dh0 [B, H]; r [H, H]; valid [T, B]";
  let description = Dlc_RecurrenceBackwardLaws;
  let example = [{%dx, %dh0 = dlc.rnn_backward %dh, %h, %r : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<3x3xf32>)
      -> (tensor<5x2x3xf32>, tensor<2x3xf32>)}];
  let arguments = (ins Dlc_Float:$dh, Dlc_Float:$h, Dlc_Float:$r, Optional<Dlc_Bool>:$valid, UnitAttr:$relu, UnitAttr:$reverse);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dh0);
}

defvar Dlc_CtcLaws = [{(C1) e is [T, B, L] with T at least 1 and L at least 3; (C2) what is one a row and place is
    [B, L]; (C3) `valid` is [T, B]}];
def Dlc_CtcPathsOp : Dlc_Pure<"ctc_paths", CastDeny, "inferCtcPaths"> {
  let summary = "log of the sum over CTC's paths";
  let shapes = "e and all [T, B, L]; jumps and last [B, L]; valid [T, B]";
  let description = !strconcat([{A path starts at position 0 before the first step. A step stays at its position l, or comes from l - 1 or,
    where `jumps`, from l - 2, and multiplies the path's weight by exp(e). `all` is the log of the sum over paths at each
    step, `last` that after the last step; the log of an empty sum is -1e30.}], Dlc_StateStays, Dlc_CtcLaws, ".");
  let example = [{%last, %all = dlc.ctc_paths %e, %jumps, %valid : (tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<5x2xi1>)
      -> (tensor<2x7xf32>, tensor<5x2x7xf32>)}];
  let arguments = (ins Dlc_Float:$e, Dlc_Bool:$jumps, Dlc_Bool:$valid);
  let results = (outs Dlc_Float:$last, Dlc_Float:$all);
}
def Dlc_CtcPathsBackwardOp : Dlc_Pure<"ctc_paths_backward", CastDeny, "inferCtcPathsBackward"> {
  let summary = "gradient of ctc_paths's e";
  let shapes = "dlast and jumps [B, L]; e, all and de [T, B, L]; valid [T, B]";
  let description = !strconcat(Dlc_CtcLaws, "; (C4) `all` is as e; (C5) element types of e, `all` and dlast agree.");
  let example = [{%de = dlc.ctc_paths_backward %dlast, %e, %all, %jumps, %valid
      : (tensor<2x7xf32>, tensor<5x2x7xf32>, tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<5x2xi1>) -> tensor<5x2x7xf32>}];
  let arguments = (ins Dlc_Float:$dlast, Dlc_Float:$e, Dlc_Float:$all, Dlc_Bool:$jumps, Dlc_Bool:$valid);
  let results = (outs Dlc_Float:$de);
}
#endif
