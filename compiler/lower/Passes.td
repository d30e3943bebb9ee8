// SPDX-License-Identifier: Apache-2.0
// The passes from tensors to commands. One entry, one .cpp, one line in compiler/driver/Phases.cpp, one test.
#ifndef DLC_LOWER_PASSES
#define DLC_LOWER_PASSES
include "mlir/Pass/PassBase.td"

class Lower_FunctionPass<string argument> : Pass<argument, "::mlir::func::FuncOp">;
class Lower_ModulePass<string argument> : Pass<argument, "::mlir::ModuleOp">;
// Asks the target (LoweringOptions in Lower.h).
class Lower_TargetPass<string argument> : PassBase<argument, "::dlc::TargetPass">;
// Chooses implementations of ops among those of the target; the options are the users' preferences (--place).
class Lower_PlacingPass<string argument> : PassBase<argument, "::dlc::PlacingPass">;

//===--- layout -----------------------------------------------------------===//

def Layout : Lower_FunctionPass<"dlc-layout"> {
  let summary = "layout of images: channels last";
  let description = [{Converts convolutions, pooling, batch norm and the ops between them; transposes remain only at the borders.
    Weights, states, and arguments and results of the function keep their layout. With `filters`, convolutions read weights and write
    their gradients with channels last; the transposes fuse with casts.}];
  let options = [Option<"filters", "filters", "bool", "false", "also for filters of convolutions">];
}

//===--- decompose --------------------------------------------------------===//

def InferLimits : Lower_FunctionPass<"dlc-infer-limits"> {
  let summary = "bounds of the integers of inputs that are indices";
  let description = [{Integer arguments get the attribute `dlc.limit`, the number of rows of the table or of classes that they index, and
    `dlc.from_end` if all ops that read them accept negative indices, which count from the end.}];
}

def Compress : Lower_FunctionPass<"dlc-compress"> {
  let summary = "low-rank compression of gradients (PowerSGD)";
  let description = [{An all_reduce with `error` and `factor` becomes one of the factor P, in the same bucket, and one of the factor Q, in a
    separate bucket. Runs before dlc-place.}];
}

def ChunkLoss : Lower_FunctionPass<"dlc-chunk-loss"> {
  let summary = "computation of logits and their gradient in chunks of rows";
  let description = [{If a cross entropy reads a product, and all ops between the product and sums over rows treat rows independently, these
    ops are repeated for each chunk of rows. Runs after dlc-infer-limits, which needs all labels in one tensor, and before dlc-place.
    }];
  let options = [Option<"rows", "rows", "int64_t", "0", "rows of a chunk; 0 (default): chosen by the size of large logits">,
    Option<"memory", "memory", "int64_t", "0", "bytes of all regions, of which logits shall be a small part; 0 (default): no limit">,
    Option<"large", "large", "int64_t", "67108864", "bytes from which logits are split if `memory` is 0; 0: never (default: 64 MiB)">];
}

def SplitCodes : Lower_ModulePass<"dlc-split-codes"> {
  let summary = "dequantization of large low-bit weights in chunks of rows";
  let description = [{Splits a matrix that is computed row by row from constant states of fewer bytes, and the products that read it, into
    chunks of rows. Runs after dlc-chunk-loss and before dlc-place.}];
  let options = [Option<"bytes", "bytes", "int64_t", "16777216", "bytes of a chunk of the matrix (default: 16 MiB)">];
}

def MatmulEpilogues : Lower_PlacingPass<"dlc-matmul-epilogues"> {
  let summary = "epilogues of the library's matrix products: activations and sums of columns";
  let description = [{Fuses into a library's product what the library can compute in the same call: the activation of the product, and the
    sum over rows of the gradient that a product multiplies to a weight's gradient. Runs before dlc-decompose.
    Products that are predicted to be faster as generated kernels are left to dlc-fuse-matmul.

    The library computes the activation before it rounds the product. It stores a bias gradient in the product's type; a
    generated sum stays in f32 up to the next cast.}];
}

def Place : Lower_PlacingPass<"dlc-place"> {
  let summary = "choice of the implementation of each op";
  let description = [{Sets `by` of each op with PlaceableInterface, except products that a generated kernel might compute: dlc-fuse-matmul,
    which knows what would be fused with them, decides about these. Runs after dlc-layout.}];
}

