// SPDX-License-Identifier: Apache-2.0
// The passes from tensors to commands. One entry, one .cpp, one line in compiler/driver/Phases.cpp, one test.
#ifndef DLC_LOWER_PASSES
#define DLC_LOWER_PASSES
include "mlir/Pass/PassBase.td"

class Lower_FunctionPass<string argument> : Pass<argument, "::mlir::func::FuncOp">;
class Lower_ModulePass<string argument> : Pass<argument, "::mlir::ModuleOp">;
// Asks the target (LoweringOptions in Lower.h).
class Lower_TargetPass<string argument> : PassBase<argument, "::dlc::TargetPass">;
// Picks who computes what, among the target's ways and by the users' wishes, which are its options.
class Lower_PlacingPass<string argument> : PassBase<argument, "::dlc::PlacingPass">;

//===--- layout -----------------------------------------------------------===//

def Layout : Lower_FunctionPass<"dlc-layout"> {
  let summary = "images channels last, in library calls and between them";
  let description = [{In convolutions, pooling, batch norm and what stands between them; transposes stand only at the
    borders. Weights, state, and what goes in and out of the function stay as they are; with `filters` convolutions read
    weights whose channels are last, and write such gradients, by transposes that fuse with the casts around them.}];
  let options = [Option<"filters", "filters", "bool", "false", "filters of convolutions as well">];
}

//===--- decompose --------------------------------------------------------===//

def InferLimits : Lower_FunctionPass<"dlc-infer-limits"> {
  let summary = "note on integer inputs the bound of what they index";
  let description = [{Arguments of integers get the attribute `dlc.limit`: the rows of the table, or the classes, that they
    index, and `dlc.from_end` where all of these count negative ones from the end.}];
}

def Compress : Lower_FunctionPass<"dlc-compress"> {
  let summary = "gradients travel as products of two thin matrices";
  let description = [{An all_reduce with `error` and `factor` becomes one of P, in its bucket, and one of Q, in one of its own. Before
    dlc-place.}];
}

def ChunkLoss : Lower_FunctionPass<"dlc-chunk-loss"> {
  let summary = "compute logits and their gradient for some rows after the others";
  let description = [{Where a product's result goes to a cross entropy, and nothing mixes its rows, what stands between that
    product and the sums over rows is there once for each piece of the rows. Behind dlc-infer-limits, which sees labels
    whole; before who computes a product is picked.}];
  let options = [Option<"rows", "rows", "int64_t", "0", "of a piece; 0: where logits are large, by their size">,
    Option<"memory", "memory", "int64_t", "0", "most bytes of all regions, of which logits are a small part; 0: no limit">,
    Option<"large", "large", "int64_t", "67108864", "bytes of logits that are split without such a limit; 0: none are">];
}

def SplitCodes : Lower_ModulePass<"dlc-split-codes"> {
  let summary = "compute a weight of few bits for some rows after the others";
  let description = [{A matrix that constant states of fewer bytes stand for, row by row, and the products that read it, in
    pieces of its rows. Behind dlc-chunk-loss; before who computes a product is picked.}];
  let options = [Option<"bytes", "bytes", "int64_t", "16777216", "of a piece of the matrix">];
}

def MatmulEpilogues : Lower_PlacingPass<"dlc-matmul-epilogues"> {
  let summary = "library products take over activations, their gradients and sums";
  let description = [{Products that a library multiplies take over what it can do in the same call: an activation behind a
    product, its gradient behind the product that computes the gradient of its result, and the sum over the rows of a
    gradient that a weight's gradient multiplies. Before dlc-decompose, while the gradient of an activation is one op.
    Products that are predicted to be faster as generated kernels are left to dlc-fuse-matmul.

    The library computes an activation before it rounds the product. It stores a bias's gradient in the product's type,
    where our own sums stay in f32 up to a cast that follows.}];
}

def Place : Lower_PlacingPass<"dlc-place"> {
  let summary = "pick who computes what";
  let description = [{Every op with PlaceableInterface gets a `by`, but products that a kernel of our own might compute:
    dlc-fuse-matmul knows what else that would do. Behind dlc-layout.}];
}

def JoinAttention : Lower_FunctionPass<"dlc-join-attention"> {
  let summary = "let attention read a joint projection, and write its gradient, in place";
  let description = [{An attention by the library whose queries, keys and values are the thirds of one tensor's rows becomes
    dlc.attention_joint of it; so does its gradient, if nothing else is added to that of the tensor. Behind dlc-autodiff and
    dlc-layout.}];
}

def NormCalls : Lower_FunctionPass<"dlc-norm-calls"> {
  let summary = "make calls of the norms that are by the library";
  let description = [{Batch and layer norms that are by the library, and their gradients, become the ops of LibraryNorm.td,
    with what directly follows them. Where the library calls norms as they are, this is not needed. Behind dlc-place.}];
}

