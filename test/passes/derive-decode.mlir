// RUN: %dlc-opt %s --split-input-file --dlc-derive-decode --verify-diagnostics | FileCheck %s

// Two texts of four tokens. @prefill is one text, whole; what is read of all tokens (k, v) it writes. @decode is one token: rows of tables and masks are at
// its position, and of keys and values the others' are the state's.
// CHECK: dlc.state @"cache/0" : tensor<1x3x4xf32> accumulator init = 0.0
// CHECK: dlc.state @"cache/1" : tensor<1x4x3xf32> accumulator init = 0.0
// CHECK: func.func @predict
// CHECK: func.func @decode(%[[TOKEN:.*]]: tensor<1x1xi64> {dlc.name = "x"}, %[[AT:.*]]: tensor<1xi64> {dlc.name = "dlc.position"}) -> (tensor<1x3xf32> {dlc.name = "logits"})
// CHECK: %[[E:.*]] = dlc.gather %{{.*}}, %[[TOKEN]] {{.*}} -> tensor<1x1x3xf32>
// CHECK: %[[WHERE:.*]] = dlc.gather %{{.*}}, %[[AT]] {axis = 0 : i64} : (tensor<4x3xf32>, tensor<1xi64>) -> tensor<1x3xf32>
// CHECK: %[[H:.*]] = dlc.add %[[E]], %[[WHERE]] {{.*}} -> tensor<1x1x3xf32>
// CHECK: %[[KT:.*]] = dlc.transpose %[[H]] {{.*}} -> tensor<1x3x1xf32>
// CHECK: %[[I:.*]] = dlc.iota {axis = 2 : i64} : () -> tensor<1x1x4xi64>
// CHECK: %[[HERE:.*]] = dlc.compare eq %[[I]], %[[AT]]
// CHECK: %[[OLD:.*]] = dlc.read @"cache/0" : tensor<1x3x4xf32>
// CHECK: %[[K:.*]] = dlc.select %[[HERE]], %[[KT]], %[[OLD]]
// CHECK: dlc.write @"cache/0", %[[K]]
// CHECK: %[[S:.*]] = dlc.matmul %[[H]], %[[K]] {{.*}} -> tensor<1x1x4xf32>
// CHECK: %[[M:.*]] = dlc.gather %{{.*}}, %[[AT]] {axis = 0 : i64} : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
// CHECK: %[[MASKED:.*]] = dlc.add %[[S]], %[[M]]
// CHECK: %[[P:.*]] = dlc.softmax %[[MASKED]] {axis = 2 : i64}
// CHECK: dlc.write @"cache/1", %[[V:.*]] : tensor<1x4x3xf32>
// CHECK: %[[Y:.*]] = dlc.matmul %[[P]], %[[V]] {{.*}} -> tensor<1x1x3xf32>
// CHECK: %[[R:.*]] = dlc.reshape %[[Y]] : (tensor<1x1x3xf32>) -> tensor<1x3xf32>
// CHECK: return %[[R]]
// CHECK: func.func @prefill(%[[ALL:.*]]: tensor<1x4xi64> {dlc.name = "x"}) -> (tensor<4x3xf32> {dlc.name = "logits"})
// CHECK: dlc.write @"cache/0", %{{.*}} : tensor<1x3x4xf32>
// CHECK: dlc.write @"cache/1", %{{.*}} : tensor<1x4x3xf32>
module {
  dlc.state @tok : tensor<7x3xf32> param init = "tok" trainable
  dlc.state @pos : tensor<4x3xf32> param init = "pos" trainable
  dlc.state @mask : tensor<4x4xf32> const init = "mask"
  func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> (tensor<8x3xf32> {dlc.name = "logits"}) {
    %tok = dlc.read @tok : tensor<7x3xf32>
    %0 = dlc.gather %tok, %x {axis = 0 : i64} : (tensor<7x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
    %pos = dlc.read @pos : tensor<4x3xf32>
    %1 = dlc.add %0, %pos : (tensor<2x4x3xf32>, tensor<4x3xf32>) -> tensor<2x4x3xf32>
    %2 = dlc.transpose %1 {perm = array<i64: 0, 2, 1>} : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %3 = dlc.matmul %1, %2 : (tensor<2x4x3xf32>, tensor<2x3x4xf32>) -> tensor<2x4x4xf32>
    %mask = dlc.read @mask : tensor<4x4xf32>
    %4 = dlc.add %3, %mask : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
    %5 = dlc.softmax %4 {axis = 2 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %6 = dlc.matmul %5, %1 : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %7 = dlc.reshape %6 : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
    return %7 : tensor<8x3xf32>
  }
}

// -----

// A causal attention sees the tokens up to this one; texts and heads may be one dimension, as may texts and tokens.
// CHECK: func.func @decode
// CHECK: %[[KEY:.*]] = dlc.iota {axis = 3 : i64} : () -> tensor<1x1x1x4xi64>
// CHECK: %[[SEEN:.*]] = dlc.compare le %[[KEY]], %{{.*}} : {{.*}} -> tensor<1x1x1x4xi1>
// CHECK: dlc.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[SEEN]] {scale = {{.*}}} : (tensor<1x2x1x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x1x1x4xi1>)
// CHECK: dlc.reshape {{.*}} -> tensor<2x1x3xf32>
// CHECK: func.func @prefill
// CHECK: dlc.attention {{.*}} {causal, scale
module {
  dlc.state @tok : tensor<7x6xf32> param init = "tok" trainable
  func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> tensor<4x4x3xf32> {
    %tok = dlc.read @tok : tensor<7x6xf32>
    %0 = dlc.reshape %x : (tensor<2x4xi64>) -> tensor<8xi64>
    %1 = dlc.gather %tok, %0 {axis = 0 : i64} : (tensor<7x6xf32>, tensor<8xi64>) -> tensor<8x6xf32>
    %2 = dlc.reshape %1 : (tensor<8x6xf32>) -> tensor<2x4x2x3xf32>
    %3 = dlc.transpose %2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x3xf32>) -> tensor<2x2x4x3xf32>
    %y, %lse = dlc.attention %3, %3, %3 {causal, scale = 0.5 : f64}
      : (tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>) -> (tensor<2x2x4x3xf32>, tensor<2x2x4x1xf32>)
    %4 = dlc.reshape %y : (tensor<2x2x4x3xf32>) -> tensor<4x4x3xf32>
    return %4 : tensor<4x4x3xf32>
  }
}

// -----

// expected-error @+1 {{--decode is of models of tokens, integers [B, T], and no more than 'attention_mask' and 'position_ids' beside them; 'y' is another input}}
func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}, %y: tensor<2x4xf32> {dlc.name = "y"}) -> tensor<2x4xi64> {
  return %x : tensor<2x4xi64>
}

