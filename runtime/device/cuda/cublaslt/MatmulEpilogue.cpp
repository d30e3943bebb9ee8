// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cublaslt/MatmulEpilogue.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

#define DLC_EPILOGUE(name)                                                     \
  LtEpilogue { CUBLASLT_EPILOGUE_##name, #name }

// By activation, stored operand and bias.
LtEpilogue forward(bool isRelu, bool keeps, bool hasBias) {
  if (isRelu)
    return hasBias ? DLC_EPILOGUE(RELU_BIAS) : DLC_EPILOGUE(RELU);
  return keeps ? hasBias ? DLC_EPILOGUE(GELU_AUX_BIAS) : DLC_EPILOGUE(GELU_AUX)
         : hasBias ? DLC_EPILOGUE(GELU_BIAS)
                   : DLC_EPILOGUE(GELU);
}

} // namespace

Result<LtEpilogue> ltEpilogueOf(const CommandSpec &spec, const Epilogue &e) {
  // Its A is dlc's b: see Matmul.cpp.
  if (e.sum == Epilogue::Sum::OfA)
    return DLC_EPILOGUE(BGRADB);
  if (e.sum == Epilogue::Sum::OfB)
    return DLC_EPILOGUE(BGRADA);
  const bool isRelu = e.activation == Activation::Relu;
  if (isRelu || e.activation == Activation::GeluTanh)
    return forward(isRelu, e.kept.has_value(), e.bias.has_value());
  if (e.activation == Activation::None)
    return e.bias ? DLC_EPILOGUE(BIAS)
                  : LtEpilogue{CUBLASLT_EPILOGUE_DEFAULT, ""};
  return incompatible(
      spec, fmt::format("cuBLASLt has no activation '{}'",
                        plan::stringAttribute(spec.command, "activation", "")));
}

} // namespace dlc
