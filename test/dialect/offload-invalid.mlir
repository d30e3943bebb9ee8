// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{(C1) expected one shape and element type}}
  %h = dlc.offload %x : (tensor<2x3xf32>) -> tensor<3x2xf32, "host">
  return
}
// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{(C2) expected a copy to the host}}
  %h = dlc.offload %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----

func.func @f(%x: tensor<2x3xf32, "host">) {
  // expected-error @+1 {{(C1) expected one shape and element type}}
  %y = dlc.fetch %x : (tensor<2x3xf32, "host">) -> tensor<2x3xf16>
  return
}
// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{(C2) expected a copy from the host}}
  %y = dlc.fetch %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----

func.func @f(%x: tensor<2x3xf32>, %z: tensor<2x3xf32>) {
  %h = dlc.offload %x : (tensor<2x3xf32>) -> tensor<2x3xf32, "host">
  // expected-error @+1 {{(C1) expected the result of dlc.offload or dlc.fetch, and its operand}}
  %k = dlc.wait_copy %h, %z : (tensor<2x3xf32, "host">, tensor<2x3xf32>) -> tensor<2x3xf32, "host">
  return
}
// -----

func.func @f(%x: tensor<2x3xf32>) {
  %h = dlc.offload %x : (tensor<2x3xf32>) -> tensor<2x3xf32, "host">
  // expected-error @+1 {{(C2) expected}}
  %k = dlc.wait_copy %h, %x : (tensor<2x3xf32, "host">, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----

exec.region @a "scratch" bytes = 64
exec.region @h "host" bytes = 64
exec.program @p scratch = 64 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
%h = exec.buffer @h at 0 : memref<4xf32>
// expected-error @+1 {{(C1) expected buffers of one type}}
exec.offload %y to %h copy = 0 : memref<2x2xf32>, memref<4xf32>
}
// -----

exec.region @a "scratch" bytes = 64
exec.region @h "host" bytes = 64
exec.program @p scratch = 64 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
%h = exec.buffer @h at 0 : memref<4xf32>
// expected-error @+1 {{(C2) expected a copy of 0 or more}}
exec.offload %x to %h copy = -1 : memref<4xf32>, memref<4xf32>
}
// -----

exec.region @a "scratch" bytes = 64
exec.region @h "host" bytes = 64
exec.program @p scratch = 64 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
%h = exec.buffer @h at 0 : memref<4xf32>
// expected-error @+1 {{(C3) expected one buffer in the memory of the host, the second}}
exec.offload %x to %x copy = 0 : memref<4xf32>, memref<4xf32>
}
// -----

exec.region @a "scratch" bytes = 64
exec.region @h "host" bytes = 64
exec.program @p scratch = 64 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
%h = exec.buffer @h at 0 : memref<4xf32>
// expected-error @+1 {{(C1) expected buffers of one type}}
exec.fetch %h to %y copy = 0 : memref<4xf32>, memref<2x2xf32>
}
// -----

exec.region @a "scratch" bytes = 64
exec.region @h "host" bytes = 64
exec.program @p scratch = 64 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
%h = exec.buffer @h at 0 : memref<4xf32>
// expected-error @+1 {{(C2) expected a copy of 0 or more}}
exec.fetch %h to %x copy = -1 : memref<4xf32>, memref<4xf32>
}
// -----

exec.region @a "scratch" bytes = 64
exec.region @h "host" bytes = 64
exec.program @p scratch = 64 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
%h = exec.buffer @h at 0 : memref<4xf32>
// expected-error @+1 {{(C3) expected one buffer in the memory of the host, the first}}
exec.fetch %x to %h copy = 0 : memref<4xf32>, memref<4xf32>
}
// -----

exec.region @a "scratch" bytes = 64
exec.region @h "host" bytes = 64
exec.program @p scratch = 64 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
%h = exec.buffer @h at 0 : memref<4xf32>
// expected-error @+1 {{(C1) expected a copy of 0 or more}}
exec.wait_copy %x copy = -1 : memref<4xf32>
}
