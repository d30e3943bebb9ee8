// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's interface: what runtime/device/cuda/cublaslt/CublasLt.h calls, and
// no more. A product is work on a stream of the stand-in driver, done by the
// CPU backend's matmul, and by Epilogue.h around it; only what that can express
// is supported: matrices without gaps, alpha 1 and beta 0.
#include "ProductEpilogues.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "test/pretend/libraries/Standin.h"
#include "test/pretend/libraries/cublaslt/Epilogue.h"
#include "test/pretend/libraries/cublaslt/Float8.h"

#include <cublasLt.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <unistd.h>

using namespace dlc;
using namespace dlc::standin;

namespace {

// The opaque types; the library's handles point to these.
struct Desc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
  Epilogue epilogue = {};
  const float *scaleA = nullptr, *scaleB = nullptr;
};
struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

// What an algorithm says about itself, in the library's 64 bytes.
struct Algorithm {
  char mark[8];
  uint64_t workspace;
  // Of A, B, C, D as preferred; of bias and aux as they were in the descriptor.
  uint32_t alignment[4], vectorAlignment, auxAlignment;
  int number;
};
// It knows so many, of which number DLC_STANDIN_FAST_ALGORITHM (default: 0) is
// the fastest.
constexpr int kKnown = 3, kSlowMicroseconds = 300;
constexpr char kMark[8] = "standin";

Desc *as(cublasLtMatmulDesc_t desc) { return reinterpret_cast<Desc *>(desc); }
Layout *as(cublasLtMatrixLayout_t layout) {
  return reinterpret_cast<Layout *>(layout);
}
Preference *as(cublasLtMatmulPreference_t preference) {
  return reinterpret_cast<Preference *>(preference);
}

plan::DType typeOf(cudaDataType_t type) {
  return type == CUDA_R_16F    ? plan::F16
         : type == CUDA_R_16BF ? plan::BF16
         : type == CUDA_R_64F  ? plan::F64
         : isFloat8(type)      ? plan::U8
                               : plan::F32;
}
uint64_t sizeOf(cudaDataType_t type) {
  return type == CUDA_R_64F   ? 8
         : type == CUDA_R_32F ? 4
         : isFloat8(type)     ? 1
                              : 2;
}
uint64_t bytesOf(const Layout &m) {
  const auto all =
      static_cast<uint64_t>(m.stride) * static_cast<uint64_t>(m.batch - 1) +
      m.rows * m.columns;
  return all * sizeOf(m.type);
}

void addType(plan::TensorType &type, const Layout &m) {
  type.set_dtype(typeOf(m.type));
  // Row-major, so the other way round.
  if (m.batch > 1)
    type.add_shape(m.stride == 0 ? 1 : m.batch);
  type.add_shape(static_cast<int64_t>(m.columns));
  type.add_shape(static_cast<int64_t>(m.rows));
}

// A product as a command of the CPU, and what follows it.
struct Product {
  plan::Command command;
  plan::TensorType a, b, y, bias;
  std::vector<Operand> inputs;
  Operand output;
  int algorithm;
  Epilogue epilogue = {};
  Layout layoutA, layoutB, layoutD; // theirs
  std::vector<float> unrounded;     // the product, if that is not all
  std::optional<Float8Product> float8 = {};

  void finish() {
    const void *const theirA = inputs[1].data, *const theirB = inputs[0].data;
    if (epilogue.keepsGelu())
      standin::finish(epilogue, unrounded, static_cast<int64_t>(layoutD.rows),
                      static_cast<int64_t>(layoutD.columns), output.data,
                      layoutD.type);
    if (epilogue.sumsA())
      sum(theirA, layoutA);
    if (epilogue.sumsB())
      sum(theirB, layoutB);
  }
  void sum(const void *operand, const Layout &m) {
    sumColumns(epilogue, operand, static_cast<int64_t>(m.rows),
               static_cast<int64_t>(m.columns), m.type);
  }
};