def JoinAttention : Lower_FunctionPass<"dlc-join-attention"> {
  let summary = "attention on the result of a joint projection, without copies";
  let description = [{Attention that is placed on the library, and whose q, k and v are the thirds of one tensor's rows, becomes
    dlc.attention_joint, and its gradient dlc.attention_joint_backward if it is the tensor's only gradient. Runs after
    dlc-autodiff and dlc-layout.}];
}

def NormCalls : Lower_FunctionPass<"dlc-norm-calls"> {
  let summary = "library calls of norms";
  let description = [{Batch and layer norms that are placed on the library, and their gradients, become ops of LibraryNorm.td, fused with a
    residual addition and ReLU. Not for targets whose library calls norms directly. Runs after dlc-place.}];
}

def PairNorms : Lower_FunctionPass<"dlc-pair-norms"> {
  let summary = "gradients of batch norms that have one gradient, side by side";
  let description = [{Each batch_norm_backward that is placed as decomposed is decomposed at the first one of the same dy, if its other
    operands are there: the norms of a residual block's two branches. Their reductions are adjacent, so dlc-fuse joins their
    sums, and their results, which read dy once. Runs after dlc-place and before dlc-decompose.}];
}

def SpreadGradients : Lower_FunctionPass<"dlc-spread-gradients"> {
  let summary = "gradients of strided 1x1 convolutions without their zeros";
  let description = [{A conv_backward_data with a window of one element and a stride, whose result one elementwise op reads, is computed
    without the stride. A pad with zeros between the elements, which dlc-fuse joins to that op, replaces the zeros in memory.
    Runs after dlc-layout.}];
}

def Decompose : Lower_FunctionPass<"dlc-decompose"> {
  let summary = "decomposition of ops into elementwise and reduce ops";
  let description = [{Replaces each op with DecomposableInterface that is placed as decomposed or has no library call. Erases unused
    results: statistics of a norm, the gradient of a scale that is not a parameter. A concat of many operands becomes nested
    concats.}];
  let options = [Option<"parts", "parts", "bool", "false",
    "whether to keep global_norm and all_finite of reduced gradients, for dlc-shard and dlc-join-norms">];
}

def SplitReductions : Lower_FunctionPass<"dlc-split-reductions"> {
  let summary = "two stages of reductions of many elements to few";
  let description = [{Threads share the chunks of the first stage. Chunks depend only on the shape, so the result does not depend on
    the number of threads.}];
  // 16: the number for CPUs.
  let options = [Option<"fewOutputs", "few-outputs", "int64_t", "16", "largest number of results of a reduction that is split (default: 16)">];
}

//===--- fuse -------------------------------------------------------------===//

def RecomputeCheap : Lower_FunctionPass<"dlc-recompute-cheap"> {
  let summary = "recomputation of cheap activations from activations that are stored anyway";
  let description = [{For forward values that the backward part reads, and that cheap ops compute from few activations which the
    backward part reads anyway: normalized values, ReLUs after a norm. The repeated ops precede their first reader in the backward
    part, and fuse with it. Runs after dlc-decompose; CSE must not run later.}];
  let options = [Option<"least", "least", "int64_t", "262144", "bytes from which an activation is recomputed (default: 256 KiB)">];
}

def ReleaseGradients : Lower_FunctionPass<"dlc-release-gradients"> {
  let summary = "large gradients in scratch memory";
  let description = [{With one rank: removes the all_reduce of a gradient that a library call computes and only its update reads, if no
    update waits for all gradients. Without it dlc-plan-memory assigns scratch memory to the gradient. Runs before dlc-fuse.}];
  let options = [Option<"least", "least", "int64_t", "262144", "bytes from which a gradient is large (default: 256 KiB)">];
}

def Fuse : Lower_FunctionPass<"dlc-fuse"> {
  let summary = "fusion of ops into clusters, each of which becomes one kernel";
  let description = "Ops that share loops become one dlc.fused (fuse/Fuse.cpp).";
  let options = [Option<"apart", "apart", "bool", "false", "a cluster for each op">,
    Option<"repeat", "repeat", "bool", "false", "recomputation of cheap values in each reader if no more is read, for devices whose "
      "arithmetic is cheap compared to memory">,
    Option<"few", "few", "bool", "false", "fewer launches: the kernel of a loss's gradient computes the loss, independent small "
      "reductions share a kernel">,
    Option<"windows", "windows", "bool", "false", "recomputation of cheap values in pooling windows, for such devices">];
}

