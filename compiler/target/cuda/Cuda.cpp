// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/Cuda.h"
#include "compiler/target/cuda/Limits.h"
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "compiler/target/cuda/codegen/Tiling.h"
#include "runtime/base/Json.h"
#include "runtime/plan/Figures.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;

namespace dlc {
namespace {

/// Measured on an H200: seconds between the starts of small kernels in a graph,
/// and of small products by the library. Assumed: latency of a tile from memory
/// to the tensor cores without other traffic; bytes/s between multiprocessors
/// and the L2 cache.
constexpr double kLaunch = 1.3e-6, kSmallProduct = 4e-6, kTile = 0.6e-6,
                 kCache = 3.8e12;
constexpr int64_t kResidentBlocks = 4;
/// Threads that compute a product and reduce its rows, which need registers.
constexpr int64_t kResidentThreads = 512;

/// One plan is used for all SMs of an artifact: times are those of the median.
const GpuFigures &figuresOf(const Words &sms) {
  SmallVector<int> numbers;
  for (StringRef word : sms)
    if (int sm = 0; !word.getAsInteger(10, sm))
      numbers.push_back(sm);
  llvm::sort(numbers);
  return gpuFigures(numbers.empty() ? 0 : numbers[numbers.size() / 2]);
}

/// Registers and memory of each kernel, as reported by ptxas.
Json resourcesOf(const cuda::Image &image) {
  Json kernels = Json::object();
  for (const cuda::KernelResources &r : image.cubin.resources)
    kernels[r.kernel] = {{"registers", r.registers},
                         {"shared", r.shared},
                         {"stack", r.stack},
                         {"spilled", r.stores + r.loads}};
  return kernels;
}

/// An H200 compares 7e12 pairs a second, about four instructions each, and
/// moves 2e11 elements of a table: 24 bytes of gradient, weight and moment.
constexpr double kPairsPerElement = 32;

class Cuda final : public Target {
public:
  explicit Cuda(const TargetOptions &options)
      : options(options), gpu(figuresOf(options.sm)) {}

  StringRef name() const override { return "cuda"; }
  LoweringTraits lowering() const override {
    return {.filtersLast = true,
            .fewOutputs = 16384,
            .repeatsCheapOps = true,
            .computesInWindows = true,
            .storesSummed = true,
            .packsMasks = true,
            .fewLaunches = true,
            .blocksFewChannels = true,
            .joinsAttention = true,
            .pairsPerElement = kPairsPerElement};
  }

  bool chooses(StringRef row) const override {
    return llvm::is_contained<StringRef>(
        {"attention", "norm", "matmul", "matmul-epilogue"}, row);
  }
  Ways waysOf(ir::PlaceableInterface op) const override {
    return TypeSwitch<Operation *, Ways>(op)
        .Case([&](ir::MatmulOp o) { return waysOfProduct(*AsProduct::of(o)); })
        .Case<ir::AttentionOp, ir::AttentionBackwardOp>([&](auto o) {
          return waysOfAttention(ir::AttentionDims::of(o),
                                 ir::elementType(o.getQ()));
        })
        .Default([&](Operation *) { return cuda::waysOf(op); });
  }
  Ways waysOfProduct(const AsProduct &product) const override {
    if (!ir::isHalf(ir::elementType(product.y)))
      return {{By::Library},
              {By::Generated, "generated kernels multiply 16-bit floats only"}};
    const double bytes = trafficOf(product.op);
    return {{By::Library, "", "",
             libraryProduct(product.shape, bytes, /*sumsToo=*/false)},
            {By::Generated, "", "",
             generatedProduct(product.shape, bytes, {}, {})}};
  }
  Ways waysOfAttention(const ir::AttentionDims &dims,
                       Type element) const override {
    Ways ways = cuda::waysOfAttention(dims, element, options.sm);
    for (Way &way : ways)
      if (element && ir::isHalf(element) && way.whyNot.empty())
        way.seconds = attention(dims, way.by);
    return ways;
  }
  Ways waysOfEpilogue(ir::MatmulOp product, Operation *epilogue,
                      Value kept) const override {
    return cuda::waysOfEpilogue(product, epilogue, kept);
  }
  void fitCall(ir::AttentionOp op) const override {
    if (op.getMask())
      cuda::fitMask(op);
  }

