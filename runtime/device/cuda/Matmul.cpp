// matmul: a @ b (+ bias) by cuBLASLt, with its epilogues.
//
// cuBLASLt's matrices are column-major: y[m,n] = a b in rows is y' = b' a' in
// its columns, so that its A is our b and its B our a.
#include "runtime/device/cpu/Activation.h"
#include "runtime/device/cpu/Product.h"
#include "runtime/device/cuda/Kinds.h"
#include "runtime/plan/Attributes.h"

#include <algorithm>

namespace dlc {
namespace {

constexpr uint64_t kWorkspace = 32 << 20; // bytes that an algorithm may use

cudaDataType_t cudaType(plan::DType type) {
  switch (type) {
  case plan::F16:
    return CUDA_R_16F;
  case plan::BF16:
    return CUDA_R_16BF;
  case plan::F64:
    return CUDA_R_64F;
  default:
    return CUDA_R_32F;
  }
}

// Descriptors of the library, freed at the end of their scope.
class Descriptors {
public:
  explicit Descriptors(const CublasLt &lt) : lt_(lt) {}
  Descriptors(const Descriptors &) = delete;
  ~Descriptors() {
    if (desc)
      lt_.cublasLtMatmulDescDestroy(desc);
    for (cublasLtMatrixLayout_t layout : {a, b, y})
      if (layout)
        lt_.cublasLtMatrixLayoutDestroy(layout);
  }

  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, y = nullptr; // ours

private:
  const CublasLt &lt_;
};

// One strided batch of products; `a`, `b` and `y` are its first matrices.
struct Launch {
  std::byte *a, *b, *y;
};

class Matmul final : public Command {
public:
  Matmul(CudaDevice &device, Libraries::Blas blas, const CommandSpec &spec)
      : device_(device), blas_(blas), name_(describe(spec)),
        descriptors_(*blas.functions),
        isDouble_(typeOf(spec.outputs[0]) == plan::F64) {}

  Status build(const CommandSpec &spec, const Product &p, bool hasBias);
  Status enqueue() override;

private:
  Status check(cublasStatus_t status, const char *action) const {
    return blas_.functions->check(status, fmt::format("{}: {}", name_, action));
  }
  template <class T>
  Status set(cublasLtMatmulDescAttributes_t attribute, const T &value) {
    return check(blas_.functions->cublasLtMatmulDescSetAttribute(
                     descriptors_.desc, attribute, &value, sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  }
  Status describeEpilogue(const CommandSpec &spec, bool hasBias);
  Status layout(cublasLtMatrixLayout_t &to, plan::DType type, int64_t rows,
                int64_t columns, int32_t batch, int64_t stride);
  Status choose();

  CudaDevice &device_;
  Libraries::Blas blas_;
  std::string name_;
  Descriptors descriptors_;
  cublasLtMatmulAlgo_t algorithm_;
  std::vector<Launch> launches_;
  bool isDouble_;
};

Status Matmul::describeEpilogue(const CommandSpec &spec, bool hasBias) {
  cublasLtEpilogue_t epilogue;
  switch (activationOf(spec)) {
  case Activation::None:
    epilogue = hasBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    break;
  case Activation::Relu:
    epilogue = hasBias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    break;
  case Activation::GeluTanh:
    epilogue = hasBias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    break;
  default:
    return incompatible(spec, fmt::format("cuBLASLt has no activation '{}'",
                                          plan::stringAttribute(
                                              spec.command, "activation", "")));
  }
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  if (!hasBias)
    return {};
  const void *bias = spec.inputs[2].data;
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  const cudaDataType_t type = cudaType(typeOf(spec.inputs[2]));
  return set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
}

// A row-major matrix of `rows` x `columns` as the library sees it; `stride`
// elements between the matrices of a batch.
Status Matmul::layout(cublasLtMatrixLayout_t &to, plan::DType type,
                      int64_t rows, int64_t columns, int32_t batch,
                      int64_t stride) {
  const CublasLt &lt = *blas_.functions;
  DLC_TRY(check(lt.cublasLtMatrixLayoutCreate(&to, cudaType(type), columns,
                                              rows, columns),
                "cublasLtMatrixLayoutCreate"));
  DLC_TRY(
      check(lt.cublasLtMatrixLayoutSetAttribute(
                to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch),
            "cublasLtMatrixLayoutSetAttribute"));
  return check(lt.cublasLtMatrixLayoutSetAttribute(
                   to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                   sizeof stride),
               "cublasLtMatrixLayoutSetAttribute");
}

// The last batch dimension is the library's; a launch for each of the others'.
Status Matmul::build(const CommandSpec &spec, const Product &p, bool hasBias) {
  const CublasLt &lt = *blas_.functions;
  DLC_TRY(check(
      lt.cublasLtMatmulDescCreate(&descriptors_.desc,
                                  isDouble_ ? CUBLAS_COMPUTE_64F
                                            : CUBLAS_COMPUTE_32F, // never TF32
                                  isDouble_ ? CUDA_R_64F : CUDA_R_32F),
      "cublasLtMatmulDescCreate"));
  const cublasOperation_t plain = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, p.transB ? transposed : plain));
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, p.transA ? transposed : plain));
  DLC_TRY(describeEpilogue(spec, hasBias));
  const int64_t inner = p.batchY.empty() ? 1 : p.batchY.back();
  const auto stride = [](const Shape &batch, int64_t elements) {
    return batch.empty() || batch.back() == 1 ? 0 : elements;
  };
  DLC_TRY(layout(descriptors_.a, typeOf(spec.inputs[0]), p.transA ? p.k : p.m,
                 p.transA ? p.m : p.k, static_cast<int32_t>(inner),
                 stride(p.batchA, p.m * p.k)));
  DLC_TRY(layout(descriptors_.b, typeOf(spec.inputs[1]), p.transB ? p.n : p.k,
                 p.transB ? p.k : p.n, static_cast<int32_t>(inner),
                 stride(p.batchB, p.k * p.n)));
  DLC_TRY(layout(descriptors_.y, typeOf(spec.outputs[0]), p.m, p.n,
                 static_cast<int32_t>(inner), p.m * p.n));
  const auto at = [](const Operand &operand, int64_t matrix, int64_t size) {
    return operand.data + matrix * size * elementSize(typeOf(operand));
  };
  for (int64_t i = 0; i < countOf(p.batchY); i += inner)
    launches_.push_back(
        {at(spec.inputs[0], matrixIndex(i, p.batchY, p.batchA), p.m * p.k),
         at(spec.inputs[1], matrixIndex(i, p.batchY, p.batchB), p.k * p.n),
         at(spec.outputs[0], i, p.m * p.n)});
  return choose();
}

