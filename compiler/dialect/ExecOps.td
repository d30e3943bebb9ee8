// The exec dialect: a step as a flat list of commands on buffers. It is what the plan stores.
#ifndef EXEC_OPS
#define EXEC_OPS
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::dlc::exec";
  let summary = "a planned program: regions, buffers at offsets, commands in order";
}
class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_RegionOp : Exec_Op<"region", [Symbol]> {
  let summary = "one allocation of the device; kind is state, gradient or scratch";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$bytes);
  let assemblyFormat = "$sym_name $kind `bytes` `=` $bytes attr-dict";
}
def Exec_StateOp : Exec_Op<"state", [Symbol]> {
  let summary = "a state tensor at its place in a region";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, StrAttr:$role, FlatSymbolRefAttr:$region,
      I64Attr:$offset, AnyAttr:$init, OptionalAttr<FlatSymbolRefAttr>:$of, UnitAttr:$trainable);
  let assemblyFormat = [{$sym_name `:` $type $role `in` $region `at` $offset `init` `=` $init (`of` `=` $of^)?
    (`trainable` $trainable^)? attr-dict}];
}
def Exec_KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove]> {
  let summary = "a cluster to be compiled: block arguments are the inputs, dlc.yield gives the outputs";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}
def Exec_ProgramOp : Exec_Op<"program", [Symbol, IsolatedFromAbove, NoTerminator]> {
  let summary = "the commands of one function";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$scratch_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `scratch` `=` $scratch_bytes attr-dict-with-keyword $body";
}
def Exec_BufferOp : Exec_Op<"buffer", [Pure]> {
  let summary = "a typed range of a region";
  let arguments = (ins FlatSymbolRefAttr:$region, I64Attr:$offset);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "$region `at` $offset attr-dict `:` type($buffer)";
}
def Exec_PortOp : Exec_Op<"port"> {
  let summary = "a buffer that the host fills before the program (input) or reads after it (output)";
  let arguments = (ins StrAttr:$direction, StrAttr:$name, AnyMemRef:$buffer,
      DefaultValuedAttr<I64Attr, "0">:$limit);
  let assemblyFormat = "$direction $name $buffer attr-dict `:` type($buffer)";
}
class Exec_Command<string mnemonic> : Exec_Op<mnemonic, [AttrSizedOperandSegments]> {
  let hasVerifier = 1;
}
def Exec_LaunchOp : Exec_Command<"launch"> {
  let summary = "a generated kernel over `extent` independent items; on a GPU as `grid` blocks of `block` threads";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs,
      I64Attr:$extent, I64Attr:$grain, DefaultValuedAttr<I64Attr, "0">:$flops,
      OptionalAttr<I64Attr>:$grid, OptionalAttr<I64Attr>:$block);
  let assemblyFormat = [{$kernel `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)`
    `extent` `=` $extent attr-dict}];
}
def Exec_CallOp : Exec_Command<"call"> {
  let summary = "a library call of the device";
  let arguments = (ins StrAttr:$kind, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs,
      DictionaryAttr:$arguments, DefaultValuedAttr<I64Attr, "0">:$flops);
  let assemblyFormat = [{$kind `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)`
    $arguments attr-dict}];
}
def Exec_CopyOp : Exec_Op<"copy"> {
  let arguments = (ins AnyMemRef:$from, AnyMemRef:$to);
  let assemblyFormat = "$from `to` $to attr-dict `:` type($from) `,` type($to)";
}
def Exec_AllReduceOp : Exec_Op<"all_reduce"> {
  let summary = "starts the mean over ranks of a bucket; exec.wait ends it";
  let arguments = (ins AnyMemRef:$buffer, I64Attr:$bucket);
  let assemblyFormat = "$buffer `bucket` `=` $bucket attr-dict `:` type($buffer)";
}
def Exec_WaitOp : Exec_Op<"wait"> {
  let summary = "the bucket's mean has arrived";
  let arguments = (ins AnyMemRef:$buffer, I64Attr:$bucket);
  let assemblyFormat = "$buffer `bucket` `=` $bucket attr-dict `:` type($buffer)";
}
#endif
