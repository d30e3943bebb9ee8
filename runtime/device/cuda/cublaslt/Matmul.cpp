// SPDX-License-Identifier: Apache-2.0
// Products by cuBLASLt, with its epilogues: matmul and related ops in
// compiler/dialect/ops/Linear.td, Epilogues.td and Float8.td.
//
// cuBLASLt's matrices are column-major: y[m,n] = a b in row-major order is y' =
// b' a' in column-major order, so its A is dlc's b and its B is dlc's a.
#include "runtime/base/process/Log.h"
#include "runtime/device/Operands.h"
#include "runtime/device/commands/ScaledProduct.h"
#include "runtime/device/cuda/Kinds.h"
#include "runtime/device/cuda/cublaslt/MatmulEpilogue.h"
#include "runtime/plan/Attributes.h"

#include <algorithm>
#include <cstring>

namespace dlc {
namespace {

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

cudaDataType_t cudaType(Float8 format, const Operand &operand) {
  return format == Float8::E4M3   ? CUDA_R_8F_E4M3
         : format == Float8::E5M2 ? CUDA_R_8F_E5M2
                                  : cudaType(typeOf(operand));
}

// Of 8-bit floats: their formats, and the scales of both operands.
struct Float8Operands {
  Float8 a = Float8::None, b = Float8::None;
  const void *scaleA = nullptr, *scaleB = nullptr;
};

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
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, y = nullptr; // dlc's

private:
  const CublasLt &lt_;
};

// One strided batch of products; `a`, `b` and `y` are its first matrices, and
// all matrices of y have `bytes`.
struct Launch {
  std::byte *a, *b, *y;
  int64_t bytes;
};

class Matmul final : public Command {
public:
  Matmul(CudaDevice &device, Libraries::Blas blas, const CommandSpec &spec,
         const Epilogue &epilogue, LtEpilogue ltEpilogue,
         const Float8Operands &float8)
      : device_(device), blas_(blas), name_(describe(spec)),
        epilogue_(epilogue), ltEpilogue_(ltEpilogue), float8_(float8),
        descriptors_(*blas.functions),
        isDouble_(typeOf(spec.outputs[0]) == plan::F64) {}

  Status build(const CommandSpec &spec, const Product &p);
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
  Status describeEpilogue();
  Status setPointers(const void *vector, const void *kept);
  Status describeScales();
  Status layout(cublasLtMatrixLayout_t &to, cudaDataType_t type, int64_t rows,
                int64_t columns, int32_t batch, int64_t stride);
  TuneKey keyOf(const CommandSpec &spec) const;
  Result<std::vector<cublasLtMatmulHeuristicResult_t>> candidates(int most);
  Status measure(const TuneKey &key,
                 std::span<const cublasLtMatmulHeuristicResult_t> found);
  Status choose(const CommandSpec &spec);
  Status launch(const Launch &launch, const cublasLtMatmulAlgo_t &algorithm);

  CudaDevice &device_;
  Libraries::Blas blas_;
  std::string name_;
  Epilogue epilogue_;
  LtEpilogue ltEpilogue_;
  Float8Operands float8_;
  Descriptors descriptors_;
  cublasLtMatmulAlgo_t algorithm_;
  std::vector<Launch> launches_;
  bool isDouble_;
};

// Sets the addresses of the bias or its gradient, and of the stored operand of
// the activation.
Status Matmul::setPointers(const void *vector, const void *kept) {
  if (vector)
    DLC_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector));
  if (kept)
    DLC_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept));
  return {};
}

// The choice of algorithms also depends on the alignment of these pointers.
Status Matmul::describeEpilogue() {
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, ltEpilogue_.value));
  const auto &vector = epilogue_.bias ? epilogue_.bias : epilogue_.biasGradient;
  if (vector)
    DLC_TRY(
        set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cudaType(typeOf(*vector))));
  if (epilogue_.kept)
    DLC_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
                shapeOf(*epilogue_.kept).back()));
  return setPointers(vector ? vector->data : nullptr,
                     epilogue_.kept ? epilogue_.kept->data : nullptr);
}

// The library's A is dlc's b. Its scales multiply, as dlc's do.
Status Matmul::describeScales() {
  if (!float8_.scaleA)
    return {};
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, float8_.scaleB));
  return set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, float8_.scaleA);
}