def Decompose : Lower_FunctionPass<"dlc-decompose"> {
  let summary = "replace ops by their meaning in elementwise and reduce ops";
  let description = [{Every op that has DecomposableInterface, if it is placed so or could be no library call. Drops what
    nothing uses then: the statistics of a norm, the gradient of a scale that is no parameter. A concat of many operands
    becomes concats of concats.}];
  let options = [Option<"parts", "parts", "bool", "false",
    "for dlc-shard and dlc-join-norms: but norms and finiteness of reduced gradients, which stay as they are">];
}

def SplitReductions : Lower_FunctionPass<"dlc-split-reductions"> {
  let summary = "reduce many elements to a few in two stages";
  let description = [{By a chunking that depends on the shape alone, so that threads share the work and the result does not
    depend on their number.}];
  // 16: that of a CPU.
  let options = [Option<"fewOutputs", "few-outputs", "int64_t", "16", "most results of a reduction that is split">];
}

//===--- fuse -------------------------------------------------------------===//

def RecomputeCheap : Lower_FunctionPass<"dlc-recompute-cheap"> {
  let summary = "compute cheap activations again of those that are kept anyway";
  let description = [{What the backward part reads of the forward part, and cheap ops make of few activations that it reads in
    any case: normalised values, ReLUs behind a norm. Their chains stand in front of the first op that reads them there, and
    fuse with it. Behind dlc-decompose; nothing may merge equal ops after it.}];
  let options = [Option<"least", "least", "int64_t", "262144", "bytes of an activation that is computed again">];
}

def ReleaseGradients : Lower_FunctionPass<"dlc-release-gradients"> {
  let summary = "large gradients that only their update reads are values as any other";
  let description = [{On one rank, where a library call computes them and no update waits for all gradients: their all_reduce
    goes, by which dlc-plan-memory gives gradients their places. Before dlc-fuse.}];
  let options = [Option<"least", "least", "int64_t", "262144", "bytes of such a gradient">];
}

def Fuse : Lower_FunctionPass<"dlc-fuse"> {
  let summary = "make clusters that compile to one kernel each";
  let description = "Ops that share loops become one dlc.fused.";
  let options = [Option<"apart", "apart", "bool", "false", "each op a cluster of its own">,
    Option<"repeat", "repeat", "bool", "false", "compute cheap values again where that reads no more, for a device whose "
      "arithmetic costs nothing next to its memory">,
    Option<"few", "few", "bool", "false", "few launches: a loss comes from the kernel of its gradient, small reductions that "
      "stand apart run together">,
    Option<"windows", "windows", "bool", "false", "compute cheap values at the places of pooling windows, for such a device">];
}

def GenerateOps : Lower_FunctionPass<"dlc-generate-ops"> {
  let summary = "make kernels of attention and convolutions that are to be generated";
  let description = [{Each becomes a cluster of its own; attention's gradient two: one over queries, one over keys. Behind
    dlc-fuse.}];
}

def FuseMatmul : Lower_PlacingPass<"dlc-fuse-matmul"> {
  let summary = "make kernels of products of halves where that is faster";
  let description = [{Places the products that dlc-place has left: they become clusters with what computes their operands and
    what is computed from them, where that is wished or predicted to be faster than library calls. Behind dlc-fuse.}];
}

def WidenProducts : Lower_FunctionPass<"dlc-widen-products"> {
  let summary = "products of bf16 that are only read in f32 have an f32 result";
  let description = [{A library's product without an epilogue sums up in f32 and need not round for a cast behind it: gradients
    of weights are then written once. Not those of f16, whose overflow the loss scale has to see. Behind dlc-fuse-matmul.}];
}

def StoreSummed : Lower_FunctionPass<"dlc-store-summed"> {
  let summary = "let sums of columns store what they add up";
  let description = [{An elementwise cluster whose results a cluster of column sums reads runs in that one, although others read
    them, too. Sums of many parts run in a cluster that reduces rows of what they add up. Behind dlc-fuse and dlc-fuse-matmul.}];
}

def PackMasks : Lower_FunctionPass<"dlc-pack-masks"> {
  let summary = "gradients of ReLUs read bits instead of results";
  let description = [{An elementwise cluster whose result others compare with 0, as a ReLU's gradient does, and read for nothing else,
    also stores a bit an element, which they read. Behind dlc-store-summed.}];
  let options = [Option<"least", "least", "int64_t", "1048576", "bytes of such a result">];
}

//===--- shard ------------------------------------------------------------===//

def Shard : Lower_ModulePass<"dlc-shard"> {
  let summary = "each rank updates a part of moments, averages and parameters";
  let description = [{What updates moments or averages of parameters element by element works on shards of them, and of all
    that it reads; parameters are gathered behind. From level 2 on so does what updates parameters alone, and gradients are
    reduced to the shards that it reads; what sums up all gradients sums parts and then ranks: by integers, so that the sum
    has the bits of that of whole gradients, or, where the device has no such calls, by clusters, in f64. At level 3
    parameters are shards themselves, which are gathered where others use them. What of them is smaller than `whole`, or
    used in another way, stays whole (the latter with a warning). Kernels do not change. Behind dlc-fuse.}];
  let options = [Option<"level", "level", "int64_t", "1", "of --zero">,
    Option<"whole", "whole", "int64_t", "0", "bytes that are updated together, below which they stay whole">];
}