  double streaming(double bytes) const override {
    return kLaunch + bytes / (gpu.bandwidth * kOfBandwidth);
  }
  double libraryProduct(const ProductShape &shape, double bytes,
                        bool sumsToo) const override {
    const double ofPeak = sumsToo ? kOfPeakEpilogue : kOfPeakLibrary;
    return kSmallProduct + std::max(shape.flops() / (gpu.half * ofPeak),
                                    bytes / (gpu.bandwidth * kOfBandwidth));
  }
  double generatedProduct(const ProductShape &shape, double bytes,
                          OperandCost left, OperandCost right) const override {
    const std::optional<Tiling> found = tilingOf(shape);
    if (!found)
      return std::numeric_limits<double>::infinity();
    const Tiling &t = *found;
    const int64_t blocks = t.blocks(shape), steps = t.stepsOfBlock(shape);
    const double tiles = double(blocks) * steps * t.depth;
    const double busy = double(llvm::divideCeil(blocks, gpu.processors)) *
                        gpu.processors / std::max<int64_t>(blocks, 1);
    const double products =
        busy * 2 * tiles * t.rows * t.columns / (gpu.half * kOfPeakGenerated);
    const double operations =
        busy * tiles *
        (t.rows * left.operations + t.columns * right.operations) / gpu.single;
    const double cache =
        tiles * (t.rows * left.bytes + t.columns * right.bytes) / kCache;
    // One more for what is computed from each tile of results.
    const int64_t tilesOfRows = shape.reducesRows ? shape.rows / t.rows : 1,
                  resident = shape.reducesRows ? kResidentThreads / t.threads()
                                               : kResidentBlocks;
    const double latency = kTile * (steps + tilesOfRows) *
                           llvm::divideCeil(blocks, gpu.processors * resident);
    return kLaunch + std::max({products + operations, cache, latency,
                               bytes / (gpu.bandwidth * kOfBandwidth)});
  }

  double secondsOf(Operation *command) const override {
    CommandWork work{.bytes = trafficOf(command)};
    auto isHalf = [](Operation *op) {
      return op->getNumOperands() &&
             ir::isHalf(ir::elementType(op->getOperand(0)));
    };
    auto fused = dyn_cast<ir::FusedOp>(command);
    if (!fused) {
      work.kind = command->getName().stripDialect();
      work.half = isHalf(command);
      work.flops = cast<ir::FlopsInterface>(command).countFlops();
    } else {
      // What is computed by element is hidden by memory accesses.
      for (Operation &op : fused.getBody().front())
        if (auto product = dyn_cast<ir::FlopsInterface>(op)) {
          work.flops += product.countFlops();
          work.tensorCores |= isHalf(&op);
        }
    }
    return kLaunch + dlc::secondsOf(gpu, work);
  }
  double hostCopy(double bytes) const override {
    return copySeconds(gpu, bytes);
  }