def GenerateOps : Lower_FunctionPass<"dlc-generate-ops"> {
  let summary = "clusters of attention and convolutions that are placed as generated";
  let description = [{Each becomes one cluster, the gradient of attention two: one over queries, one over keys. Runs after
    dlc-fuse.}];
}

def FuseMatmul : Lower_PlacingPass<"dlc-fuse-matmul"> {
  let summary = "generated kernels of 16-bit matrix products, where they are faster";
  let description = [{Places the products that dlc-place has left, and convolutions of one tap, which are products of pixels. A product is
    fused with the ops that compute its operands and those that read its result, also sums over parts of its rows, if --place says so or
    if this is predicted to be faster than the library call. Runs after dlc-fuse and dlc-store-summed.}];
}

def WidenProducts : Lower_FunctionPass<"dlc-widen-products"> {
  let summary = "f32 results of bf16 products that are only read in f32";
  let description = [{A library's product without an epilogue accumulates in f32 and stores that result, so the cast after it is removed:
    gradients of weights are then written once. Not for f16, whose overflow the loss scaler must see. Runs after dlc-fuse-matmul.}];
}

def StoreSummed : Lower_FunctionPass<"dlc-store-summed"> {
  let summary = "fusion of elementwise clusters into the column sums that read them";
  let description = [{Column sums then also store their operand, which other clusters read. A cluster that moves pixels keeps its shape, and
    the sums view its results. Column sums of many parts are fused into a cluster that reduces the rows of their operand. Runs after
    dlc-fuse and dlc-fuse-matmul.}];
}

def PackMasks : Lower_FunctionPass<"dlc-pack-masks"> {
  let summary = "bit masks for gradients of ReLUs";
  let description = [{An elementwise cluster whose result clusters only compare with 0, as the gradient of a ReLU does, also stores one bit
    per element, which these clusters read instead. Runs after dlc-store-summed.}];
  let options = [Option<"least", "least", "int64_t", "1048576", "bytes from which a result gets a mask (default: 1 MiB)">];
}

//===--- shard ------------------------------------------------------------===//

def Shard : Lower_ModulePass<"dlc-shard"> {
  let summary = "sharding of moments, averages and parameters over ranks (--zero)";
  let description = [{Elementwise updates of moments and averages compute shards, and read shards of all operands; updated parameters are
    gathered. From level 2, all updates of parameters compute shards, and gradients are reduced to shards (reduce_scatter); norms of
    gradients are sums over shards, then ranks: exact sums of integers, equal to those of whole gradients in every bit, or, if the
    device lacks these calls, sums in f64. At level 3, parameters are stored as shards and gathered for each use. States smaller
    than `whole` bytes are not sharded, nor are, with a warning, states with other uses. Kernels do not change. Runs after
    dlc-fuse.}];
  let options = [Option<"level", "level", "int64_t", "1", "level of --zero: 1 (default), 2 or 3">,
    Option<"whole", "whole", "int64_t", "0", "bytes of states updated together, below which they are not sharded (default: 0)">];
}

def JoinCasts : Lower_FunctionPass<"dlc-join-casts"> {
  let summary = "marks on casts of states and gradients that shall share one launch";
  let description = [{Clusters that only cast a state to 16 bits, or 16 bits to a gradient, get the attribute `dlc.joined`. dlc-plan-memory
    places these 16-bit values side by side, casts all states before the first command, and consecutive gradients of a bucket
    after the last of them. Unless parameters are gathered, those with such gradients precede the others of their bucket in
    updates and memory. Runs after dlc-fuse.}];
}

def GatherCopies : Lower_FunctionPass<"dlc-gather-copies"> {
  let summary = "adjacent copies of filters and of their gradients to another layout";
  let description = [{In functions that write states: copies of filters move to the start, copies of gradients, with one rank, before the
    first op that reads one. dlc-join-small can then merge them. Runs after dlc-join-casts.}];
}

def JoinNorms : Lower_FunctionPass<"dlc-join-norms"> {
  let summary = "norms of whole gradients as sums of rows";
  let description = [{global_norm and all_finite that dlc-decompose has kept become one cluster per gradient, of equal row lengths, and one
    cluster for all rows. dlc-merge-launches merges those of adjacent gradients. Runs after dlc-shard.}];
}