// -----

// expected-error @+1 {{--decode is of models that read several tokens: this one reads 1}}
func.func @predict(%x: tensor<2x1xi64> {dlc.name = "x"}) -> tensor<2x1xi64> {
  return %x : tensor<2x1xi64>
}

// -----

// expected-error @+1 {{--decode is of models of tokens, integers [B, T]: this one has no such input}}
func.func @predict(%x: tensor<2x4xi64> {dlc.name = "attention_mask"}) -> tensor<2x4xi64> {
  return %x : tensor<2x4xi64>
}

// -----

func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> tensor<2x1xf32> {
  %0 = dlc.cast %x : (tensor<2x4xi64>) -> tensor<2x4xf32>
  // expected-error @+1 {{--decode: no program of one token follows from the model, since it reduces over tokens}}
  %1 = dlc.reduce_mean %0 {axes = array<i64: 1>, keepdims} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  return %1 : tensor<2x1xf32>
}

// -----

func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> tensor<2x4xf32> {
  %0 = dlc.cast %x : (tensor<2x4xi64>) -> tensor<2x4xf32>
  // expected-error @+1 {{it is over tokens of the text that is written}}
  %1 = dlc.softmax %0 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> tensor<2x1xi64> {
  // expected-error @+1 {{it takes some of the tokens}}
  %0 = dlc.slice %x {sizes = array<i64: 2, 1>, starts = array<i64: 0, 3>, steps = array<i64: 1, 1>} : (tensor<2x4xi64>) -> tensor<2x1xi64>
  return %0 : tensor<2x1xi64>
}

// -----

func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> tensor<2x2x2xi64> {
  // expected-error @+1 {{it cuts the tokens of a text}}
  %0 = dlc.reshape %x : (tensor<2x4xi64>) -> tensor<2x2x2xi64>
  return %0 : tensor<2x2x2xi64>
}

// -----

func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> tensor<2x8xi64> {
  // expected-error @+1 {{it puts tokens behind each other}}
  %0 = dlc.concat %x, %x {axis = 1 : i64} : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x8xi64>
  return %0 : tensor<2x8xi64>
}

// -----

func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> tensor<2x4x4xi64> {
  %0 = dlc.reshape %x : (tensor<2x4xi64>) -> tensor<2x4x1xi64>
  %1 = dlc.reshape %x : (tensor<2x4xi64>) -> tensor<2x1x4xi64>
  %2 = dlc.add %0, %1 : (tensor<2x4x1xi64>, tensor<2x1x4xi64>) -> tensor<2x4x4xi64>
  // expected-error @+1 {{it chooses among texts or tokens}}
  %3 = dlc.gather %2, %x {axis = 0 : i64} : (tensor<2x4x4xi64>, tensor<2x4xi64>) -> tensor<2x4x4x4xi64>
  return %2 : tensor<2x4x4xi64>
}

// -----

func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}) -> tensor<2x4xf32> {
  %0 = dlc.cast %x : (tensor<2x4xi64>) -> tensor<2x4xf32>
  // expected-error @+1 {{'dlc.pad' may mix tokens in a way of its own}}
  %1 = dlc.pad %0 {high = array<i64: 0, 0>, interior = array<i64: 0, 0>, low = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