  bool runsParts(exec::KernelOp kernel) const override {
    return cuda::runsParts(kernel);
  }
  llvm::LogicalResult mapThreads(ModuleOp module) const override {
    return cuda::mapThreads(module);
  }
  Result<CompiledKernels> generate(ModuleOp module,
                                   plan::Plan &) const override {
    DLC_ASSIGN(std::vector<cuda::Sm> sms, findSms());
    std::string why;
    auto toolkit = cuda::findToolkit(options.toolkit, why);
    if (mlir::failed(toolkit))
      return usageError("--target=cuda: {}", why);
    std::vector<cuda::Image> images;
    if (mlir::failed(cuda::compileKernels(module, sms, *toolkit,
                                          cuda::CudaCodegenOptions(), images)))
      return failed("the kernels cannot be compiled");
    return filesOf(images);
  }

private:
  /// Time of an attention of 16-bit floats and its gradient: seven products of
  /// queries, keys and values, one of which recomputes the scores. Storing the
  /// scores saves that one, but moves them eleven times between kernels.
  double attention(const ir::AttentionDims &d, By by) const {
    constexpr double kBytes = 2;
    const bool keepsScores = by == By::Decomposed;
    const double heads = double(d.batch) * d.heads,
                 scores = heads * d.queries * d.keys,
                 operands =
                     heads * (d.queries + d.keys) * (d.depth + d.valueDepth),
                 products =
                     2 * scores *
                     ((keepsScores ? 3 : 4) * d.depth + 3 * d.valueDepth),
                 peak = by == By::Generated ? kOfPeakGeneratedAttention
                        : keepsScores       ? kOfPeakLibrary
                                            : kOfPeakAttention,
                 computing = products / (gpu.half * peak),
                 bandwidth = gpu.bandwidth * kOfBandwidth;
    if (keepsScores)
      return 8 * kLaunch + computing + 11 * scores * kBytes / bandwidth;
    return 2 * kLaunch + std::max(computing, 3 * operands * kBytes / bandwidth);
  }

  /// Ascending and unique.
  Result<std::vector<cuda::Sm>> findSms() const {
    std::vector<cuda::Sm> sms;
    std::string why;
    for (const std::string &number : options.sm) {
      auto sm = cuda::findSm(number, why);
      if (mlir::failed(sm))
        return usageError("--sm: {}", why);
      sms.push_back(*sm);
    }
    llvm::sort(sms, [](auto &a, auto &b) { return a.number < b.number; });
    sms.erase(llvm::unique(
                  sms, [](auto &a, auto &b) { return a.number == b.number; }),
              sms.end());
    return sms;
  }

  /// Machine code for every SM; and PTX, for drivers older than the assembler
  /// that compile it themselves, and for newer SMs.
  static CompiledKernels filesOf(const std::vector<cuda::Image> &images) {
    CompiledKernels result;
    Json resources = Json::object();
    for (const cuda::Image &image : images) {
      const std::string name = "kernels." + image.sm.name();
      result.files[name + ".cubin"] = {image.cubin.bytes.begin(),
                                       image.cubin.bytes.end()};
      resources[image.sm.name()] = resourcesOf(image);
      result.files[name + ".ptx"] = image.ptx;
    }
    result.files["kernels.json"] = dumpJson(resources, 2) + "\n";
    return result;
  }

  const TargetOptions options;
  const GpuFigures &gpu;
};

} // namespace

std::shared_ptr<const Target> makeCudaTarget(const TargetOptions &options) {
  return std::make_shared<Cuda>(options);
}

void addCudaOptions(OptionTable &table, TargetOptions &o) {
  table
      .list("model.sm", o.sm, "N,N",
            "compute capabilities that kernels are compiled for; placement "
            "uses the middle one")
      .only("model.target", {"cuda"})
      .commas = true;
  table
      .text("model.cuda-path", o.toolkit, "FOLDER",
            "folder of the CUDA Toolkit (default: CUDA_HOME, CUDA_PATH or that "
            "of ptxas in PATH)")
      .only("model.target", {"cuda"});
}

Status fitCudaOptions(TargetOptions &o, const Words &capabilities) {
  std::set<int> sms;
  for (const std::string &capability : capabilities) {
    DLC_ASSIGN(const int64_t number, parseCount(capability, 0, 9999));
    if (const int sm = cuda::newestSmFor(int(number)))
      sms.insert(sm);
  }
  if (sms.empty())
    return incompatible("kernels are made for compute capability 8.0 and "
                        "newer, not for --sm={}",
                        llvm::join(capabilities, ","));
  o.sm.clear();
  for (int sm : sms)
    o.sm.push_back(std::to_string(sm));
  std::string why;
  return mlir::failed(cuda::findToolkit(o.toolkit, why))
             ? incompatible("{}", why)
             : Status();
}

} // namespace dlc