// The largest power of two, at most 256, that divides all addresses.
uint32_t alignmentOf(const std::vector<Launch> &launches,
                     std::byte *Launch::*member) {
  uintptr_t bits = 256;
  for (const Launch &launch : launches)
    bits |= reinterpret_cast<uintptr_t>(launch.*member);
  return static_cast<uint32_t>(bits & -bits);
}

Status Matmul::choose() {
  const CublasLt &lt = *blas_.functions;
  cublasLtMatmulPreference_t raw = nullptr;
  DLC_TRY(check(lt.cublasLtMatmulPreferenceCreate(&raw),
                "cublasLtMatmulPreferenceCreate"));
  const auto destroy = [&lt](cublasLtMatmulPreference_t preference) {
    lt.cublasLtMatmulPreferenceDestroy(preference);
  };
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                        decltype(destroy)>
      preference(raw, destroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                          auto value) {
    return check(lt.cublasLtMatmulPreferenceSetAttribute(raw, attribute, &value,
                                                         sizeof value),
                 "cublasLtMatmulPreferenceSetAttribute");
  };
  DLC_TRY(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace));
  // Its default is 256 bytes, which buffers inside of an arena need not have.
  DLC_TRY(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                 alignmentOf(launches_, &Launch::b)));
  DLC_TRY(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                 alignmentOf(launches_, &Launch::a)));
  for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    DLC_TRY(prefer(attribute, alignmentOf(launches_, &Launch::y)));
  cublasLtMatmulHeuristicResult_t best;
  int found = 0;
  DLC_TRY(
      check(lt.cublasLtMatmulAlgoGetHeuristic(
                blas_.handle, descriptors_.desc, descriptors_.b, descriptors_.a,
                descriptors_.y, descriptors_.y, raw, 1, &best, &found),
            "cublasLtMatmulAlgoGetHeuristic"));
  if (found == 0)
    return incompatible("{}: cuBLASLt {} has no algorithm for it on {}", name_,
                        lt.version(), device_.context().properties().name);
  algorithm_ = best.algo;
  return device_.memoryPool().reserveWorkspace(best.workspaceSize);
}

Status Matmul::enqueue() {
  const float one = 1, zero = 0;
  const double oneDouble = 1, zeroDouble = 0;
  const void *alpha = isDouble_ ? static_cast<const void *>(&oneDouble) : &one;
  const void *beta = isDouble_ ? static_cast<const void *>(&zeroDouble) : &zero;
  GpuMemory &memory = device_.memoryPool();
  for (const Launch &launch : launches_)
    DLC_TRY(
        check(blas_.functions->cublasLtMatmul(
                  blas_.handle, descriptors_.desc, alpha, launch.b,
                  descriptors_.b, launch.a, descriptors_.a, beta, launch.y,
                  descriptors_.y, launch.y, descriptors_.y, &algorithm_,
                  reinterpret_cast<void *>(memory.workspace()),
                  memory.workspaceBytes(),
                  reinterpret_cast<cudaStream_t>(device_.context().compute())),
              "cublasLtMatmul"));
  return {};
}

Result<std::unique_ptr<Command>> bindMatmul(CudaDevice &device,
                                            const CommandSpec &spec) {
  const bool hasBias = plan::intAttribute(spec.command, "has_bias", 0);
  DLC_TRY(expectOperands(spec, 2 + hasBias, 1));
  DLC_TRY(expectFloats(spec));
  DLC_ASSIGN(Product product, productOf(spec, hasBias));
  simplify(product);
  auto blas = device.libraries().cublasLt();
  if (!blas.ok())
    return blas.status().withContext(describe(spec));
  auto command = std::make_unique<Matmul>(device, *blas, spec);
  DLC_TRY(command->build(spec, product, hasBias));
  return std::unique_ptr<Command>(std::move(command));
}

constexpr GpuKind kKinds[] = {{"matmul", bindMatmul}};

} // namespace

std::span<const GpuKind> gpuMatmulKinds() { return kKinds; }

} // namespace dlc
