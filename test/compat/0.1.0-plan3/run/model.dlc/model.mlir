module attributes {dlc.scores = {axis = 1 : i64, labels = "y", output = "logits", probabilities = false, task = "classes"}} {
  dlc.state @f1.weight : tensor<48x64xf32> param init = "f1.weight" trainable
  dlc.state @f1.bias : tensor<48xf32> param init = "f1.bias" trainable
  dlc.state @f2.weight : tensor<10x48xf32> param init = "f2.weight" trainable
  dlc.state @f2.bias : tensor<10xf32> param init = "f2.bias" trainable
  dlc.state @step : tensor<i64> step init = 0 : i64
  dlc.state @f2.weight.m : tensor<10x48xf32> moment init = 0.000000e+00 : f32 of = @f2.weight
  dlc.state @f2.weight.v : tensor<10x48xf32> moment init = 0.000000e+00 : f32 of = @f2.weight
  dlc.state @f2.bias.m : tensor<10xf32> moment init = 0.000000e+00 : f32 of = @f2.bias
  dlc.state @f2.bias.v : tensor<10xf32> moment init = 0.000000e+00 : f32 of = @f2.bias
  dlc.state @f1.weight.m : tensor<48x64xf32> moment init = 0.000000e+00 : f32 of = @f1.weight
  dlc.state @f1.weight.v : tensor<48x64xf32> moment init = 0.000000e+00 : f32 of = @f1.weight
  dlc.state @f1.bias.m : tensor<48xf32> moment init = 0.000000e+00 : f32 of = @f1.bias
  dlc.state @f1.bias.v : tensor<48xf32> moment init = 0.000000e+00 : f32 of = @f1.bias
  dlc.state @"ema/f2.weight" : tensor<10x48xf32> ema init = @f2.weight of = @f2.weight
  dlc.state @"ema/f2.bias" : tensor<10xf32> ema init = @f2.bias of = @f2.bias
  dlc.state @"ema/f1.weight" : tensor<48x64xf32> ema init = @f1.weight of = @f1.weight
  dlc.state @"ema/f1.bias" : tensor<48xf32> ema init = @f1.bias of = @f1.bias
  func.func @predict(%arg0: tensor<64x1x8x8xf32> {dlc.name = "input"}) -> (tensor<64x10xf32> {dlc.name = "logits"}) {
    %0 = dlc.reshape %arg0 : (tensor<64x1x8x8xf32>) -> tensor<64x64xf32>
    %1 = dlc.read @f1.weight : tensor<48x64xf32>
    %2 = dlc.read @f1.bias : tensor<48xf32>
    %3 = dlc.matmul %0, %1, %2 {trans_b} : (tensor<64x64xf32>, tensor<48x64xf32>, tensor<48xf32>) -> tensor<64x48xf32>
    %4 = dlc.tanh %3 : (tensor<64x48xf32>) -> tensor<64x48xf32>
    %5 = dlc.read @f2.weight : tensor<10x48xf32>
    %6 = dlc.read @f2.bias : tensor<10xf32>
    %7 = dlc.matmul %4, %5, %6 {trans_b} : (tensor<64x48xf32>, tensor<10x48xf32>, tensor<10xf32>) -> tensor<64x10xf32>
    return %7 : tensor<64x10xf32>
  }
  func.func @train_step(%arg0: tensor<64x1x8x8xf32> {dlc.name = "input"}, %arg1: tensor<64xi64> {dlc.name = "y"}) -> (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "lr"}) {
    %0 = dlc.constant dense<3.000000e-03> : tensor<f32>
    %1 = dlc.constant dense<9.999700e-01> : tensor<f32>
    %2 = dlc.constant dense<1.000000e-01> : tensor<f32>
    %3 = dlc.constant dense<1.562500e-02> : tensor<1xf32>
    %4 = dlc.constant dense<1> : tensor<i64>
    %5 = dlc.constant dense<9.99999993E-9> : tensor<f32>
    %6 = dlc.constant dense<9.990000e-01> : tensor<f32>
    %7 = dlc.constant dense<1.000000e-03> : tensor<f32>
    %8 = dlc.constant dense<0.99899999999999999> : tensor<f64>
    %9 = dlc.constant dense<1.000000e+00> : tensor<f64>
    %10 = dlc.constant dense<9.000000e-01> : tensor<f64>
    %11 = dlc.constant dense<3.000000e-03> : tensor<f64>
    %12 = dlc.constant dense<1.000000e+00> : tensor<f32>
    %13 = dlc.reshape %arg0 : (tensor<64x1x8x8xf32>) -> tensor<64x64xf32>
    %14 = dlc.read @f1.weight : tensor<48x64xf32>
    %15 = dlc.read @f1.bias : tensor<48xf32>
    %16 = dlc.matmul %13, %14, %15 {trans_b} : (tensor<64x64xf32>, tensor<48x64xf32>, tensor<48xf32>) -> tensor<64x48xf32>
    %17 = dlc.tanh %16 : (tensor<64x48xf32>) -> tensor<64x48xf32>
    %18 = dlc.read @f2.weight : tensor<10x48xf32>
    %19 = dlc.read @f2.bias : tensor<10xf32>
    %20 = dlc.matmul %17, %18, %19 {trans_b} : (tensor<64x48xf32>, tensor<10x48xf32>, tensor<10xf32>) -> tensor<64x10xf32>
    %loss, %lse = dlc.softmax_cross_entropy %20, %arg1 {dlc.loss} : (tensor<64x10xf32>, tensor<64xi64>) -> (tensor<64xf32>, tensor<64xf32>)
    %21 = dlc.reduce_mean %loss {axes = array<i64: 0>, dlc.loss} : (tensor<64xf32>) -> tensor<f32>
    %22 = dlc.broadcast %3 : (tensor<1xf32>) -> tensor<64xf32>
    %23 = dlc.softmax_cross_entropy_backward %22, %20, %arg1, %lse : (tensor<64xf32>, tensor<64x10xf32>, tensor<64xi64>, tensor<64xf32>) -> tensor<64x10xf32>
    %24 = dlc.matmul %23, %18 : (tensor<64x10xf32>, tensor<10x48xf32>) -> tensor<64x48xf32>
    %25 = dlc.matmul %23, %17 {trans_a} : (tensor<64x10xf32>, tensor<64x48xf32>) -> tensor<10x48xf32>
    %26 = dlc.reduce_sum %23 {axes = array<i64: 0>} : (tensor<64x10xf32>) -> tensor<10xf32>
    %27 = dlc.all_reduce %25 {of = @f2.weight} : (tensor<10x48xf32>) -> tensor<10x48xf32>
    %28 = dlc.all_reduce %26 {of = @f2.bias} : (tensor<10xf32>) -> tensor<10xf32>
    %29 = dlc.mul %17, %17 : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    %30 = dlc.sub %12, %29 : (tensor<f32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    %31 = dlc.mul %24, %30 : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    %32 = dlc.matmul %31, %13 {trans_a} : (tensor<64x48xf32>, tensor<64x64xf32>) -> tensor<48x64xf32>
    %33 = dlc.reduce_sum %31 {axes = array<i64: 0>} : (tensor<64x48xf32>) -> tensor<48xf32>
    %34 = dlc.all_reduce %32 {of = @f1.weight} : (tensor<48x64xf32>) -> tensor<48x64xf32>
    %35 = dlc.all_reduce %33 {of = @f1.bias} : (tensor<48xf32>) -> tensor<48xf32>
    %36 = dlc.read @step : tensor<i64>
    %37 = dlc.cast %36 : (tensor<i64>) -> tensor<f64>
    %38 = dlc.add %37, %9 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %39 = dlc.pow %10, %38 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %40 = dlc.sub %9, %39 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %41 = dlc.div %11, %40 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %42 = dlc.pow %8, %38 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %43 = dlc.sub %9, %42 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %44 = dlc.sqrt %43 : (tensor<f64>) -> tensor<f64>
    %45 = dlc.read @f2.weight.m : tensor<10x48xf32>
    %46 = dlc.read @f2.weight.v : tensor<10x48xf32>
    %47 = dlc.cast %41 : (tensor<f64>) -> tensor<f32>
    %48 = dlc.cast %44 : (tensor<f64>) -> tensor<f32>
    %49 = dlc.mul %18, %1 : (tensor<10x48xf32>, tensor<f32>) -> tensor<10x48xf32>
    %50 = dlc.sub %27, %45 : (tensor<10x48xf32>, tensor<10x48xf32>) -> tensor<10x48xf32>
    %51 = dlc.mul %50, %2 : (tensor<10x48xf32>, tensor<f32>) -> tensor<10x48xf32>
    %52 = dlc.add %45, %51 : (tensor<10x48xf32>, tensor<10x48xf32>) -> tensor<10x48xf32>
    %53 = dlc.mul %27, %27 : (tensor<10x48xf32>, tensor<10x48xf32>) -> tensor<10x48xf32>
    %54 = dlc.mul %53, %7 : (tensor<10x48xf32>, tensor<f32>) -> tensor<10x48xf32>
    %55 = dlc.mul %46, %6 : (tensor<10x48xf32>, tensor<f32>) -> tensor<10x48xf32>
    %56 = dlc.add %55, %54 : (tensor<10x48xf32>, tensor<10x48xf32>) -> tensor<10x48xf32>
    %57 = dlc.sqrt %56 : (tensor<10x48xf32>) -> tensor<10x48xf32>
    %58 = dlc.div %57, %48 : (tensor<10x48xf32>, tensor<f32>) -> tensor<10x48xf32>
    %59 = dlc.add %58, %5 : (tensor<10x48xf32>, tensor<f32>) -> tensor<10x48xf32>
    %60 = dlc.div %52, %59 : (tensor<10x48xf32>, tensor<10x48xf32>) -> tensor<10x48xf32>
    %61 = dlc.mul %47, %60 : (tensor<f32>, tensor<10x48xf32>) -> tensor<10x48xf32>
    %62 = dlc.sub %49, %61 : (tensor<10x48xf32>, tensor<10x48xf32>) -> tensor<10x48xf32>
    dlc.write @f2.weight, %62 : tensor<10x48xf32>
    dlc.write @f2.weight.m, %52 : tensor<10x48xf32>
    dlc.write @f2.weight.v, %56 : tensor<10x48xf32>
    %63 = dlc.read @f2.bias.m : tensor<10xf32>
    %64 = dlc.read @f2.bias.v : tensor<10xf32>
    %65 = dlc.mul %19, %1 : (tensor<10xf32>, tensor<f32>) -> tensor<10xf32>
    %66 = dlc.sub %28, %63 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %67 = dlc.mul %66, %2 : (tensor<10xf32>, tensor<f32>) -> tensor<10xf32>
    %68 = dlc.add %63, %67 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %69 = dlc.mul %28, %28 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %70 = dlc.mul %69, %7 : (tensor<10xf32>, tensor<f32>) -> tensor<10xf32>
    %71 = dlc.mul %64, %6 : (tensor<10xf32>, tensor<f32>) -> tensor<10xf32>
    %72 = dlc.add %71, %70 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %73 = dlc.sqrt %72 : (tensor<10xf32>) -> tensor<10xf32>
    %74 = dlc.div %73, %48 : (tensor<10xf32>, tensor<f32>) -> tensor<10xf32>
    %75 = dlc.add %74, %5 : (tensor<10xf32>, tensor<f32>) -> tensor<10xf32>
    %76 = dlc.div %68, %75 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %77 = dlc.mul %47, %76 : (tensor<f32>, tensor<10xf32>) -> tensor<10xf32>
    %78 = dlc.sub %65, %77 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    dlc.write @f2.bias, %78 : tensor<10xf32>
    dlc.write @f2.bias.m, %68 : tensor<10xf32>
    dlc.write @f2.bias.v, %72 : tensor<10xf32>
    %79 = dlc.read @f1.weight.m : tensor<48x64xf32>
    %80 = dlc.read @f1.weight.v : tensor<48x64xf32>
    %81 = dlc.mul %14, %1 : (tensor<48x64xf32>, tensor<f32>) -> tensor<48x64xf32>
    %82 = dlc.sub %34, %79 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    %83 = dlc.mul %82, %2 : (tensor<48x64xf32>, tensor<f32>) -> tensor<48x64xf32>
    %84 = dlc.add %79, %83 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    %85 = dlc.mul %34, %34 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    %86 = dlc.mul %85, %7 : (tensor<48x64xf32>, tensor<f32>) -> tensor<48x64xf32>
    %87 = dlc.mul %80, %6 : (tensor<48x64xf32>, tensor<f32>) -> tensor<48x64xf32>
    %88 = dlc.add %87, %86 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    %89 = dlc.sqrt %88 : (tensor<48x64xf32>) -> tensor<48x64xf32>
    %90 = dlc.div %89, %48 : (tensor<48x64xf32>, tensor<f32>) -> tensor<48x64xf32>
    %91 = dlc.add %90, %5 : (tensor<48x64xf32>, tensor<f32>) -> tensor<48x64xf32>
    %92 = dlc.div %84, %91 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    %93 = dlc.mul %47, %92 : (tensor<f32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    %94 = dlc.sub %81, %93 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    dlc.write @f1.weight, %94 : tensor<48x64xf32>
    dlc.write @f1.weight.m, %84 : tensor<48x64xf32>
    dlc.write @f1.weight.v, %88 : tensor<48x64xf32>
    %95 = dlc.read @f1.bias.m : tensor<48xf32>
    %96 = dlc.read @f1.bias.v : tensor<48xf32>
    %97 = dlc.mul %15, %1 : (tensor<48xf32>, tensor<f32>) -> tensor<48xf32>
    %98 = dlc.sub %35, %95 : (tensor<48xf32>, tensor<48xf32>) -> tensor<48xf32>
    %99 = dlc.mul %98, %2 : (tensor<48xf32>, tensor<f32>) -> tensor<48xf32>
    %100 = dlc.add %95, %99 : (tensor<48xf32>, tensor<48xf32>) -> tensor<48xf32>
    %101 = dlc.mul %35, %35 : (tensor<48xf32>, tensor<48xf32>) -> tensor<48xf32>
    %102 = dlc.mul %101, %7 : (tensor<48xf32>, tensor<f32>) -> tensor<48xf32>
    %103 = dlc.mul %96, %6 : (tensor<48xf32>, tensor<f32>) -> tensor<48xf32>
    %104 = dlc.add %103, %102 : (tensor<48xf32>, tensor<48xf32>) -> tensor<48xf32>
    %105 = dlc.sqrt %104 : (tensor<48xf32>) -> tensor<48xf32>
    %106 = dlc.div %105, %48 : (tensor<48xf32>, tensor<f32>) -> tensor<48xf32>
    %107 = dlc.add %106, %5 : (tensor<48xf32>, tensor<f32>) -> tensor<48xf32>
    %108 = dlc.div %100, %107 : (tensor<48xf32>, tensor<48xf32>) -> tensor<48xf32>
    %109 = dlc.mul %47, %108 : (tensor<f32>, tensor<48xf32>) -> tensor<48xf32>
    %110 = dlc.sub %97, %109 : (tensor<48xf32>, tensor<48xf32>) -> tensor<48xf32>
    dlc.write @f1.bias, %110 : tensor<48xf32>
    dlc.write @f1.bias.m, %100 : tensor<48xf32>
    dlc.write @f1.bias.v, %104 : tensor<48xf32>
    %111 = dlc.add %36, %4 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    dlc.write @step, %111 : tensor<i64>
    %112 = dlc.read @"ema/f2.weight" : tensor<10x48xf32>
    %113 = dlc.lerp %112, %62, %2 : (tensor<10x48xf32>, tensor<10x48xf32>, tensor<f32>) -> tensor<10x48xf32>
    dlc.write @"ema/f2.weight", %113 : tensor<10x48xf32>
    %114 = dlc.read @"ema/f2.bias" : tensor<10xf32>
    %115 = dlc.lerp %114, %78, %2 : (tensor<10xf32>, tensor<10xf32>, tensor<f32>) -> tensor<10xf32>
    dlc.write @"ema/f2.bias", %115 : tensor<10xf32>
    %116 = dlc.read @"ema/f1.weight" : tensor<48x64xf32>
    %117 = dlc.lerp %116, %94, %2 : (tensor<48x64xf32>, tensor<48x64xf32>, tensor<f32>) -> tensor<48x64xf32>
    dlc.write @"ema/f1.weight", %117 : tensor<48x64xf32>
    %118 = dlc.read @"ema/f1.bias" : tensor<48xf32>
    %119 = dlc.lerp %118, %110, %2 : (tensor<48xf32>, tensor<48xf32>, tensor<f32>) -> tensor<48xf32>
    dlc.write @"ema/f1.bias", %119 : tensor<48xf32>
    return %21, %0 : tensor<f32>, tensor<f32>
  }
  func.func @eval_step(%arg0: tensor<64x1x8x8xf32> {dlc.name = "input"}, %arg1: tensor<64xi64> {dlc.name = "y"}) -> (tensor<64xf32> {dlc.name = "row_loss"}, tensor<64xf32> {dlc.name = "row_correct"}) {
    %0 = dlc.reshape %arg0 : (tensor<64x1x8x8xf32>) -> tensor<64x64xf32>
    %1 = dlc.read @f1.weight : tensor<48x64xf32>
    %2 = dlc.read @f1.bias : tensor<48xf32>
    %3 = dlc.matmul %0, %1, %2 {trans_b} : (tensor<64x64xf32>, tensor<48x64xf32>, tensor<48xf32>) -> tensor<64x48xf32>
    %4 = dlc.tanh %3 : (tensor<64x48xf32>) -> tensor<64x48xf32>
    %5 = dlc.read @f2.weight : tensor<10x48xf32>
    %6 = dlc.read @f2.bias : tensor<10xf32>
    %7 = dlc.matmul %4, %5, %6 {trans_b} : (tensor<64x48xf32>, tensor<10x48xf32>, tensor<10xf32>) -> tensor<64x10xf32>
    %loss, %lse = dlc.softmax_cross_entropy %7, %arg1 {dlc.loss} : (tensor<64x10xf32>, tensor<64xi64>) -> (tensor<64xf32>, tensor<64xf32>)
    %8 = dlc.argmax %7 {axes = array<i64: 1>, dlc.loss} : (tensor<64x10xf32>) -> tensor<64xi64>
    %9 = dlc.compare eq %8, %arg1 {dlc.loss} : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
    %10 = dlc.cast %9 {dlc.loss} : (tensor<64xi1>) -> tensor<64xf32>
    return %loss, %10 : tensor<64xf32>, tensor<64xf32>
  }
}