// Describes a row-major matrix of `rows` x `columns`, with `stride` elements
// between the matrices of a batch.
Status Matmul::layout(cublasLtMatrixLayout_t &to, cudaDataType_t type,
                      int64_t rows, int64_t columns, int32_t batch,
                      int64_t stride) {
  const CublasLt &lt = *blas_.functions;
  DLC_TRY(
      check(lt.cublasLtMatrixLayoutCreate(&to, type, columns, rows, columns),
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

// The last batch dimension is the library's; others become separate launches.
Status Matmul::build(const CommandSpec &spec, const Product &p) {
  const CublasLt &lt = *blas_.functions;
  const bool tf32 =
      device_.tuner().options().tf32 && typeOf(spec.inputs[0]) == plan::F32;
  DLC_TRY(
      check(lt.cublasLtMatmulDescCreate(&descriptors_.desc,
                                        isDouble_ ? CUBLAS_COMPUTE_64F
                                        : tf32    ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                  : CUBLAS_COMPUTE_32F,
                                        isDouble_ ? CUDA_R_64F : CUDA_R_32F),
            "cublasLtMatmulDescCreate"));
  const cublasOperation_t plain = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, p.transB ? transposed : plain));
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, p.transA ? transposed : plain));
  DLC_TRY(describeEpilogue());
  DLC_TRY(describeScales());
  const int64_t inner = p.batchY.empty() ? 1 : p.batchY.back();
  const auto stride = [](const Shape &batch, int64_t elements) {
    return batch.empty() || batch.back() == 1 ? 0 : elements;
  };
  DLC_TRY(layout(descriptors_.a, cudaType(float8_.a, spec.inputs[0]),
                 p.transA ? p.k : p.m, p.transA ? p.m : p.k,
                 static_cast<int32_t>(inner), stride(p.batchA, p.m * p.k)));
  DLC_TRY(layout(descriptors_.b, cudaType(float8_.b, spec.inputs[1]),
                 p.transB ? p.n : p.k, p.transB ? p.k : p.n,
                 static_cast<int32_t>(inner), stride(p.batchB, p.k * p.n)));
  DLC_TRY(layout(descriptors_.y, cudaType(typeOf(spec.outputs[0])), p.m, p.n,
                 static_cast<int32_t>(inner), p.m * p.n));
  const auto at = [](const Operand &operand, int64_t matrix, int64_t size) {
    return operand.data + matrix * size * elementSize(typeOf(operand));
  };
  for (int64_t i = 0; i < countOf(p.batchY); i += inner)
    launches_.push_back(
        {at(spec.inputs[0], matrixIndex(i, p.batchY, p.batchA), p.m * p.k),
         at(spec.inputs[1], matrixIndex(i, p.batchY, p.batchB), p.k * p.n),
         at(spec.outputs[0], i, p.m * p.n),
         inner * p.m * p.n * elementSize(typeOf(spec.outputs[0]))});
  return choose(spec);
}

uint32_t alignmentOf(const std::byte *data) {
  const uintptr_t bits = 256 | reinterpret_cast<uintptr_t>(data);
  return static_cast<uint32_t>(bits & -bits);
}

// The largest power of two, at most 256, that divides all addresses.
uint32_t alignmentOf(const std::vector<Launch> &launches,
                     std::byte *Launch::*member) {
  uintptr_t bits = 256;
  for (const Launch &launch : launches)
    bits |= reinterpret_cast<uintptr_t>(launch.*member);
  return static_cast<uint32_t>(bits & -bits);
}

// The library's first choices, best first; at least one.
Result<std::vector<cublasLtMatmulHeuristicResult_t>>
Matmul::candidates(int most) {
  const CublasLt &lt = *blas_.functions;
  const TuneOptions &options = device_.tuner().options();
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
  DLC_TRY(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, options.workspace));
  if (options.deterministic) // partial sums: f32 in a fixed order
    DLC_TRY(prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  // The default is 256 bytes, which buffers inside of a region may not have.
  DLC_TRY(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                 alignmentOf(launches_, &Launch::b)));
  DLC_TRY(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                 alignmentOf(launches_, &Launch::a)));
  for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    DLC_TRY(prefer(attribute, alignmentOf(launches_, &Launch::y)));
  std::vector<cublasLtMatmulHeuristicResult_t> results(
      static_cast<size_t>(most));
  int found = 0;
  const cublasStatus_t status = lt.cublasLtMatmulAlgoGetHeuristic(
      blas_.handle, descriptors_.desc, descriptors_.b, descriptors_.a,
      descriptors_.y, descriptors_.y, raw, most, results.data(), &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED)
    DLC_TRY(check(status, "cublasLtMatmulAlgoGetHeuristic"));
  results.resize(static_cast<size_t>(found));
  std::erase_if(results, [](const cublasLtMatmulHeuristicResult_t &result) {
    return result.state != CUBLAS_STATUS_SUCCESS;
  });
  if (!results.empty())
    return results;
  // Ops that the compiler fused can also run separately.
  const bool isChoice = ltEpilogue_.value != CUBLASLT_EPILOGUE_DEFAULT &&
                        ltEpilogue_.value != CUBLASLT_EPILOGUE_BIAS;
  const char *wayOut = isChoice ? "; compile with --matmul-epilogues=off"
                       : float8_.scaleA ? "; compile with --amp-dtype=bf16"
                                        : "";
  return incompatible("{}: cuBLASLt {} has no algorithm for it{} on {}{}",
                      name_, lt.version(),
                      isChoice ? fmt::format(" with {}", ltEpilogue_.name) : "",
                      device_.context().properties().name, wayOut);
}

