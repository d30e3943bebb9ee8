// RUN: dlc-gradcheck %s
// Values and gradients as PyTorch computes them in f64. At kinks (dlc.kink) they are the convention.

func.func @gelu(%x: tensor<2x4xf64> {dlc.value = dense<[[1.54, -0.29, -2.18, 0.57], [-1.08, -1.4, 0.4, 0.84]]> : tensor<2x4xf64>,
    dlc.gradient = dense<[[-0.810656086, -0.109991557, 0.0397010481, 0.163613162], [0.0863394322, -0.141747972, -0.858920884, 0.124204153]]> : tensor<2x4xf64>})
  -> (tensor<2x4xf64> {dlc.weight = dense<[[-0.72, -0.4, -0.6, 0.18], [-0.86, 1.1, -1.07, 0.12]]> : tensor<2x4xf64>,
    dlc.value = dense<[[1.44485853, -0.111913354, -0.0318906331, 0.407926856], [-0.151276777, -0.113059323, 0.262168697, 0.671618478]]> : tensor<2x4xf64>}) {
  %y = dlc.gelu %x : (tensor<2x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @gelu_tanh(%x: tensor<2x4xf64> {dlc.value = dense<[[1.54, -0.29, -2.18, 0.57], [-1.08, -1.4, 0.4, 0.84]]> : tensor<2x4xf64>,
    dlc.gradient = dense<[[-0.641949603, 0.10175306, 0.0595988249, -1.37227596], [-0.0370263998, -0.188226181, 0.754499304, 0.796721361]]> : tensor<2x4xf64>})
  -> (tensor<2x4xf64> {dlc.weight = dense<[[-0.57, 0.37, -0.89, -1.51], [0.37, 1.46, 0.94, 0.77]]> : tensor<2x4xf64>,
    dlc.value = dense<[[1.44465206, -0.111915549, -0.0316402732, 0.407899327], [-0.151456709, -0.113291933, 0.262161169, 0.671521562]]> : tensor<2x4xf64>}) {
  %y = dlc.gelu %x {tanh} : (tensor<2x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @softplus(%x: tensor<2x4xf64> {dlc.value = dense<[[1.54, -0.29, -2.18, 0.57], [-1.08, -1.4, 0.4, 0.84]]> : tensor<2x4xf64>,
    dlc.gradient = dense<[[0.156458298, 0.539284873, -0.131013597, -0.504622908], [-0.00507012033, -0.1424276, 0.311317583, -0.914989433]]> : tensor<2x4xf64>})
  -> (tensor<2x4xf64> {dlc.weight = dense<[[0.19, 1.26, -1.29, -0.79], [-0.02, -0.72, 0.52, -1.31]]> : tensor<2x4xf64>,
    dlc.value = dense<[[1.73423457, 0.558623048, 0.107096386, 1.01822151], [0.292367722, 0.22041741, 0.913015252, 1.1988699]]> : tensor<2x4xf64>}) {
  %y = dlc.softplus %x : (tensor<2x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @maximum(%a: tensor<3xf64> {dlc.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>,
    dlc.gradient = dense<[0.0, 0.27, -2.22]> : tensor<3xf64>},
  %b: tensor<3xf64> {dlc.value = dense<[2.0, 2.0, 2.0]> : tensor<3xf64>,
    dlc.gradient = dense<[0.19, 0.27, 0.0]> : tensor<3xf64>})
  -> (tensor<3xf64> {dlc.weight = dense<[0.19, 0.54, -2.22]> : tensor<3xf64>,
    dlc.value = dense<[2.0, 2.0, 3.0]> : tensor<3xf64>}) attributes {dlc.kink} {
  %y = dlc.max %a, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @amax(%x: tensor<2x3xf64> {dlc.value = dense<[[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]> : tensor<2x3xf64>,
    dlc.gradient = dense<[[0.0, 0.13, 0.13], [-0.343333333, -0.343333333, -0.343333333]]> : tensor<2x3xf64>})
  -> (tensor<2xf64> {dlc.weight = dense<[0.26, -1.03]> : tensor<2xf64>,
    dlc.value = dense<[3.0, 2.0]> : tensor<2xf64>}) attributes {dlc.kink} {
  %y = dlc.reduce_max %x {axes = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @pow(%a: tensor<4xf64> {dlc.value = dense<[0.0, 0.0, 2.0, 1.5]> : tensor<4xf64>,
    dlc.gradient = dense<[-0.0, 0.0, -11.04, 0.0177777778]> : tensor<4xf64>},
  %b: tensor<4xf64> {dlc.value = dense<[2.0, 0.0, 3.0, -1.0]> : tensor<4xf64>,
    dlc.gradient = dense<[-0.0, 0.0, -5.10156325, -0.0108124029]> : tensor<4xf64>})
  -> (tensor<4xf64> {dlc.weight = dense<[-0.5, 0.27, -0.92, -0.04]> : tensor<4xf64>,
    dlc.value = dense<[0.0, 1.0, 8.0, 0.666666667]> : tensor<4xf64>}) attributes {dlc.kink} {
  %y = dlc.pow %a, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}

func.func @pow_constant(%x: tensor<4xf64> {dlc.value = dense<[-2.0, -0.5, 0.0, 3.0]> : tensor<4xf64>,
    dlc.gradient = dense<[3.48, -0.0075, -0.0, -29.43]> : tensor<4xf64>})
  -> (tensor<4xf64> {dlc.weight = dense<[0.29, -0.01, -0.91, -1.09]> : tensor<4xf64>,
    dlc.value = dense<[-8.0, -0.125, 0.0, 27.0]> : tensor<4xf64>}) {
  %c = dlc.constant dense<3.0> : tensor<f64>
  %y = dlc.pow %x, %c : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}

func.func @linear(%x: tensor<2x2x3xf64> {dlc.value = dense<[[[-0.27, 0.19, -0.22], [2.06, -0.04, 0.06]], [[-0.77, 1.1, 2.76], [0.18, -0.93, -1.51]]]> : tensor<2x2x3xf64>,
    dlc.gradient = dense<[[[0.664, -0.2447, -2.9809], [-1.201, 1.4429, 2.6763]], [[-0.8926, 1.4885, 0.8595], [1.517, -2.1094, -2.6018]]]> : tensor<2x2x3xf64>},
  %w: tensor<2x3xf64> {dlc.value = dense<[[-0.66, 1.32, 0.04], [-0.28, -0.13, 1.89]]> : tensor<2x3xf64>,
    dlc.gradient = dense<[[1.4133, 2.7821, 5.9901], [2.715, 1.3653, 3.639]]> : tensor<2x3xf64>},
  %b: tensor<2xf64> {dlc.value = dense<[3.11, -0.46]> : tensor<2xf64>,
    dlc.gradient = dense<[0.33, -1.09]> : tensor<2xf64>})
  -> (tensor<2x2x2xf64> {dlc.weight = dense<[[[-0.34, -1.57], [1.23, 1.39]], [[1.17, 0.43], [-1.73, -1.34]]]> : tensor<2x2x2xf64>,
    dlc.value = dense<[[[3.5302, -0.8249], [1.7, -0.9182]], [[5.1806, 4.829], [1.7032, -3.2434]]]> : tensor<2x2x2xf64>}) {
  %y = dlc.matmul %x, %w, %b {trans_b} : (tensor<2x2x3xf64>, tensor<2x3xf64>, tensor<2xf64>) -> tensor<2x2x2xf64>
  return %y : tensor<2x2x2xf64>
}

func.func @conv(%x: tensor<1x2x4x4xf64> {dlc.value = dense<[[[[-0.11, 0.32, -0.52, -0.59], [-0.89, -0.45, -0.7, 0.33], [0.11, 0.7, 0.38, -0.07], [-0.76, 0.37, -0.17, 0.98]], [[-0.51, -1.47, 1.11, 0.28], [-0.69, -0.58, -0.59, 0.62], [-0.93, -1.32, 1.97, -0.04], [-1.4, -0.24, 0.21, -0.12]]]]> : tensor<1x2x4x4xf64>,
    dlc.gradient = dense<[[[[0.0246, 0.0204, -0.41, -0.34], [1.6991, 2.098, -3.6131, -5.0632], [-0.0429, -0.0588, 0.715, 0.98], [-0.7436, -1.0192, -0.3575, -0.49]], [[-0.0924, -0.2388, -0.1232, -0.3184], [-0.9557, 0.0325, -1.2425, -1.8891], [-0.0864, 0.06, -0.1152, 0.08], [-0.18, 0.125, -0.7848, 0.545]]]]> : tensor<1x2x4x4xf64>},
  %w: tensor<2x1x3x2xf64> {dlc.value = dense<[[[[0.89, -2.67], [-0.03, 0.5], [-0.52, -0.25]]], [[[-1.06, -0.56], [-0.12, -0.16], [-0.25, -1.09]]]]> : tensor<2x1x3x2xf64>,
    dlc.gradient = dense<[[[[-2.1547, -0.3542], [1.4019, 1.2338], [0.6742, 2.0273]]], [[[-0.2068, -0.7348], [-3.3276, 2.8503], [-2.5735, 0.9907]]]]> : tensor<2x1x3x2xf64>},
  %b: tensor<2xf64> {dlc.value = dense<[0.0, 0.23]> : tensor<2xf64>,
    dlc.gradient = dense<[1.89, 2.98]> : tensor<2xf64>})
  -> (tensor<1x2x2x2xf64> {dlc.weight = dense<[[[[-0.82, -0.68], [1.43, 1.96]], [[0.77, 1.99], [0.72, -0.5]]]]> : tensor<1x2x2x2xf64>,
    dlc.value = dense<[[[[0.3811, -0.1531], [1.7013, -1.775]], [[0.9292, -0.1692], [1.2093, 0.8532]]]]> : tensor<1x2x2x2xf64>}) {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 2>, group = 2 : i64} : (tensor<1x2x4x4xf64>, tensor<2x1x3x2xf64>, tensor<2xf64>) -> tensor<1x2x2x2xf64>
  return %y : tensor<1x2x2x2xf64>
}

// of a relu: windows of zeros tie
func.func @max_pool(%x: tensor<1x1x5x5xf64> {dlc.value = dense<[[[[0.05, 0.01, 0.0, 0.0, 0.76], [0.22, 0.0, 0.0, 0.26, 0.91], [0.16, 0.0, 0.67, 0.0, 2.2], [0.14, 0.89, 0.0, 0.0, 1.29], [0.0, 0.0, 0.0, 1.45, 0.12]]]]> : tensor<1x1x5x5xf64>,
    dlc.gradient = dense<[[[[0.0, 0.0, 0.0, 0.0, 0.0], [1.31, 0.0, 0.0, -0.42, 0.01], [0.0, 0.0, 0.0, 0.0, 1.06], [0.0, 0.54, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -1.13, 0.0]]]]> : tensor<1x1x5x5xf64>})
  -> (tensor<1x1x3x3xf64> {dlc.weight = dense<[[[[1.31, -0.42, 0.01], [-0.29, 1.31, 1.06], [-0.48, -0.66, -0.47]]]]> : tensor<1x1x3x3xf64>,
    dlc.value = dense<[[[[0.22, 0.26, 0.91], [0.89, 0.89, 2.2], [0.89, 1.45, 1.45]]]]> : tensor<1x1x3x3xf64>}) attributes {dlc.kink} {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x5x5xf64>) -> (tensor<1x1x3x3xf64>, tensor<1x1x3x3xi8>)
  return %y : tensor<1x1x3x3xf64>
}

func.func @avg_pool(%x: tensor<1x1x4x4xf64> {dlc.value = dense<[[[[-1.29, 1.41, 0.45, -0.21], [1.15, -0.56, 0.04, -0.35], [0.91, -0.22, 0.51, 0.81], [-1.33, -0.21, -0.68, 0.71]]]]> : tensor<1x1x4x4xf64>,
    dlc.gradient = dense<[[[[0.3025, 0.404166667, 0.101666667, 0.101666667], [0.0358333333, 0.183055556, 0.147222222, 0.147222222], [-0.266666667, -0.221111111, 0.0455555556, 0.0455555556], [-0.266666667, -0.221111111, 0.0455555556, 0.0455555556]]]]> : tensor<1x1x4x4xf64>})
  -> (tensor<1x1x2x2xf64> {dlc.weight = dense<[[[[1.21, 0.61], [-1.6, 0.41]]]]> : tensor<1x1x2x2xf64>,
    dlc.value = dense<[[[[0.1775, 0.13], [-0.0433333333, 0.00555555556]]]]> : tensor<1x1x2x2xf64>}) {
  %y = dlc.avg_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  return %y : tensor<1x1x2x2xf64>
}

func.func @avg_pool_include_pad(%x: tensor<1x1x4x4xf64> {dlc.value = dense<[[[[-0.32, -1.53, 0.72, 1.1], [-0.36, 0.32, 0.52, 1.24], [-2.24, 1.17, 1.34, -0.66], [0.33, 1.39, 1.8, -0.12]]]]> : tensor<1x1x4x4xf64>,
    dlc.gradient = dense<[[[[-0.02, 0.07, 0.09, 0.09], [0.04, 0.223333333, 0.183333333, 0.183333333], [0.06, 0.153333333, 0.0933333333, 0.0933333333], [0.06, 0.153333333, 0.0933333333, 0.0933333333]]]]> : tensor<1x1x4x4xf64>})
  -> (tensor<1x1x2x2xf64> {dlc.weight = dense<[[[[-0.18, 0.81], [0.54, 0.84]]]]> : tensor<1x1x2x2xf64>,
    dlc.value = dense<[[[[-0.21, 0.263333333], [0.0677777778, 0.777777778]]]]> : tensor<1x1x2x2xf64>}) {
  %y = dlc.avg_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, count_include_pad} : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  return %y : tensor<1x1x2x2xf64>
}

func.func @batch_norm_infer(%x: tensor<2x2x2x2xf64> {dlc.value = dense<[[[[-0.37, 2.01], [-1.88, 0.13]], [[0.17, 0.62], [0.66, -0.1]]], [[[0.82, -0.31], [2.28, 0.57]], [[-0.62, 0.31], [-0.77, 0.63]]]]> : tensor<2x2x2x2xf64>,
    dlc.gradient = dense<[[[[4.05874861, 0.987984859], [-3.04406146, 1.06809174]], [[0.0283346889, -0.835873322], [-0.389601972, -0.786287617]]], [[[1.01468715, -3.44459586], [-0.0801068805, -0.907877979]], [[-0.375434628, 1.83467111], [0.538359089, 0.651697844]]]]> : tensor<2x2x2x2xf64>},
  %s: tensor<2xf64> {dlc.value = dense<[-2.0, -0.75]> : tensor<2xf64>,
    dlc.gradient = dense<[-3.58531695, 0.533919988]> : tensor<2xf64>},
  %b: tensor<2xf64> {dlc.value = dense<[0.03, -0.84]> : tensor<2xf64>,
    dlc.gradient = dense<[0.13, -0.94]> : tensor<2xf64>},
  %m: tensor<2xf64> {dlc.value = dense<[-1.08, 0.76]> : tensor<2xf64>,
    dlc.gradient = dense<[0.347129815, -0.665865189]> : tensor<2xf64>},
  %v: tensor<2xf64> {dlc.value = dense<[0.56, 1.12]> : tensor<2xf64>,
    dlc.gradient = dense<[-6.3909393, 0.178608381]> : tensor<2xf64>})
  -> (tensor<2x2x2x2xf64> {dlc.weight = dense<[[[[-1.52, -0.37], [1.14, -0.4]], [[-0.04, 1.18], [0.55, 1.11]]], [[[-0.38, 1.29], [0.03, 0.34]], [[0.53, -2.59], [-0.76, -0.92]]]]> : tensor<2x2x2x2xf64>,
    dlc.value = dense<[[[[-1.86586284, -8.22100869], [2.16618348, -3.20097751]], [[-0.422063339, -0.740828589], [-0.769163278, -0.230804189]]], [[[-5.04343576, -2.0260766], [-8.94197061, -4.37587843]], [[0.137546766, -0.52123475], [0.24380185, -0.747912261]]]]> : tensor<2x2x2x2xf64>}) {
  %y = dlc.batch_norm_infer %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64} : (tensor<2x2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x2x2xf64>
  return %y : tensor<2x2x2x2xf64>
}

func.func @layer_norm(%x: tensor<2x4xf64> {dlc.value = dense<[[0.31, 0.01, -0.29, 0.64], [-1.18, 0.83, -1.35, -2.69]]> : tensor<2x4xf64>,
    dlc.gradient = dense<[[-1.12137114, -1.48299386, 1.4029235, 1.20144149], [0.330176011, 0.164978321, -0.805438653, 0.31028432]]> : tensor<2x4xf64>},
  %s: tensor<4xf64> {dlc.value = dense<[2.86, -0.12, 2.75, -0.56]> : tensor<4xf64>,
    dlc.gradient = dense<[-0.148258058, -1.42248536, -0.794585178, 3.28300641]> : tensor<4xf64>},
  %b: tensor<4xf64> {dlc.value = dense<[-2.01, -0.88, 1.1, 0.63]> : tensor<4xf64>,
    dlc.gradient = dense<[-0.29, 0.59, 0.21, 2.17]> : tensor<4xf64>})
  -> (tensor<2x4xf64> {dlc.weight = dense<[[-0.35, 1.17, 0.67, 2.29], [0.06, -0.58, -0.46, -0.12]]> : tensor<2x4xf64>,
    dlc.value = dense<[[-0.830694147, -0.825310071, -2.54056969, -0.135659008], [-2.19768331, -1.06398453, 0.547668584, 1.33937052]]> : tensor<2x4xf64>}) {
  %y, %m, %r = dlc.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<2x4xf64>, tensor<2x1xf64>, tensor<2x1xf64>)
  return %y : tensor<2x4xf64>
}

func.func @softmax(%x: tensor<2x4xf64> {dlc.value = dense<[[1.54, -0.29, -2.18, 0.57], [-1.08, -1.4, 0.4, 0.84]]> : tensor<2x4xf64>,
    dlc.gradient = dense<[[0.0442799019, -0.350490113, 0.0556540882, 0.427167463], [-0.0442799019, 0.350490113, -0.0556540882, -0.427167463]]> : tensor<2x4xf64>})
  -> (tensor<2x4xf64> {dlc.weight = dense<[[-0.67, -0.78, 0.42, 0.34], [-1.37, 1.1, -0.43, -1.4]]> : tensor<2x4xf64>,
    dlc.value = dense<[[0.932137706, 0.752129111, 0.0704367309, 0.432907095], [0.0678622936, 0.247870889, 0.929563269, 0.567092905]]> : tensor<2x4xf64>}) {
  %y = dlc.softmax %x {axis = 0 : i64} : (tensor<2x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @log_softmax(%x: tensor<2x4xf64> {dlc.value = dense<[[1.54, -0.29, -2.18, 0.57], [-1.08, -1.4, 0.4, 0.84]]> : tensor<2x4xf64>,
    dlc.gradient = dense<[[0.495009936, -1.24686846, -1.02722681, 1.77908533], [0.275594867, -0.556891331, -0.599704227, 0.881000692]]> : tensor<2x4xf64>})
  -> (tensor<2x4xf64> {dlc.weight = dense<[[-1.27, -1.53, -1.07, 1.11], [0.23, -0.59, -0.8, 0.57]]> : tensor<2x4xf64>,
    dlc.value = dense<[[-0.44707436, -2.27707436, -4.16707436, -1.41707436], [-2.5603274, -2.8803274, -1.0803274, -0.640327399]]> : tensor<2x4xf64>}) {
  %y = dlc.log_softmax %x {axis = 1 : i64} : (tensor<2x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @cross_entropy(%x: tensor<3x4xf64> {dlc.value = dense<[[0.14, -1.24, 0.34, -1.36], [0.01, 0.81, 0.2, 0.14], [-0.68, -0.6, -0.16, 0.09]]> : tensor<3x4xf64>,
    dlc.gradient = dense<[[-0.174325136, -0.0438564656, 0.257078798, -0.0388971956], [0.0, 0.0, 0.0, 0.0], [-1.56270476, 0.343721832, 0.53369937, 0.685283556]]> : tensor<3x4xf64>},
  %t: tensor<3xi64> {dlc.value = dense<[2, -100, 0]> : tensor<3xi64>})
  -> (tensor<3xf64> {dlc.weight = dense<[-0.47, 0.32, 1.88]> : tensor<3xf64>,
    dlc.value = dense<[0.791810539, 0.0, 1.77919435]> : tensor<3xf64>}) {
  %y, %lse = dlc.softmax_cross_entropy %x, %t {ignore_index = -100 : i64} : (tensor<3x4xf64>, tensor<3xi64>) -> (tensor<3xf64>, tensor<3xf64>)
  return %y : tensor<3xf64>
}

func.func @embedding(%d: tensor<4x2xf64> {dlc.value = dense<[[-0.65, -0.93], [-0.04, -0.78], [-0.06, -1.02], [0.06, 1.41]]> : tensor<4x2xf64>,
    dlc.gradient = dense<[[0.84, -0.91], [1.01, -0.85], [0.0, 0.0], [-1.76, 0.25]]> : tensor<4x2xf64>},
  %i: tensor<2x2xi64> {dlc.value = dense<[[3, 1], [3, 0]]> : tensor<2x2xi64>})
  -> (tensor<2x2x2xf64> {dlc.weight = dense<[[[-0.12, -0.17], [1.01, -0.85]], [[-1.64, 0.42], [0.84, -0.91]]]> : tensor<2x2x2xf64>,
    dlc.value = dense<[[[0.06, 1.41], [-0.04, -0.78]], [[0.06, 1.41], [-0.65, -0.93]]]> : tensor<2x2x2xf64>}) {
  %y = dlc.gather %d, %i {axis = 0 : i64} : (tensor<4x2xf64>, tensor<2x2xi64>) -> tensor<2x2x2xf64>
  return %y : tensor<2x2x2xf64>
}

func.func @batch_norm(%x: tensor<3x2x1x2xf64> {dlc.value = dense<[[[[-1.12, 2.89]], [[1.84, 0.98]]], [[[-0.38, -1.63]], [[0.52, 0.57]]], [[[0.61, -0.92]], [[-0.43, -0.08]]]]> : tensor<3x2x1x2xf64>,
    dlc.gradient = dense<[[[[-0.92109923, 0.242379957]], [[-0.359099475, 0.516866265]]], [[[-0.672861299, 0.550831798]], [[-1.01120826, 0.585350038]]], [[[-0.22960031, 1.03034909]], [[-1.05840712, 1.32649856]]]]> : tensor<3x2x1x2xf64>},
  %s: tensor<2xf64> {dlc.value = dense<[-1.19, -1.6]> : tensor<2xf64>,
    dlc.gradient = dense<[-3.73469087, -0.870671887]> : tensor<2xf64>},
  %b: tensor<2xf64> {dlc.value = dense<[-0.72, -1.89]> : tensor<2xf64>,
    dlc.gradient = dense<[3.12, -4.33]> : tensor<2xf64>})
  -> (tensor<3x2x1x2xf64> {dlc.weight = dense<[[[[2.11, -1.02]], [[-0.81, -1.04]]], [[[1.49, 0.46]], [[-0.25, -0.99]]], [[[0.52, -0.44]], [[-0.04, -1.2]]]]> : tensor<3x2x1x2xf64>,
    dlc.value = dense<[[[[0.093348186, -3.07831427]], [[-4.67454637, -2.79388416]]], [[[-0.491946133, 0.496726703]], [[-1.78794856, -1.89728939]]], [[[-1.27497502, -0.0648394676]], [[0.289527134, -0.475858649]]]]> : tensor<3x2x1x2xf64>}) {
  %m = dlc.constant dense<0.0> : tensor<2xf64>
  %v = dlc.constant dense<1.0> : tensor<2xf64>
  %y, %nm, %nv, %sm, %sv = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64, unbiased} : (tensor<3x2x1x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<3x2x1x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)
  return %y : tensor<3x2x1x2xf64>
}

// causal, several ops together
func.func @attention(%q: tensor<1x3x2xf64> {dlc.value = dense<[[[0.06, 0.56], [-0.37, -0.15], [-0.73, -1.0]]]> : tensor<1x3x2xf64>,
    dlc.gradient = dense<[[[0.0, 0.0], [0.0466076682, -0.00102660062], [0.101659992, 0.0460196393]]]> : tensor<1x3x2xf64>},
  %k: tensor<1x3x2xf64> {dlc.value = dense<[[[1.23, 0.03], [-1.04, 0.08], [0.44, 0.33]]]> : tensor<1x3x2xf64>,
    dlc.gradient = dense<[[[0.0409872081, 0.063473695], [0.083673328, 0.107294163], [-0.124660536, -0.170767858]]]> : tensor<1x3x2xf64>},
  %v: tensor<1x3x2xf64> {dlc.value = dense<[[[1.1, 0.89], [1.65, 0.98], [1.82, -0.73]]]> : tensor<1x3x2xf64>,
    dlc.gradient = dense<[[[-0.993064538, -0.299494349], [0.243050976, -0.768558934], [0.130013562, -0.161946717]]]> : tensor<1x3x2xf64>})
  -> (tensor<1x3x2xf64> {dlc.weight = dense<[[[-1.05, 0.03], [-0.14, -0.55], [0.57, -0.71]]]> : tensor<1x3x2xf64>,
    dlc.value = dense<[[[1.1, 0.89], [1.45367358, 0.947873858], [1.58561772, 0.573078874]]]> : tensor<1x3x2xf64>}) {
  %m = dlc.constant dense<[[0.0, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0]]> : tensor<3x3xf64>
  %s = dlc.constant dense<1.4142135623730951> : tensor<f64>
  %p = dlc.matmul %q, %k {trans_b} : (tensor<1x3x2xf64>, tensor<1x3x2xf64>) -> tensor<1x3x3xf64>
  %d = dlc.div %p, %s : (tensor<1x3x3xf64>, tensor<f64>) -> tensor<1x3x3xf64>
  %a = dlc.add %d, %m : (tensor<1x3x3xf64>, tensor<3x3xf64>) -> tensor<1x3x3xf64>
  %w = dlc.softmax %a {axis = 2 : i64} : (tensor<1x3x3xf64>) -> tensor<1x3x3xf64>
  %y = dlc.matmul %w, %v : (tensor<1x3x3xf64>, tensor<1x3x2xf64>) -> tensor<1x3x2xf64>
  return %y : tensor<1x3x2xf64>
}

// The slice `padding` gets no gradient; the difference quotient would give it one.
func.func @embedding_padding(%d: tensor<4x2xf64> {dlc.value = dense<[[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5], [1.0, 3.0]]> : tensor<4x2xf64>,
    dlc.gradient = dense<[[-0.7, 0.8], [0.6, 0.8], [0.9, -1.0], [0.0, 0.0]]> : tensor<4x2xf64>},
  %i: tensor<2x3xi64> {dlc.value = dense<[[1, 3, 1], [0, 2, -1]]> : tensor<2x3xi64>})
  -> (tensor<2x3x2xf64> {dlc.weight = dense<[[[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], [[-0.7, 0.8], [0.9, -1.0], [1.1, 1.2]]]> : tensor<2x3x2xf64>,
    dlc.value = dense<[[[2.0, 0.25], [1.0, 3.0], [2.0, 0.25]], [[0.5, -1.0], [-0.75, 1.5], [1.0, 3.0]]]> : tensor<2x3x2xf64>}) attributes {dlc.kink} {
  %y = dlc.gather %d, %i {axis = 0 : i64, padding = 3 : i64} : (tensor<4x2xf64>, tensor<2x3xi64>) -> tensor<2x3x2xf64>
  return %y : tensor<2x3x2xf64>
}
