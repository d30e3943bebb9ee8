// SPDX-License-Identifier: Apache-2.0
// The exec dialect: a step as a flat list of commands on buffers, the form that the plan stores.
#ifndef EXEC_OPS
#define EXEC_OPS
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::dlc::exec";
  let summary = "planned programs: regions, buffers at offsets, commands in order";
  let useDefaultAttributePrinterParser = 1;
}
class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits> {
  string example = ""; // for docs/ops.md; a test reads and verifies it
}
class Exec_SymbolUser<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits # [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Exec_ScheduleAttr : AttrDef<Exec_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "schedule of a kernel (Schedule.h): numbers of its loops in groups with their sizes, and the kernel's cost";
  let parameters = (ins AttrParameter<"::dlc::exec::Schedule", "", "const ::dlc::exec::Schedule &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Exec_ThreadsAttr : AttrDef<Exec_Dialect, "Threads"> {
  let mnemonic = "threads";
  let summary = "mapping of a kernel to threads (Threads.h): blocks, threads of a block, work of a thread";
  let parameters = (ins AttrParameter<"::dlc::exec::Threads", "", "const ::dlc::exec::Threads &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Exec_RegionOp : Exec_Op<"region", [Symbol]> {
  let summary = "allocation of device memory: states, gradients or scratch; or of pinned memory of the host";
  let description = "(C1) `kind` is state, gradient, scratch or host; (C2) `bytes` is not negative.";
  let example = [{exec.region @param "state" bytes = 128}];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$bytes);
  let assemblyFormat = "$sym_name $kind `bytes` `=` $bytes attr-dict";
  let hasVerifier = 1;
}
def Exec_StateOp : Exec_SymbolUser<"state", [Symbol]> {
  let summary = "state at a byte offset in a region";
  let description = "Attributes are those of dlc.state. (C1) The type has a static shape; (C2) the region exists and contains the state; (C3) `of` is a state.";
  let example = [{exec.state @w : tensor<4x4xf32> "param" in @param at 0 init = "w" trainable}];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, StrAttr:$role, FlatSymbolRefAttr:$region,
      I64Attr:$offset, AnyAttr:$init, OptionalAttr<FlatSymbolRefAttr>:$of, UnitAttr:$trainable);
  let assemblyFormat = [{$sym_name `:` $type $role `in` $region `at` $offset `init` `=` $init (`of` `=` $of^)?
    (`trainable` $trainable^)? attr-dict}];
}
def Exec_PartOp : Exec_SymbolUser<"part"> {
  let summary = "range of a region of which each rank stores some consecutive items";
  let description = "`item`: bytes of an item; the last one may be shorter. `extent`: number of items. (C1) The region exists and contains "
    "the range; (C2) `item` and `extent` are positive, and the items cover `bytes`.";
  let example = [{exec.part @param at 0 bytes = 40 item = 16 extent = 3}];
  let arguments = (ins FlatSymbolRefAttr:$region, I64Attr:$offset, I64Attr:$bytes, I64Attr:$item, I64Attr:$extent);
  let assemblyFormat = "$region `at` $offset `bytes` `=` $bytes `item` `=` $item `extent` `=` $extent attr-dict";
  let hasVerifier = 1;
}
def Exec_KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove]> {
  let summary = "cluster to be compiled: block arguments are the inputs, operands of dlc.yield the outputs";
  let description = [{`schedule`: the loops, set by dlc-schedule-kernels and read by code generators and the plan.
    `threads`: the mapping of the loops to the threads of a device with grids, set by dlc-map-threads.
    `parted`: a launch may run a subset of the items (dlc-number-parts), and all tensors have one shape; a kernel of kind rows
    sums as many elements of its input as the launch's last argument says, and treats the others as 0.
    (C1) The body ends with dlc.yield; (C2) the schedule's grain is at least 1, and its numbers are not negative; (C3) each loop
    occurs at most once in the schedule; (C4) the schedule's block splits the first inner group (elementwise) or the last outer one
    (columns); (C5) block and across of threads are at least 1, grid and chunks not negative; (C6) vectors of threads are powers of
    two, indices have 32 or 64 bits; (C7) threads have at most one of registers, sparse, transposed and tile; (C8) a tile has three
    sizes, left and right (products), or two sizes, and its warps divide the block; (C9) threads require a schedule; (C10) a body with
    exec.last has one, and no exec.beside; later ops read arguments, outputs and each other, parts beside each other their own values.}];
  let example = [{
    exec.kernel @exp schedule = #exec.schedule<elementwise, inner = [[0, 1]: 16], grain = 2, flops = 16, bytes = 128> {
    ^bb0(%x: tensor<4x4xf32>):
      %0 = dlc.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
      dlc.yield %0 : tensor<4x4xf32>
    }
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Exec_ScheduleAttr>:$schedule,
      OptionalAttr<Exec_ThreadsAttr>:$threads, UnitAttr:$parted);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$sym_name (`parted` $parted^)? (`schedule` `=` qualified($schedule)^)? (`threads` `=` qualified($threads)^)?
    attr-dict-with-keyword $body}];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name), "build($_builder, $_state, name, nullptr, nullptr);">];
  let hasVerifier = 1;
}
def Exec_LastOp : Exec_Op<"last", [HasParent<"KernelOp">]> {
  let summary = "barrier in a kernel's body: later ops read what all threads have stored before";
  let description = [{On devices with grids of threads: the blocks that finish last compute the later ops. Only dlc-join-stages creates the op.}];
  let example = [{
    exec.kernel @sum {
    ^bb0(%x: tensor<128x512x64xf32>):
      %0 = dlc.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<128x512x64xf32>) -> tensor<128x1x64xf32>
      exec.last
      %1 = dlc.reduce_sum %0 {axes = array<i64: 0>, keepdims} : (tensor<128x1x64xf32>) -> tensor<1x1x64xf32>
      dlc.yield %0, %1 : tensor<128x1x64xf32>, tensor<1x1x64xf32>
    }
  }];
  let assemblyFormat = "attr-dict";
}
def Exec_BesideOp : Exec_Op<"beside", [HasParent<"KernelOp">]> {
  let summary = "separator in a kernel's body: other blocks compute the later ops concurrently";
  let description = "On devices with grids of threads. Only dlc-join-small creates the op.";
  let example = [{
    exec.kernel @two {
    ^bb0(%x: tensor<4xf32>, %y: tensor<8xf32>):
      %0 = dlc.neg %x : (tensor<4xf32>) -> tensor<4xf32>
      exec.beside
      %1 = dlc.exp %y : (tensor<8xf32>) -> tensor<8xf32>
      dlc.yield %0, %1 : tensor<4xf32>, tensor<8xf32>
    }
  }];
  let assemblyFormat = "attr-dict";
}
def Exec_ProgramOp : Exec_Op<"program", [Symbol, IsolatedFromAbove, NoTerminator]> {
  let summary = "commands of one function, and the number of bytes of the scratch region that they use";
  let description = "(C1) `scratch_bytes` is not negative.";
  let example = [{
    exec.program @eval_step scratch = 64 {
      %x = exec.buffer @scratch at 0 : memref<4x4xf32>
      exec.port "input" "x" %x : memref<4x4xf32>
    }
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$scratch_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `scratch` `=` $scratch_bytes attr-dict-with-keyword $body";
  let hasVerifier = 1;
}
def Exec_BufferOp : Exec_SymbolUser<"buffer", [Pure]> {
  let summary = "typed range of a region at a byte offset";
  let description = "(C1) The type has a static shape; (C2) the region exists and contains the buffer.";
  let example = [{%x = exec.buffer @scratch at 0 : memref<4x4xf32>}];
  let arguments = (ins FlatSymbolRefAttr:$region, I64Attr:$offset);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "$region `at` $offset attr-dict `:` type($buffer)";
}
def Exec_PortOp : Exec_Op<"port"> {
  let summary = "buffer that the host writes before the program (input) or reads after it (output)";
  let description = [{`limit`: exclusive upper bound of an input's integers; 0 (default): no bound. The lower bound is 0 or, with `from_end`,
    -limit. (C1) `direction` is input or output; (C2) `limit` is not negative; (C3) `from_end` requires a limit.}];
  let example = [{exec.port "input" "labels" %x {limit = 10 : i64} : memref<4xi64>}];
  let arguments = (ins StrAttr:$direction, StrAttr:$name, AnyMemRef:$buffer,
      DefaultValuedAttr<I64Attr, "0">:$limit, UnitAttr:$from_end);
  let assemblyFormat = "$direction $name $buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Exec_LaunchOp : Exec_SymbolUser<"launch", [AttrSizedOperandSegments]> {
  let summary = "launch of a generated kernel";
  let description = "(C1) The kernel exists; (C2) the buffers have the types of the kernel's inputs and outputs.";
  let example = [{exec.launch @exp ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)}];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs);
  let assemblyFormat = [{$kernel `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)`
    attr-dict}];
}
def Exec_CallOp : Exec_Op<"call", [AttrSizedOperandSegments]> {
  let summary = "call of the device's library";
  let description = "`kind`: the call's name; `arguments`: its attributes; `flops`: floating-point operations. (C1) `flops` is not negative.";
  let example = [{exec.call "matmul" ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%y : memref<4x4xf32>)
      {trans_a} {flops = 128 : i64}
  }];
  let arguments = (ins StrAttr:$kind, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs,
      DictionaryAttr:$arguments, DefaultValuedAttr<I64Attr, "0">:$flops);
  let assemblyFormat = [{$kind `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)`
    $arguments attr-dict}];
  let hasVerifier = 1;
}
def Exec_CopyOp : Exec_Op<"copy"> {
  let summary = "copy of a buffer";
  let description = "(C1) Both buffers have one type.";
  let example = [{exec.copy %x to %y : memref<4x4xf32>, memref<4x4xf32>}];
  let arguments = (ins AnyMemRef:$from, AnyMemRef:$to);
  let assemblyFormat = "$from `to` $to attr-dict `:` type($from) `,` type($to)";
  let hasVerifier = 1;
}
class Exec_Bucket<string mnemonic> : Exec_Op<mnemonic> {
  let description = "(C1) `bucket` is not negative.";
  let arguments = (ins AnyMemRef:$buffer, I64Attr:$bucket);
  let assemblyFormat = "$buffer `bucket` `=` $bucket attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Exec_AllReduceOp : Exec_Bucket<"all_reduce"> {
  let summary = "start of the mean or sum of a bucket over ranks; exec.wait waits for the result";
  let description = [{`op`: "mean" (default) or "sum". `ahead`: this all-reduce may overtake those that were started earlier.
    (C1) `bucket` is not negative; (C2) `op` is mean or sum.}];
  let example = [{exec.all_reduce %x bucket = 0 op = "sum" ahead : memref<4x4xf32>}];
  let arguments = (ins AnyMemRef:$buffer, I64Attr:$bucket, DefaultValuedAttr<StrAttr, "\"mean\"">:$op,
      UnitAttr:$ahead);
  let assemblyFormat = "$buffer `bucket` `=` $bucket (`op` `=` $op^)? (`ahead` $ahead^)? attr-dict `:` type($buffer)";
}
def Exec_WaitOp : Exec_Bucket<"wait"> {
  let summary = "wait for the collective of a bucket; later commands may read the buffer";
  let example = [{exec.wait %x bucket = 0 : memref<4x4xf32>}];
}
class Exec_HostCopy<string mnemonic> : Exec_SymbolUser<mnemonic> {
  let description = "(C1) Both buffers have one type; (C2) `copy` is not negative; (C3) only the buffer of the host is in its memory.";
  let arguments = (ins AnyMemRef:$from, AnyMemRef:$to, I64Attr:$copy);
  let assemblyFormat = "$from `to` $to `copy` `=` $copy attr-dict `:` type($from) `,` type($to)";
  let hasVerifier = 1;
}
def Exec_OffloadOp : Exec_HostCopy<"offload"> {
  let summary = "start of a copy to the memory of the host; exec.wait_copy waits for its end";
  let example = [{exec.offload %x to %h copy = 0 : memref<4x4xf32>, memref<4x4xf32>}];
}
def Exec_FetchOp : Exec_HostCopy<"fetch"> {
  let summary = "start of a copy from the memory of the host; exec.wait_copy waits for its end";
  let example = [{exec.fetch %h to %y copy = 1 : memref<4x4xf32>, memref<4x4xf32>}];
}
def Exec_WaitCopyOp : Exec_Op<"wait_copy"> {
  let summary = "wait for the end of a copy to or from the host";
  let description = [{Later commands may write what an offload has read, or read what a fetch has written: `buffer`, on the device.
    (C1) `copy` is not negative.}];
  let example = [{exec.wait_copy %x copy = 0 : memref<4x4xf32>}];
  let arguments = (ins AnyMemRef:$buffer, I64Attr:$copy);
  let assemblyFormat = "$buffer `copy` `=` $copy attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
#endif