// All parameters of the product that the library gets.
TuneKey Matmul::keyOf(const CommandSpec &spec) const {
  TuneKey key = device_.tuner().key();
  key.add("op", spec.command.kind())
      .add("cublaslt", blas_.functions->version());
  const auto add = [&](const char *name, const Operand &operand,
                       std::byte *Launch::*member) {
    key.add(name, {{"dims", shapeOf(operand)},
                   {"dtype", static_cast<int>(typeOf(operand))},
                   {"alignment", alignmentOf(launches_, member)}});
  };
  add("a", spec.inputs[0], &Launch::a);
  add("b", spec.inputs[1], &Launch::b);
  add("y", spec.outputs[0], &Launch::y);
  if (epilogue_.biasGradient)
    key.add("sum", ltEpilogue_.name);
  const auto align = [&](const char *name,
                         const std::optional<Operand> &operand) {
    if (operand)
      key.add(name, alignmentOf(operand->data));
  };
  align("vector_alignment",
        epilogue_.bias ? epilogue_.bias : epilogue_.biasGradient);
  align("kept_alignment", epilogue_.kept);
  for (const plan::Attribute &attribute : spec.command.attributes())
    key.add("attribute." + attribute.name(), plan::valueText(attribute));
  return key;
}

// An algorithm is 64 bytes that only the same version of the library can read.
static std::string blobOf(const cublasLtMatmulAlgo_t &algorithm) {
  return {reinterpret_cast<const char *>(&algorithm), sizeof algorithm};
}

// The draft has room for all results.
Status Matmul::measure(const TuneKey &key,
                       std::span<const cublasLtMatmulHeuristicResult_t> found) {
  const Operand *const kept = epilogue_.kept ? &*epilogue_.kept : nullptr;
  const Operand *const sums =
      epilogue_.biasGradient ? &*epilogue_.biasGradient : nullptr;
  const auto sizeOf = [](const Operand *operand) -> uint64_t {
    return operand ? static_cast<uint64_t>(bytes(*operand)) : 0;
  };
  const uint64_t keptAt =
      alignedBytes(static_cast<uint64_t>(launches_.front().bytes));
  const uint64_t sumsAt = keptAt + alignedBytes(sizeOf(kept));
  const uint64_t size = sumsAt + sizeOf(sums);
  uint64_t workspace = 0;
  std::vector<Candidate> all;
  for (const cublasLtMatmulHeuristicResult_t &result : found) {
    workspace = std::max<uint64_t>(workspace, result.workspaceSize);
    Candidate candidate;
    candidate.entry.engine = "cublasLt";
    candidate.entry.blob = blobOf(result.algo);
    candidate.entry.workspace = result.workspaceSize;
    candidate.enqueue = [=, this, &result](CUdeviceptr draft) -> Status {
      Launch instead = launches_.front();
      instead.y = reinterpret_cast<std::byte *>(draft);
      DLC_TRY(setPointers(sums ? instead.y + sumsAt : nullptr,
                          kept ? instead.y + keptAt : nullptr));
      return launch(instead, result.algo);
    };
    all.push_back(std::move(candidate));
  }
  DLC_TRY(device_.memoryPool().reserveWorkspace(workspace));
  DLC_ASSIGN(const size_t best, device_.tuner().measure(key, name_, size, all));
  algorithm_ = found[best].algo;
  return setPointers(sums ? sums->data : nullptr, kept ? kept->data : nullptr);
}