def UpdateEarly : Lower_FunctionPass<"dlc-update-early"> {
  let summary = "updates of large states as early as possible";
  let description = [{A cluster whose results are only written to states moves to the last op whose result it reads or that reads these
    states, if gradients are not reduced over ranks. Such states are placed after the others in memory. Runs after dlc-fuse.}];
  let options = [Option<"least", "least", "int64_t", "262144", "bytes from which a state is updated by a separate launch (default: 256 KiB)">];
}

//===--- recompute --------------------------------------------------------===//

def Recompute : Lower_TargetPass<"dlc-recompute"> {
  let summary = "recomputation of activations in the backward part, or copies of them in the host's memory";
  let description = [{In fused functions with gradients: the activations of named nodes, then, to stay within a budget, those that save the
    most bytes per cost. If the target can, activations are instead copied to the host and back (dlc.offload), alone or beside
    recomputed ones, where that is predicted to cost less time. Always recomputed are values that depend only on gathered
    parameters, such as 16-bit casts of them, and dequantized low-bit weights.}];
  let options = [ListOption<"nodes", "nodes", "std::string", "regular expressions that are searched in names of nodes">,
    Option<"budget", "memory", "int64_t", "0", "budget of bytes of all regions; 0 (default): no limit">,
    Option<"offload", "offload", "::dlc::OffloadMode", "::dlc::OffloadMode::Auto", "copies to the host (default: auto)", [{::llvm::cl::values(
      clEnumValN(::dlc::OffloadMode::Auto, "auto", "where they are predicted to cost less time than recomputation"),
      clEnumValN(::dlc::OffloadMode::Off, "off", "none"),
      clEnumValN(::dlc::OffloadMode::Only, "only", "instead of recomputation"))}]>];
}

//===--- plan -------------------------------------------------------------===//

def TimeCollectives : Lower_ModulePass<"dlc-time-collectives"> {
  let summary = "gathers of sharded parameters ahead of their uses";
  let description = [{Parameters whose gradients share a bucket are gathered together, ahead of their first use, and again for later uses
    if their memory has been reused (memory/Stays.h). Runs after dlc-recompute.}];
  let options = [Option<"ahead", "ahead", "int64_t", "1", "number of buckets gathered ahead of the one in use (default: 1)">];
}

def PlanMemory : Lower_ModulePass<"dlc-plan-memory"> {
  let summary = "conversion of functions to programs of commands on buffers";
  let description = "States and gradients get offsets in flat regions, other values offsets in scratch memory, by liveness.";
  let dependentDialects = ["::dlc::exec::ExecDialect"];
}

def JoinStages : Lower_TargetPass<"dlc-join-stages"> {
  let summary = "one launch for both stages of column sums";
  let description = [{A launch of partial column sums and the next one, which adds them and computes results from the sums, become one
    launch of a kernel with exec.last, if the target supports it and the second writes nothing that the first accesses.
    dlc-merge-launches erases unused kernels.}];
}

def JoinSmall : Lower_TargetPass<"dlc-join-small"> {
  let summary = "one launch for consecutive small elementwise launches";
  let description = [{The launch is of a kernel with exec.beside. Requires a target that supports it; no launch may access what another writes.}];
}

def MergeLaunches : Lower_ModulePass<"dlc-merge-launches"> {
  let summary = "one launch for launches of a kernel on adjacent buffers";
}

def ScheduleKernels : Lower_ModulePass<"dlc-schedule-kernels"> {
  let summary = "schedule and cost of each kernel";
  let description = "Sets `#exec.schedule` of each kernel without one. Runs after all passes that change kernels.";
}

def MapThreads : Lower_TargetPass<"dlc-map-threads"> {
  let summary = "mapping of kernels to the target's threads";
  let description = [{Sets `#exec.threads` of each kernel without one, for targets with grids of threads; other targets distribute the
    schedule's items to threads at run time. Runs after dlc-schedule-kernels.}];
}

def NumberParts : Lower_ModulePass<"dlc-number-parts"> {
  let summary = "sizes of the shards of launches and collectives";
  let description = [{Each rank runs some items of a launch with `shard`: the attribute is set to the number of elements of an item. An
    all_gather after the launch completes what is not sharded; its wait precedes the first other command that accesses parameters,
    else it is last. Other collectives of shards are split by launch. Runs after dlc-schedule-kernels.}];
}

#endif