void setInt(plan::Command &command, const char *name, int64_t value) {
  plan::Attribute &attribute = *command.add_attributes();
  attribute.set_name(name);
  attribute.set_i(value);
}

const char *activationOf(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_RELU ||
                 epilogue == CUBLASLT_EPILOGUE_RELU_BIAS
             ? "relu"
         : epilogue == CUBLASLT_EPILOGUE_GELU ||
                 epilogue == CUBLASLT_EPILOGUE_GELU_BIAS
             ? "gelu_tanh"
             : "";
}

int fastest() {
  const char *number = std::getenv("DLC_STANDIN_FAST_ALGORITHM");
  return number ? std::atoi(number) : 0;
}

CUresult run(void *data) {
  static CpuDevice device(1); // one thread plays the GPU
  device.add(productEpilogues());
  Product &p = *static_cast<Product *>(data);
  if (p.algorithm != fastest())
    ::usleep(kSlowMicroseconds);
  if (p.float8) {
    multiply(*p.float8, p.inputs[1].data, p.inputs[0].data, p.output.data);
    return CUDA_SUCCESS;
  }
  Operand result = p.output;
  if (p.epilogue.keepsGelu()) {
    p.unrounded.resize(p.layoutD.rows * p.layoutD.columns);
    result.data = reinterpret_cast<std::byte *>(p.unrounded.data());
  }
  auto command = device.bind({p.command, p.inputs, {result}});
  if (!command.ok() || !(*command)->enqueue().ok()) {
    std::fprintf(stderr, "stand-in cuBLASLt: %s\n",
                 command.status().message().c_str());
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  p.finish();
  return CUDA_SUCCESS;
}

// A product with an operand of 8-bit floats.
std::optional<Float8Product> float8Of(const Desc &desc, const Layout &a,
                                      const Layout &b, const Layout &d) {
  if (!isFloat8(a.type) && !isFloat8(b.type))
    return std::nullopt;
  const Epilogue &e = desc.epilogue;
  return Float8Product{a.type,
                       b.type,
                       d.type,
                       desc.compute,
                       desc.scale,
                       desc.transA,
                       desc.transB,
                       d.rows,
                       d.columns,
                       desc.transA == CUBLAS_OP_T ? a.rows : a.columns,
                       d.batch,
                       desc.scaleA,
                       desc.scaleB,
                       e.hasBias() ? e.vector : nullptr,
                       e.kind != CUBLASLT_EPILOGUE_DEFAULT &&
                           e.kind != CUBLASLT_EPILOGUE_BIAS};
}

cublasStatus_t check(const Desc &desc, const Layout &a, const Layout &b,
                     const Layout &d) {
  if (const auto product = float8Of(desc, a, b, d))
    if (const cublasStatus_t answer = standin::check(*product))
      return answer;
  return standin::check(desc.epilogue, desc.transA, desc.transB,
                        static_cast<int64_t>(d.rows), d.batch, d.type);
}

uint64_t alignmentOf(const void *data) {
  const auto bits = reinterpret_cast<uintptr_t>(data) | 256;
  return bits & -bits;
}

// Whether an algorithm may have the bias and what is kept where they are.
bool fits(const Algorithm &algorithm, const Epilogue &epilogue) {
  return alignmentOf(epilogue.vector) >= algorithm.vectorAlignment &&
         alignmentOf(epilogue.aux) >= algorithm.auxAlignment;
}

} // namespace