Status Matmul::choose(const CommandSpec &spec) {
  const Tuner &tuner = device_.tuner();
  const TuneKey key = keyOf(spec);
  if (const auto entry = tuner.find(key, name_);
      entry && entry->blob.size() == sizeof algorithm_) {
    cublasLtMatmulHeuristicResult_t result = {};
    std::memcpy(&algorithm_, entry->blob.data(), sizeof algorithm_);
    if (blas_.functions->cublasLtMatmulAlgoCheck(
            blas_.handle, descriptors_.desc, descriptors_.b, descriptors_.a,
            descriptors_.y, descriptors_.y, &algorithm_,
            &result) == CUBLAS_STATUS_SUCCESS)
      return device_.memoryPool().reserveWorkspace(result.workspaceSize);
    warning("{}: cuBLASLt refuses the algorithm that was measured; it chooses "
            "again",
            name_);
  }
  DLC_ASSIGN(const auto found,
             candidates(tuner.measures() ? tuner.options().candidates : 1));
  if (found.size() > 1)
    return measure(key, found);
  algorithm_ = found[0].algo;
  return device_.memoryPool().reserveWorkspace(found[0].workspaceSize);
}

Status Matmul::launch(const Launch &launch,
                      const cublasLtMatmulAlgo_t &algorithm) {
  const float one = 1, zero = 0;
  const double oneDouble = 1, zeroDouble = 0;
  const void *alpha = isDouble_ ? static_cast<const void *>(&oneDouble) : &one;
  const void *beta = isDouble_ ? static_cast<const void *>(&zeroDouble) : &zero;
  GpuMemory &memory = device_.memoryPool();
  return check(blas_.functions->cublasLtMatmul(
                   blas_.handle, descriptors_.desc, alpha, launch.b,
                   descriptors_.b, launch.a, descriptors_.a, beta, launch.y,
                   descriptors_.y, launch.y, descriptors_.y, &algorithm,
                   reinterpret_cast<void *>(memory.workspace()),
                   memory.workspaceBytes(),
                   reinterpret_cast<cudaStream_t>(device_.context().compute())),
               "cublasLtMatmul");
}

Status Matmul::enqueue() {
  for (const Launch &one : launches_)
    DLC_TRY(launch(one, algorithm_));
  return {};
}

Result<std::unique_ptr<Command>>
build(CudaDevice &device, const CommandSpec &spec, const Product &product,
      const Epilogue &epilogue, const Float8Operands &float8 = {}) {
  DLC_ASSIGN(const LtEpilogue ltEpilogue, ltEpilogueOf(spec, epilogue));
  auto blas = device.libraries().cublasLt();
  if (!blas.ok())
    return blas.status().withContext(describe(spec));
  auto command = std::make_unique<Matmul>(device, *blas, spec, epilogue,
                                          ltEpilogue, float8);
  DLC_TRY(command->build(spec, product));
  return std::unique_ptr<Command>(std::move(command));
}

Result<std::unique_ptr<Command>> bindScaledMatmul(CudaDevice &device,
                                                  const CommandSpec &spec) {
  DLC_ASSIGN(const ScaledProduct p, scaledProductOf(spec));
  return build(device, spec, p.product, p.epilogue,
               {p.formatA, p.formatB, p.scaleA.data, p.scaleB.data});
}

// Numbers of inputs and outputs besides the bias.
template <int kInputs, int kOutputs>
Result<std::unique_ptr<Command>> bindMatmul(CudaDevice &device,
                                            const CommandSpec &spec) {
  const bool hasBias = plan::intAttribute(spec.command, "has_bias", 0);
  DLC_TRY(expectOperands(spec, kInputs + hasBias, kOutputs));
  DLC_TRY(
      expectFloats(spec, {spec.inputs[0], spec.inputs[1], spec.outputs[0]}));
  DLC_ASSIGN(Product product, productOf(spec, hasBias));
  if (elements(spec.outputs[0]) == 0)
    return bindZeros(device, spec);
  simplify(product);
  DLC_ASSIGN(const Epilogue epilogue, epilogueOf(spec, product));
  return build(device, spec, product, epilogue);
}

constexpr GpuKind kMatmulKinds[] = {{"matmul", bindMatmul<2, 1>},
                                    {"matmul_activation", bindMatmul<2, 2>},
                                    {"matmul_bias_backward", bindMatmul<2, 2>},
                                    {"scaled_matmul", bindScaledMatmul}};

} // namespace

std::span<const GpuKind> gpuMatmulKinds() { return kMatmulKinds; }

} // namespace dlc
