// RUN: %dlc-opt %s --split-input-file --dlc-pack-documents --verify-diagnostics | FileCheck %s

// Two rows of four tokens. Where a document begins is index - position; queries see the keys of their document. attention_mask is 1 and no input any more.
// CHECK-LABEL: func.func @predict
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xi64> {dlc.name = "x"}, %[[P:.*]]: tensor<2x4xi64> {dlc.name = "position_ids"})
// CHECK: dlc.constant dense<1> : tensor<2x4xi64>
// CHECK: %[[I:.*]] = dlc.iota {axis = 1 : i64} : () -> tensor<1x4xi64>
// CHECK: %[[BEGIN:.*]] = dlc.sub %[[I]], %[[P]]
// CHECK: %[[SCORES:.*]] = dlc.select %{{.*}} : (tensor<2x1x4x4xi1>, tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4x4xf32>
// CHECK: %[[Q:.*]] = dlc.reshape %[[BEGIN]] : (tensor<2x4xi64>) -> tensor<2x1x4x1xi64>
// CHECK: %[[K:.*]] = dlc.reshape %[[BEGIN]] : (tensor<2x4xi64>) -> tensor<2x1x1x4xi64>
// CHECK: %[[SAME:.*]] = dlc.compare eq %[[Q]], %[[K]]
// CHECK: %[[NEVER:.*]] = dlc.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[SEEN:.*]] = dlc.select %[[SAME]], %[[SCORES]], %[[NEVER]] : (tensor<2x1x4x4xi1>, tensor<2x2x4x4xf32>, tensor<f32>)
// CHECK: dlc.softmax %[[SEEN]] {axis = 3 : i64}
module {
  dlc.state @tok : tensor<7x6xf32> param init = "tok" trainable
  dlc.state @pos : tensor<4x6xf32> param init = "pos" trainable
  dlc.state @causal : tensor<1x1x4x4xi1> const init = "causal" {dlc.triangle = [1.0, 0.0]}
  func.func @predict(%x: tensor<2x4xi64> {dlc.name = "x"}, %pad: tensor<2x4xi64> {dlc.name = "attention_mask"},
      %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> (tensor<8x6xf32> {dlc.name = "logits"}) {
    %low = dlc.constant dense<-1.0e30> : tensor<f32>
    %tok = dlc.read @tok : tensor<7x6xf32>
    %0 = dlc.gather %tok, %x {axis = 0 : i64} : (tensor<7x6xf32>, tensor<2x4xi64>) -> tensor<2x4x6xf32>
    %pos = dlc.read @pos : tensor<4x6xf32>
    %1 = dlc.gather %pos, %position {axis = 0 : i64} : (tensor<4x6xf32>, tensor<2x4xi64>) -> tensor<2x4x6xf32>
    %h = dlc.add %0, %1 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %2 = dlc.reshape %h : (tensor<2x4x6xf32>) -> tensor<2x4x2x3xf32>
    %q = dlc.transpose %2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x3xf32>) -> tensor<2x2x4x3xf32>
    %s = dlc.matmul %q, %q {trans_b} : (tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>) -> tensor<2x2x4x4xf32>
    %padding = dlc.cast %pad : (tensor<2x4xi64>) -> tensor<2x4xi1>
    %keys = dlc.reshape %padding : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
    %causal = dlc.read @causal : tensor<1x1x4x4xi1>
    %mask = dlc.and %causal, %keys : (tensor<1x1x4x4xi1>, tensor<2x1x1x4xi1>) -> tensor<2x1x4x4xi1>
    %masked = dlc.select %mask, %s, %low : (tensor<2x1x4x4xi1>, tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4x4xf32>
    %p = dlc.softmax %masked {axis = 3 : i64} : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %d = dlc.dropout %p {id = "a", ratio = 5.0e-01 : f64, shared = array<i64>} : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %z = dlc.matmul %d, %q : (tensor<2x2x4x4xf32>, tensor<2x2x4x3xf32>) -> tensor<2x2x4x3xf32>
    %t = dlc.transpose %z {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x2x4x3xf32>) -> tensor<2x4x2x3xf32>
    %y = dlc.reshape %t : (tensor<2x4x2x3xf32>) -> tensor<8x6xf32>
    return %y : tensor<8x6xf32>
  }
}

// -----

// Texts and heads in one dimension, and a bias of key - query, which is the same in each document.
// CHECK-LABEL: func.func @joined
// CHECK: %[[SAME:.*]] = dlc.compare eq %{{.*}}, %{{.*}} : (tensor<2x1x4x1xi64>, tensor<2x1x1x4xi64>) -> tensor<2x1x4x4xi1>
// CHECK: %[[HEADS:.*]] = dlc.broadcast %[[SAME]] : (tensor<2x1x4x4xi1>) -> tensor<2x3x4x4xi1>
// CHECK: %[[ALL:.*]] = dlc.reshape %[[HEADS]] : (tensor<2x3x4x4xi1>) -> tensor<6x4x4xi1>
// CHECK: %[[SEEN:.*]] = dlc.select %[[ALL]]
// CHECK: dlc.softmax %[[SEEN]]
func.func @joined(%x: tensor<2x4x6xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<6x4x2xf32> {
  %0 = dlc.reshape %x : (tensor<2x4x6xf32>) -> tensor<2x4x3x2xf32>
  %1 = dlc.transpose %0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x3x2xf32>) -> tensor<2x3x4x2xf32>
  %q = dlc.reshape %1 : (tensor<2x3x4x2xf32>) -> tensor<6x4x2xf32>
  %s = dlc.matmul %q, %q {trans_b} : (tensor<6x4x2xf32>, tensor<6x4x2xf32>) -> tensor<6x4x4xf32>
  %i = dlc.iota {axis = 0 : i64} : () -> tensor<4x1xf32>
  %j = dlc.iota {axis = 1 : i64} : () -> tensor<1x4xf32>
  %far = dlc.sub %j, %i : (tensor<1x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %slope = dlc.constant dense<0.5> : tensor<f32>
  %bias = dlc.mul %far, %slope : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %b = dlc.add %s, %bias : (tensor<6x4x4xf32>, tensor<4x4xf32>) -> tensor<6x4x4xf32>
  %p = dlc.softmax %b {axis = 2 : i64} : (tensor<6x4x4xf32>) -> tensor<6x4x4xf32>
  %z = dlc.matmul %p, %q : (tensor<6x4x4xf32>, tensor<6x4x2xf32>) -> tensor<6x4x2xf32>
  return %z : tensor<6x4x2xf32>
}

// -----

// An attention that is one op: beside no mask, one of booleans and one of floats.
// CHECK-LABEL: func.func @ops
// CHECK: %[[A:.*]] = dlc.compare eq
// CHECK: %[[Y:.*]], %{{.*}} = dlc.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[A]] {causal, layout = "bthd"
// CHECK: %[[B:.*]] = dlc.compare eq
// CHECK: %[[BOTH:.*]] = dlc.and %[[B]], %{{.*}} : (tensor<2x1x4x4xi1>, tensor<1x1x4x4xi1>) -> tensor<2x1x4x4xi1>
// CHECK: dlc.attention %[[Y]], %{{.*}}, %{{.*}}, %[[BOTH]]
// CHECK: %[[C:.*]] = dlc.compare eq
// CHECK: %[[ADDED:.*]] = dlc.select %[[C]], %{{.*}}, %{{.*}} : (tensor<2x1x4x4xi1>, tensor<1x1x4x4xf32>, tensor<f32>)
// CHECK: dlc.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[ADDED]]
func.func @ops(%x: tensor<2x4x3x2xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x3x2xf32> {
  %a, %la = dlc.attention %x, %x, %x {causal, layout = "bthd", scale = 1.0 : f64} : (tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>)
      -> (tensor<2x4x3x2xf32>, tensor<2x3x4x1xf32>)
  %i = dlc.iota {axis = 2 : i64} : () -> tensor<1x1x4x1xi64>
  %j = dlc.iota {axis = 3 : i64} : () -> tensor<1x1x1x4xi64>
  %near = dlc.compare le %i, %j : (tensor<1x1x4x1xi64>, tensor<1x1x1x4xi64>) -> tensor<1x1x4x4xi1>
  %b, %lb = dlc.attention %a, %a, %a, %near {layout = "bthd", scale = 1.0 : f64} : (tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>,
      tensor<1x1x4x4xi1>) -> (tensor<2x4x3x2xf32>, tensor<2x3x4x1xf32>)
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %low = dlc.constant dense<-9.0e9> : tensor<f32>
  %seen = dlc.reshape %near : (tensor<1x1x4x4xi1>) -> tensor<1x1x4x4xi1>
  %bias = dlc.select %seen, %zero, %low : (tensor<1x1x4x4xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x4x4xf32>
  %c, %lc = dlc.attention %b, %b, %b, %bias {layout = "bthd", scale = 1.0 : f64} : (tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>,
      tensor<1x1x4x4xf32>) -> (tensor<2x4x3x2xf32>, tensor<2x3x4x1xf32>)
  return %c : tensor<2x4x3x2xf32>
}

// -----

// A teacher's attention, too.
// CHECK-LABEL: func.func @teacher
// CHECK-COUNT-1: dlc.select
// CHECK-LABEL: func.func @student
// CHECK-COUNT-2: dlc.select
func.func @teacher(%x: tensor<1x4x3xf32> {dlc.name = "x"}, %position: tensor<1x4xi64> {dlc.name = "position_ids"}) -> tensor<1x4x4xf32> {
  %s = dlc.matmul %x, %x {trans_b} : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x4xf32>
  %p = dlc.softmax %s {axis = 2 : i64} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %p : tensor<1x4x4xf32>
}
func.func @student(%x: tensor<1x4x3xf32> {dlc.name = "x"}, %position: tensor<1x4xi64> {dlc.name = "position_ids"}) -> tensor<1x4x4xf32> {
  %s = dlc.matmul %x, %x {trans_b} : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x4xf32>
  %p = dlc.softmax %s {axis = 2 : i64} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %z = dlc.matmul %p, %x : (tensor<1x4x4xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
  %t = dlc.matmul %z, %z {trans_b} : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x4xf32>
  %q = dlc.softmax %t {axis = 2 : i64} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %q : tensor<1x4x4xf32>
}

// -----

// What mixes tokens is no error where no result depends on it.
// CHECK-LABEL: func.func @unused
// CHECK: dlc.reduce_mean
func.func @unused(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x3xf32> {
  %mean = dlc.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x4x3xf32>) -> tensor<2x3xf32>
  %y = dlc.relu %x : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

// expected-error @below {{--pack: the model has no input 'position_ids' of integers [B, T]}}
func.func @no_positions(%x: tensor<2x4x3xf32> {dlc.name = "x"}) -> tensor<2x4x3xf32> {
  return %x : tensor<2x4x3xf32>
}

// -----

dlc.state @pos : tensor<4x3xf32> param init = "pos" trainable
func.func @places(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x3xf32> {
  %pos = dlc.read @pos : tensor<4x3xf32>
  // expected-error @below {{the documents of a row would not be apart at 'dlc.add', since it adds positions that count from the row's begin}}
  %y = dlc.add %x, %pos : (tensor<2x4x3xf32>, tensor<4x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

func.func @index(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<8x3xf32> {
  %0 = dlc.reshape %x : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
  %i = dlc.iota {axis = 0 : i64} : () -> tensor<8x1xf32>
  // expected-error @below {{it adds positions that count from the row's begin}}
  %y = dlc.mul %0, %i : (tensor<8x3xf32>, tensor<8x1xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

// -----

// A bias of any two places of the row.
dlc.state @bias : tensor<4x4xf32> const init = "bias"
func.func @any_bias(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x3xf32> {
  %s = dlc.matmul %x, %x {trans_b} : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %bias = dlc.read @bias : tensor<4x4xf32>
  // expected-error @below {{it adds positions that count from the row's begin}}
  %b = dlc.add %s, %bias : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %p = dlc.softmax %b {axis = 2 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %y = dlc.matmul %p, %x : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

// Scores without a softmax, as in linear attention.
func.func @linear(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x3xf32> {
  %s = dlc.matmul %x, %x {trans_b} : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  // expected-error @below {{it adds up the tokens of all documents}}
  %y = dlc.matmul %s, %x : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

// 1 - p is not 0 where p is.
func.func @rest(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x3xf32> {
  %one = dlc.constant dense<1.0> : tensor<f32>
  %s = dlc.matmul %x, %x {trans_b} : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %p = dlc.softmax %s {axis = 2 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %r = dlc.sub %one, %p : (tensor<f32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  // expected-error @below {{it adds up the tokens of all documents}}
  %y = dlc.matmul %r, %x : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

func.func @pooled(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x3xf32> {
  // expected-error @below {{it reduces over the tokens or texts of all documents}}
  %mean = dlc.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x4x3xf32>) -> tensor<2x3xf32>
  %y = dlc.relu %mean : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

func.func @pooled_texts(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<1x4x3xf32> {
  // expected-error @below {{it reduces over the tokens or texts of all documents}}
  %y = dlc.reduce_max %x {axes = array<i64: 0>, keepdims} : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
  return %y : tensor<1x4x3xf32>
}

// -----

// A mask of two places in another order than a triangle's: j - i - 1 is the same in each document, j is not.
func.func @window_mask(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x4xf32> {
  %low = dlc.constant dense<-1.0e30> : tensor<f32>
  %two = dlc.constant dense<2> : tensor<i64>
  %i = dlc.iota {axis = 0 : i64} : () -> tensor<4x1xi64>
  %j = dlc.iota {axis = 1 : i64} : () -> tensor<1x4xi64>
  %far = dlc.sub %j, %i : (tensor<1x4xi64>, tensor<4x1xi64>) -> tensor<4x4xi64>
  %near = dlc.compare lt %far, %two : (tensor<4x4xi64>, tensor<i64>) -> tensor<4x4xi1>
  %s = dlc.matmul %x, %x {trans_b} : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %m = dlc.select %near, %s, %low : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  %early = dlc.compare lt %j, %two : (tensor<1x4xi64>, tensor<i64>) -> tensor<1x4xi1>
  // expected-error @below {{it adds positions that count from the row's begin}}
  %n = dlc.select %early, %m, %low : (tensor<1x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  %p = dlc.softmax %n {axis = 2 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %p : tensor<2x4x4xf32>
}

// -----

func.func @first(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x1x3xf32> {
  // expected-error @below {{it takes some tokens of the row}}
  %y = dlc.slice %x {sizes = array<i64: 2, 1, 3>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
  return %y : tensor<2x1x3xf32>
}

// -----

func.func @weights(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x3xf32> {
  // expected-error @below {{it is a softmax over the tokens of all documents}}
  %y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

func.func @window(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x6x3xf32> {
  // expected-error @below {{'dlc.pad', since it may mix tokens in a way of its own}}
  %y = dlc.pad %x {low = array<i64: 0, 1, 0>, high = array<i64: 0, 1, 0>, interior = array<i64: 0, 0, 0>, value = 0.0 : f64} : (tensor<2x4x3xf32>) -> tensor<2x6x3xf32>
  return %y : tensor<2x6x3xf32>
}

// -----
// What each of 36 sums reads twice is looked at so often and no more.
func.func @shared(%x: tensor<2x4x3xf32> {dlc.name = "x"}, %position: tensor<2x4xi64> {dlc.name = "position_ids"}) -> tensor<2x4x3xf32> {
  %0 = dlc.iota {axis = 1 : i64} : () -> tensor<1x4x1xf32>
  %1 = dlc.add %0, %0 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %2 = dlc.add %1, %1 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %3 = dlc.add %2, %2 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %4 = dlc.add %3, %3 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %5 = dlc.add %4, %4 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %6 = dlc.add %5, %5 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %7 = dlc.add %6, %6 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %8 = dlc.add %7, %7 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %9 = dlc.add %8, %8 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %10 = dlc.add %9, %9 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %11 = dlc.add %10, %10 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %12 = dlc.add %11, %11 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %13 = dlc.add %12, %12 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %14 = dlc.add %13, %13 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %15 = dlc.add %14, %14 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %16 = dlc.add %15, %15 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %17 = dlc.add %16, %16 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %18 = dlc.add %17, %17 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %19 = dlc.add %18, %18 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %20 = dlc.add %19, %19 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %21 = dlc.add %20, %20 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %22 = dlc.add %21, %21 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %23 = dlc.add %22, %22 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %24 = dlc.add %23, %23 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %25 = dlc.add %24, %24 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %26 = dlc.add %25, %25 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %27 = dlc.add %26, %26 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %28 = dlc.add %27, %27 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %29 = dlc.add %28, %28 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %30 = dlc.add %29, %29 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %31 = dlc.add %30, %30 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %32 = dlc.add %31, %31 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %33 = dlc.add %32, %32 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %34 = dlc.add %33, %33 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %35 = dlc.add %34, %34 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %36 = dlc.add %35, %35 : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  // expected-error @below {{--pack: the documents of a row would not be apart at 'dlc.add'}}
  %y = dlc.add %x, %36 : (tensor<2x4x3xf32>, tensor<1x4x1xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}
