// SPDX-License-Identifier: Apache-2.0
// The exec dialect: a step as a flat list of commands on buffers. It is what the plan stores.
#ifndef EXEC_OPS
#define EXEC_OPS
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::dlc::exec";
  let summary = "a planned program: regions, buffers at offsets, commands in order";
  let useDefaultAttributePrinterParser = 1;
}
class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits> {
  string example = ""; // for docs/ops.md; a test reads and verifies it
}
class Exec_SymbolUser<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits # [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Exec_ScheduleAttr : AttrDef<Exec_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a kernel runs (Schedule.h): its loops by number in groups with their sizes, and its cost";
  let parameters = (ins AttrParameter<"::dlc::exec::Schedule", "", "const ::dlc::exec::Schedule &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Exec_ThreadsAttr : AttrDef<Exec_Dialect, "Threads"> {
  let mnemonic = "threads";
  let summary = "a kernel's mapping to threads (Threads.h): blocks, threads of a block, each thread's share";
  let parameters = (ins AttrParameter<"::dlc::exec::Threads", "", "const ::dlc::exec::Threads &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Exec_RegionOp : Exec_Op<"region", [Symbol]> {
  let summary = "one allocation of the device";
  let description = "(C1) the kind is state, gradient or scratch; (C2) there are no fewer than 0 bytes.";
  let example = [{exec.region @param "state" bytes = 128}];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$bytes);
  let assemblyFormat = "$sym_name $kind `bytes` `=` $bytes attr-dict";
  let hasVerifier = 1;
}
def Exec_StateOp : Exec_SymbolUser<"state", [Symbol]> {
  let summary = "a state tensor at an offset in a region";
  let description = "(C1) its type is static; (C2) its range is inside an existing region; (C3) `of` is a state.";
  let example = [{exec.state @w : tensor<4x4xf32> "param" in @param at 0 init = "w" trainable}];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, StrAttr:$role, FlatSymbolRefAttr:$region,
      I64Attr:$offset, AnyAttr:$init, OptionalAttr<FlatSymbolRefAttr>:$of, UnitAttr:$trainable);
  let assemblyFormat = [{$sym_name `:` $type $role `in` $region `at` $offset `init` `=` $init (`of` `=` $of^)?
    (`trainable` $trainable^)? attr-dict}];
}
def Exec_PartOp : Exec_SymbolUser<"part"> {
  let summary = "a range of a region of which each rank keeps some items alone, one after the other";
  let description = "`item`: bytes of each but the last, which may be shorter. (C1) the range lies in a region that exists; "
    "(C2) it is all of so many items.";
  let example = [{exec.part @param at 0 bytes = 40 item = 16 extent = 3}];
  let arguments = (ins FlatSymbolRefAttr:$region, I64Attr:$offset, I64Attr:$bytes, I64Attr:$item, I64Attr:$extent);
  let assemblyFormat = "$region `at` $offset `bytes` `=` $bytes `item` `=` $item `extent` `=` $extent attr-dict";
  let hasVerifier = 1;
}
def Exec_KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove]> {
  let summary = "a cluster to be compiled: block arguments are the inputs, dlc.yield gives the outputs";
  let description = [{`schedule`: the loops, set by dlc-schedule-kernels and read by code generators and the plan.
    `threads`: the mapping of the loops to the threads of a device with grids, set by dlc-map-threads.
    `parted`: launches may run a subset of its items, as dlc-number-parts requires, and all tensors have one shape; a kernel
    of rows sums only the first elements of its input, as many as a launch says, and reads the others as zero.
    (C1) the body ends with dlc.yield; of a schedule (C2) grain is at least 1, and nothing is below zero; (C3) a loop
    occurs once; (C4) a block splits an existing group; of threads (C5) there is at least one in a block and side by
    side, and nothing is below zero; (C6) vectors are powers of two, indices have 32 or 64 bits; (C7) registers, sparse,
    transposed and tile exclude each other; (C8) a tile is a product's, or has two sizes, and its warps have the block's
    threads; (C9) threads need a schedule; (C10) it has one exec.last at most, behind which only arguments and outputs of
    what stands before it are read, and none beside exec.beside, whose parts read only arguments and what they compute.}];
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
  let summary = "cuts a kernel's body: what follows is computed of what all threads have stored before";
  let description = [{By those that end last, on a device that runs grids of threads. No cluster has it; dlc-join-stages makes it.}];
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
  let summary = "cuts a kernel's body: what follows is computed by other blocks at the same time";
  let description = "On a device that runs grids of threads. No cluster has it; dlc-join-small makes it.";
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
  let summary = "the commands of one function, with its bytes of the scratch region";
  let description = "(C1) there are no fewer than 0 bytes.";
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
  let summary = "a typed range of a region";
  let description = "(C1) its type is static; (C2) it lies in a region that exists.";
  let example = [{%x = exec.buffer @scratch at 0 : memref<4x4xf32>}];
  let arguments = (ins FlatSymbolRefAttr:$region, I64Attr:$offset);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "$region `at` $offset attr-dict `:` type($buffer)";
}
def Exec_PortOp : Exec_Op<"port"> {
  let summary = "a buffer that the host fills before the program (input) or reads after it (output)";
  let description = "`limit`: exclusive upper bound of its integers; 0: unknown. Their lower bound is 0, with `from_end` "
    "-limit. (C1) the direction is input or output; "
    "(C2) the limit is not below 0; (C3) from_end has a limit.";
  let example = [{exec.port "input" "labels" %x {limit = 10 : i64} : memref<4xi64>}];
  let arguments = (ins StrAttr:$direction, StrAttr:$name, AnyMemRef:$buffer,
      DefaultValuedAttr<I64Attr, "0">:$limit, UnitAttr:$from_end);
  let assemblyFormat = "$direction $name $buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Exec_LaunchOp : Exec_SymbolUser<"launch", [AttrSizedOperandSegments]> {
  let summary = "a run of a generated kernel";
  let description = "(C1) the kernel exists; (C2) the buffers have the types of its inputs and outputs.";
  let example = [{exec.launch @exp ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)}];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs);
  let assemblyFormat = [{$kernel `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)`
    attr-dict}];
}
def Exec_CallOp : Exec_Op<"call", [AttrSizedOperandSegments]> {
  let summary = "a library call of the device";
  let description = "(C1) its floating-point operations are not below 0.";
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
  let summary = "moves a buffer's elements to another";
  let description = "(C1) both have one type.";
  let example = [{exec.copy %x to %y : memref<4x4xf32>, memref<4x4xf32>}];
  let arguments = (ins AnyMemRef:$from, AnyMemRef:$to);
  let assemblyFormat = "$from `to` $to attr-dict `:` type($from) `,` type($to)";
  let hasVerifier = 1;
}
class Exec_Bucket<string mnemonic> : Exec_Op<mnemonic> {
  let description = "(C1) the bucket's number is not below 0.";
  let arguments = (ins AnyMemRef:$buffer, I64Attr:$bucket);
  let assemblyFormat = "$buffer `bucket` `=` $bucket attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Exec_AllReduceOp : Exec_Bucket<"all_reduce"> {
  let summary = "starts the mean or sum over ranks of a bucket; exec.wait ends it";
  let description = [{(C1) the bucket's number is not below 0; (C2) it is the mean, or the sum. One that is `ahead` may
    overtake those that were started before it.}];
  let example = [{exec.all_reduce %x bucket = 0 op = "sum" ahead : memref<4x4xf32>}];
  let arguments = (ins AnyMemRef:$buffer, I64Attr:$bucket, DefaultValuedAttr<StrAttr, "\"mean\"">:$op,
      UnitAttr:$ahead);
  let assemblyFormat = "$buffer `bucket` `=` $bucket (`op` `=` $op^)? (`ahead` $ahead^)? attr-dict `:` type($buffer)";
}
def Exec_WaitOp : Exec_Bucket<"wait"> {
  let summary = "waits for the bucket's mean";
  let example = [{exec.wait %x bucket = 0 : memref<4x4xf32>}];
}
#endif