def JoinCasts : Lower_FunctionPass<"dlc-join-casts"> {
  let summary = "mark casts of whole states and gradients, which become one launch";
  let description = [{Clusters that only cast a state to halves, or halves to a gradient, get the attribute `dlc.joined`.
    dlc-plan-memory puts these halves side by side, casts all states before the first command, and gradients that follow
    each other in one bucket where the last one is there. Without gathers, parameters with such gradients are updated, and
    lie, ahead of the others of their bucket. Behind dlc-fuse.}];
}

def GatherCopies : Lower_FunctionPass<"dlc-gather-copies"> {
  let summary = "copies of filters and of their gradients into another layout stand side by side";
  let description = [{In a function that writes states: those of filters first of all, those of gradients, on one rank, in front
    of the first op that reads one. Behind dlc-join-casts, whose casts run before all commands.}];
}

def JoinNorms : Lower_FunctionPass<"dlc-join-norms"> {
  let summary = "sum whole gradients for their norm by rows";
  let description = [{What dlc-decompose has left of norms and finiteness of gradients becomes a cluster for each, of one shape,
    and one for all their rows: dlc-merge-launches makes one launch of those of adjacent gradients. Behind dlc-shard.}];
}

def UpdateEarly : Lower_FunctionPass<"dlc-update-early"> {
  let summary = "update a large state as soon as that can be";
  let description = [{A cluster that only writes to states take stands behind the last op whose result it reads, and the last
    that reads these states, where no gradient travels. Such states lie behind the others. Behind dlc-fuse.}];
  let options = [Option<"least", "least", "int64_t", "262144", "bytes of a state whose update has a launch of its own">];
}

//===--- recompute --------------------------------------------------------===//

def Recompute : Lower_ModulePass<"dlc-recompute"> {
  let summary = "compute activations again instead of keeping them";
  let description = [{Of fused functions with gradients: the activations of the nodes that are named, then, for a budget, what
    saves most for what it costs. Always what is made of gathered parameters alone, such as their halves, and
    what constant states of fewer bytes stand for: weights of few bits.}];
  let options = [ListOption<"nodes", "nodes", "std::string", "of the nodes that one of these expressions is found in">,
    Option<"budget", "memory", "int64_t", "0", "most bytes of all regions; 0: no limit">];
}

//===--- plan -------------------------------------------------------------===//

def TimeCollectives : Lower_ModulePass<"dlc-time-collectives"> {
  let summary = "gather parameters ahead of their uses";
  let description = [{Parameters whose gradients travel together are gathered together: ahead of their first use, and again where
    others have taken their place since (memory/Stays.h). Behind dlc-recompute.}];
  let options = [Option<"ahead", "ahead", "int64_t", "1", "buckets that are gathered ahead of the one in use">];
}

def PlanMemory : Lower_ModulePass<"dlc-plan-memory"> {
  let summary = "turn functions into programs of commands on buffers";
  let description = "State and gradients lie in flat regions, what a step computes in scratch, by liveness.";
  let dependentDialects = ["::dlc::exec::ExecDialect"];
}

def JoinStages : Lower_TargetPass<"dlc-join-stages"> {
  let summary = "the last blocks of column sums compute what is made of the sums";
  let description = [{A launch of column sums and the next one, which adds up their parts, become one of a kernel with
    exec.last, where the target runs it and the second writes nothing that the first touches. dlc-merge-launches erases
    kernels that nobody runs any more.}];
}

def JoinSmall : Lower_TargetPass<"dlc-join-small"> {
  let summary = "small elementwise launches in a row are one";
  let description = [{Of a kernel with exec.beside, where the target runs it, and if none touches what another one writes.}];
}

def MergeLaunches : Lower_ModulePass<"dlc-merge-launches"> {
  let summary = "one launch for launches of a kernel on adjacent buffers";
}

def ScheduleKernels : Lower_ModulePass<"dlc-schedule-kernels"> {
  let summary = "say how each kernel's loops run, and what it costs";
  let description = "`#exec.schedule` of each kernel that has none. Behind all that changes kernels.";
}

def MapThreads : Lower_TargetPass<"dlc-map-threads"> {
  let summary = "say how each kernel lies on the target's threads";
  let description = [{`#exec.threads` of each kernel that has none, on a target that launches grids of threads; others share
    out a schedule's items as they run. Behind dlc-schedule-kernels.}];
}

def NumberParts : Lower_ModulePass<"dlc-number-parts"> {
  let summary = "say of how many elements the parts are that ranks have";
  let description = [{Of a launch with `shard` each rank runs some items: `shard` becomes the elements of an item. An all_gather
    behind it completes what is to be whole; its wait stands before the first other command that touches parameters, else
    at the end. Other collectives of parts become one for each launch's. Behind dlc-schedule-kernels.}];
}

#endif