extern "C" {

size_t cublasLtGetVersion() {
  const char *own = std::getenv("DLC_STANDIN_CUBLASLT_VERSION");
  return own ? static_cast<size_t>(std::atol(own)) : 130100;
}
size_t cublasLtGetCudartVersion() {
  const char *own = std::getenv("DLC_STANDIN_CUBLASLT_CUDA");
  return own ? static_cast<size_t>(std::atol(own)) : 13000;
}
const char *cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE   ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                 : "CUBLAS_STATUS_OTHER";
}
const char *cublasLtGetStatusString(cublasStatus_t) {
  return "an error of the stand-in cuBLASLt";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int *>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Desc{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete as(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  const auto set = [&](auto &field) {
    if (bytes != sizeof field)
      return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(as(desc)->transA);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(as(desc)->transB);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(as(desc)->epilogue.kind);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(as(desc)->epilogue.vector);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return set(as(desc)->epilogue.vectorType);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return set(as(desc)->epilogue.aux);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return set(as(desc)->epilogue.auxLeading);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    return set(as(desc)->scaleA);
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return set(as(desc)->scaleB);
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, rows, columns, leading});
  return leading == static_cast<int64_t>(rows) ? CUBLAS_STATUS_SUCCESS
                                               : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete as(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  Layout &m = *as(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == 4)
    std::memcpy(&m.batch, value, bytes);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
           bytes == 8)
    std::memcpy(&m.stride, value, bytes);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete as(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  const int index = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8)
    std::memcpy(&as(preference)->workspace, value, bytes);
  else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
           bytes == 4)
    return CUBLAS_STATUS_SUCCESS; // its sums have one order
  else if (index >= 0 && index < 4 && bytes == 4)
    std::memcpy(&as(preference)->alignment[index], value, bytes);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t la,
    cublasLtMatrixLayout_t lb, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t ld, cublasLtMatmulPreference_t preference,
    int wanted, cublasLtMatmulHeuristicResult_t *results, int *count) {
  if (const auto *driver = standin::standin())
    driver->note(reinterpret_cast<Desc *>(desc)->compute ==
                         CUBLAS_COMPUTE_32F_FAST_TF32
                     ? "plan cublasLt in tf32"
                     : "plan cublasLt");
  if (const cublasStatus_t answer = check(*as(desc), *as(la), *as(lb), *as(ld)))
    return answer;
  *count =
      std::getenv("DLC_STANDIN_NO_ALGORITHM") ? 0 : std::min(wanted, kKnown);
  for (int i = 0; i < *count; ++i) {
    std::memset(&results[i], 0, sizeof *results);
    Algorithm algorithm;
    std::memcpy(algorithm.mark, kMark, sizeof kMark);
    algorithm.number = i;
    algorithm.workspace =
        std::min<uint64_t>(as(preference)->workspace, (i + 1) << 16);
    std::memcpy(algorithm.alignment, as(preference)->alignment,
                sizeof algorithm.alignment);
    algorithm.vectorAlignment =
        static_cast<uint32_t>(alignmentOf(as(desc)->epilogue.vector));
    algorithm.auxAlignment =
        static_cast<uint32_t>(alignmentOf(as(desc)->epilogue.aux));
    static_assert(sizeof algorithm <= sizeof results->algo);
    std::memcpy(&results[i].algo, &algorithm, sizeof algorithm);
    results[i].workspaceSize = algorithm.workspace;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                        cublasLtMatrixLayout_t la, cublasLtMatrixLayout_t lb,
                        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t ld,
                        const cublasLtMatmulAlgo_t *algo,
                        cublasLtMatmulHeuristicResult_t *result) {
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  if (std::memcmp(algorithm.mark, kMark, sizeof kMark) != 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t answer = check(*as(desc), *as(la), *as(lb), *as(ld)))
    return answer;
  if (!fits(algorithm, as(desc)->epilogue))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  result->workspaceSize = algorithm.workspace;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t la, const void *b,
                              cublasLtMatrixLayout_t lb, const void *beta,
                              const void *c, cublasLtMatrixLayout_t, void *d,
                              cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspaceBytes, cudaStream_t stream) {
  const Desc &m = *as(desc);
  const bool f64 = m.scale == CUDA_R_64F;
  const double scale = f64 ? *static_cast<const double *>(alpha)
                           : *static_cast<const float *>(alpha);
  const double keep = f64 ? *static_cast<const double *>(beta)
                          : *static_cast<const float *>(beta);
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  const void *const operands[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (alignmentOf(operands[i]) < algorithm.alignment[i])
      return CUBLAS_STATUS_INVALID_VALUE;
  if (scale != 1 || keep != 0 || c != d ||
      std::memcmp(algorithm.mark, kMark, sizeof kMark) != 0 ||
      (algorithm.workspace > 0 &&
       (!workspace || workspaceBytes < algorithm.workspace)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t answer = check(m, *as(la), *as(lb), *as(ld)))
    return answer;
  const auto float8 = float8Of(m, *as(la), *as(lb), *as(ld));
  const bool isUnaligned =
      float8 && std::any_of(operands, operands + 4, [](const void *operand) {
        return alignmentOf(operand) < 16;
      });
  if (!fits(algorithm, m.epilogue) || isUnaligned)
    return CUBLAS_STATUS_INVALID_VALUE;
  auto product = std::make_unique<Product>();
  product->algorithm = algorithm.number;
  product->epilogue = m.epilogue;
  product->float8 = float8;
  product->layoutA = *as(la), product->layoutB = *as(lb);
  product->layoutD = *as(ld);
  addType(product->a, *as(lb)); // theirs in columns are ours in rows
  addType(product->b, *as(la));
  addType(product->y, *as(ld));
  product->command.set_kind("matmul");
  product->command.set_label("cublasLtMatmul");
  setInt(product->command, "trans_a", m.transB == CUBLAS_OP_T);
  setInt(product->command, "trans_b", m.transA == CUBLAS_OP_T);
  const auto operand = [](const void *data, const plan::TensorType &type) {
    return Operand{static_cast<std::byte *>(const_cast<void *>(data)), &type};
  };
  product->inputs = {operand(b, product->a), operand(a, product->b)};
  product->output = operand(d, product->y);
  std::vector<Access> accesses = {{a, bytesOf(*as(la)), false},
                                  {b, bytesOf(*as(lb)), false},
                                  {d, bytesOf(*as(ld)), true}};
  for (const float *scale : {m.scaleA, m.scaleB})
    if (scale)
      accesses.push_back({scale, sizeof *scale, false});
  if (algorithm.workspace > 0)
    accesses.push_back({workspace, algorithm.workspace, true});
  const Epilogue &e = m.epilogue;
  const uint64_t rows = as(ld)->rows;
  if (e.hasBias()) {
    const auto type = static_cast<cudaDataType_t>(e.vectorType);
    product->bias.set_dtype(typeOf(type));
    product->bias.add_shape(static_cast<int64_t>(rows));
    product->inputs.push_back(operand(e.vector, product->bias));
    setInt(product->command, "has_bias", 1);
    accesses.push_back({e.vector, rows * sizeOf(type), false});
  } else if (e.vector) {
    const uint64_t count = e.sumsB() ? as(ld)->columns : rows;
    accesses.push_back({e.vector, count * sizeOf(as(ld)->type), true});
  }
  if (e.keepsGelu()) {
    product->y.set_dtype(plan::F32);
    accesses.push_back(
        {e.aux,
         auxBytes(e, static_cast<int64_t>(as(ld)->columns), as(ld)->type),
         true});
  } else if (const char *activation = activationOf(e.kind); *activation) {
    plan::Attribute &attribute = *product->command.add_attributes();
    attribute.set_name("activation");
    attribute.set_s(activation);
  }
  const std::string name =
      algorithm.number
          ? "cublasLtMatmul algorithm " + std::to_string(algorithm.number)
          : "cublasLtMatmul";
  const Work work{name.c_str(),
                  run,
                  product.release(),
                  [](void *data) { delete static_cast<Product *>(data); },
                  accesses.data(),
                  static_cast<int>(accesses.size())};
  const auto *driver = standin::standin();
  return driver && driver->enqueue(reinterpret_cast<CUstream>(stream), work) ==
                       CUDA_SUCCESS
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // extern "C"
