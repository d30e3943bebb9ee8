// SPDX-License-Identifier: Apache-2.0
// Plans of cudnn-frontend. This is the only source that includes it, as its
// headers take half a minute to compile.
#include "runtime/device/cuda/cudnn/Cudnn.h"

#include "runtime/device/cuda/Kinds.h"
#include "runtime/device/cuda/Libraries.h"

#include <optional>

namespace dlc {
static constexpr const char *kNeeds =
    "which convolutions, attention and --norm=library on GPUs need";

static Status checkCuda(const SharedLibrary &library, const Driver &driver) {
  void *version = library.find("cudnnGetCudartVersion");
  return version
             ? driver.checkLibrary(library.path(),
                                   reinterpret_cast<size_t (*)()>(version)())
             : Status();
}
} // namespace dlc

#ifdef DLC_HAS_CUDNN_FRONTEND

#include "runtime/device/cuda/cudnn/CudnnAttention.h"
#include "runtime/device/cuda/cudnn/CudnnNorm.h"

namespace cudnn_frontend {
void *cudnn_dlhandle = nullptr; // set once, by load()
}

namespace dlc {
namespace {

using Numbers = std::vector<int64_t>;

// Spatial dimensions for cuDNN: one becomes two, with height 1.
size_t spatial(const Image &i) { return std::max<size_t>(2, i.dims); }

Numbers behind(Numbers front, const Numbers &sizes) {
  front.insert(front.end(), sizes.begin(), sizes.end());
  return front;
}
// Strides of dense dimensions.
Numbers packed(const Numbers &dims) {
  Numbers strides(dims.size(), 1);
  for (size_t d = dims.size() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * dims[d];
  return strides;
}

// cuDNN lists n, c and then the pixels' dimensions for every layout; strides
// determine it.
Numbers dimsOf(const Image &i) {
  return behind({i.n, i.c}, i.sizes(spatial(i)));
}
Numbers stridesOf(const Image &i) {
  if (!i.channelsLast)
    return packed(dimsOf(i));
  Numbers last = i.sizes(spatial(i));
  last.insert(last.begin(), i.n);
  last.push_back(i.c);
  Numbers strides = packed(last);
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return strides;
}

class ConvBuilder final : public GraphBuilder {
public:
  ConvBuilder(const CommandSpec &spec, const Conv &conv)
      : GraphBuilder(spec, typeOf(spec.inputs[0])), c_(conv) {}

  Status build() override {
    const std::string &kind = spec_.command.kind();
    if (kind == "conv")
      return buildForward();
    if (kind == "conv_backward_data")
      buildBackwardData();
    else
      buildBackwardFilter();
    return {};
  }

private:
  Tensor image(const char *name, const Operand &operand, const Image &image) {
    return tensor(name, operand, dimsOf(image), stridesOf(image));
  }
  Tensor filter(const Operand &operand) {
    return tensor("w", operand, filterDims(), filterStrides());
  }
  Numbers filterStrides() const {
    const Numbers dims = filterDims();
    if (!c_.filtersLast)
      return packed(dims);
    Numbers last = dims; // k, c, r, s become k, r, s, c
    std::rotate(last.begin() + 1, last.begin() + 2, last.end());
    Numbers strides = packed(last);
    std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
    return strides;
  }
  Numbers filterDims() const {
    return behind({c_.y.c, c_.inputs()}, list(&Sliding::kernel));
  }
  Numbers list(int64_t Sliding::*number) const {
    return c_.window.list(spatial(c_.x), number);
  }
  template <class Attributes> Attributes window() const {
    return Attributes()
        .set_pre_padding(list(&Sliding::low))
        .set_post_padding(list(&Sliding::high))
        .set_stride(list(&Sliding::stride))
        .set_dilation(list(&Sliding::dilation));
  }

  Status buildForward() {
    Tensor y = graph.conv_fprop(image("x", spec_.inputs[0], c_.x),
                                filter(spec_.inputs[1]),
                                window<fe::graph::Conv_fprop_attributes>());
    y->set_dim(dimsOf(c_.y)).set_stride(stridesOf(c_.y));
    if (spec_.inputs.size() > 2) {
      const size_t pixels = spatial(c_.y);
      Tensor bias = tensor("bias", spec_.inputs[2],
                           behind({1, c_.y.c}, Numbers(pixels, 1)),
                           behind({c_.y.c, 1}, Numbers(pixels, c_.y.c)));
      y = graph.pointwise(
          y, bias,
          fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
    }
    output(y, 0, dimsOf(c_.y), stridesOf(c_.y));
    return {};
  }
  void buildBackwardData() {
    const Tensor dx = graph.conv_dgrad(
        image("dy", spec_.inputs[0], c_.y), filter(spec_.inputs[1]),
        window<fe::graph::Conv_dgrad_attributes>());
    output(dx, 0, dimsOf(c_.x), stridesOf(c_.x));
  }
  void buildBackwardFilter() {
    const Tensor dw = graph.conv_wgrad(
        image("dy", spec_.inputs[1], c_.y), image("x", spec_.inputs[0], c_.x),
        window<fe::graph::Conv_wgrad_attributes>());
    output(dw, 0, filterDims(), filterStrides());
  }

  const Conv c_;
};

MakeBuilder convBuilder(const Conv &conv) {
  return [=](const CommandSpec &spec) {
    return std::make_unique<ConvBuilder>(spec, conv);
  };
}

Status statusOf(const CommandSpec &spec, fe::error_t error) {
  return error.is_good() ? Status()
                         : incompatible(spec, "cuDNN: " + error.get_message());
}

// Runs `body`; exceptions of the frontend become a Status.
template <class F> Status guard(const CommandSpec &spec, F &&body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return incompatible(spec, fmt::format("cuDNN: {}", error.what()));
  }
}

// A described GPU that is not in this machine; null: the current one.
using Described = std::shared_ptr<const fe::DeviceProperties>;

// Without a description the frontend would ask the CUDA runtime for the GPU,
// and use it for memory that some versions want to initialise before a command.
Status buildOperations(GraphBuilder &builder, const CommandSpec &spec,
                       cudnnHandle_t handle, int sm,
                       const Described &device = nullptr) {
  builder.graph.set_sm_version(sm);
  if (device)
    builder.graph.set_device_properties(device);
  DLC_TRY(builder.build());
  DLC_TRY(statusOf(spec, builder.graph.validate()));
  DLC_TRY(statusOf(spec, builder.graph.build_operation_graph(handle)));
  if (builder.graph.touchesMemory())
    return incompatible(
        spec, fmt::format("cuDNN {} wants memory set before it by the CUDA "
                          "runtime, which is not used; update cuDNN to 9.16 or "
                          "newer, or compile with --attention=generated",
                          fe::detail::get_backend_version()));
  return {};
}

class Graph final : public CudnnGraph {
public:
  Graph(cudnnHandle_t handle, int sm, const CommandSpec &spec, MakeBuilder make,
        Described device = nullptr)
      : handle_(handle), sm_(sm), spec_(spec), make_(std::move(make)),
        device_(std::move(device)) {}

  // Without plans; those built before are dropped.
  Status open() {
    return guard(spec_, [&] {
      plans_.clear();
      builder_ = make_(spec_);
      return buildOperations(*builder_, spec_, handle_, sm_, device_);
    });
  }

  Result<std::vector<TuneEntry>> propose(const CudnnLimits &limits) override {
    std::vector<TuneEntry> entries;
    DLC_TRY(open());
    DLC_TRY(guard(spec_, [&]() -> Status {
      DLC_TRY(
          statusOf(spec_, graph().create_execution_plans(
                              {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK})));
      bar(limits);
      for (int64_t i = 0; i < graph().get_execution_plan_count() &&
                          entries.size() < static_cast<size_t>(limits.plans);
           ++i)
        if (graph().build_plan_at_index(i).is_good())
          DLC_TRY(add(i, limits, entries));
      return {};
    }));
    if (entries.empty())
      return noPlan(limits);
    return entries;
  }
  Status noPlan(const CudnnLimits &limits) {
    const Status nvrtc = openNvrtc().status();
    return incompatible(
        spec_,
        fmt::format("cuDNN {}: none of its {} plans builds with {} bytes of "
                    "scratch{}{}{}",
                    fe::detail::get_backend_version(),
                    graph().get_execution_plan_count(), limits.workspace,
                    limits.deterministic ? ", deterministic" : "",
                    nvrtc.ok() ? "" : "; ", nvrtc.message()));
  }

  Result<uint64_t> restore(const TuneEntry &entry, bool fromBlob) override {
    DLC_TRY(open());
    DLC_TRY(guard(spec_, [&]() -> Status {
      if (fromBlob)
        return statusOf(spec_, graph().buildFrom(handle_, entry.blob));
      std::unordered_map<fe::KnobType_t, int64_t> knobs;
      for (const auto &[name, value] : entry.knobs)
        knobs[static_cast<fe::KnobType_t>(std::stoi(name))] = value;
      DLC_TRY(statusOf(spec_, graph().create_execution_plan(
                                  std::stoll(entry.engine), knobs)));
      return statusOf(spec_, graph().build_plan_at_index(0));
    }));
    plans_ = {0};
    int64_t bytes = 0;
    DLC_TRY(guard(spec_, [&] {
      return statusOf(spec_,
                      graph().get_workspace_size_plan_at_index(0, bytes));
    }));
    return static_cast<uint64_t>(bytes);
  }

  void keep(size_t plan) override {
    const int64_t kept = plans_[plan];
    for (const int64_t other : plans_)
      if (other != kept)
        graph().release(other);
    plans_ = {kept};
  }

  Status enqueue(size_t plan, std::span<std::byte *const> outputs,
                 CUdeviceptr workspace, CUstream stream) override {
    return guard(spec_, [&]() -> Status {
      if (fe::detail::set_stream(handle_, reinterpret_cast<cudaStream_t>(
                                              stream)) != CUDNN_STATUS_SUCCESS)
        return failed("{}: cudnnSetStream failed", describe(spec_));
      for (const auto &[number, index, offset] : builder_->outputs)
        builder_->addresses[number] = outputs[index] + offset;
      return statusOf(spec_,
                      graph().execute_plan_at_index(
                          handle_, builder_->addresses,
                          reinterpret_cast<void *>(workspace), plans_[plan]));
    });
  }

private:
  PlanGraph &graph() { return builder_->graph; }

  void bar(const CudnnLimits &limits) {
    graph().deselect_workspace_greater_than(
        static_cast<int64_t>(limits.workspace));
    // Exact f32 unless TF32 is allowed: no engine that rounds its inputs.
    if (typeOf(spec_.inputs[0]) == plan::F32 && !limits.tf32)
      graph().deselect_numeric_notes({fe::NumericalNote_t::DOWN_CONVERT_INPUTS,
                                      fe::NumericalNote_t::TENSOR_CORE});
    if (limits.deterministic)
      graph().deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
  }

  // Adds plan `i`, which has been built.
  Status add(int64_t i, const CudnnLimits &limits,
             std::vector<TuneEntry> &entries) {
    int64_t bytes = 0, engine = 0;
    std::unordered_map<fe::KnobType_t, int64_t> knobs;
    DLC_TRY(
        statusOf(spec_, graph().get_workspace_size_plan_at_index(i, bytes)));
    DLC_TRY(statusOf(spec_,
                     graph().get_engine_and_knobs_at_index(i, engine, knobs)));
    TuneEntry entry;
    entry.engine = std::to_string(engine);
    entry.workspace = static_cast<uint64_t>(bytes);
    for (const auto &[knob, value] : knobs)
      entry.knobs[std::to_string(static_cast<int>(knob))] = value;
    if (limits.plans > 1) // it may be stored
      entry.blob = graph().textOf(i);
    plans_.push_back(i);
    entries.push_back(std::move(entry));
    return {};
  }

  cudnnHandle_t handle_;
  const int sm_;
  const CommandSpec spec_;
  const MakeBuilder make_;
  const Described device_;
  std::unique_ptr<GraphBuilder> builder_;
  std::vector<int64_t> plans_; // indices in the graph
};

class Library final : public Cudnn {
public:
  Library(cudnnHandle_t handle, int sm) : handle_(handle), sm_(sm) {}
  ~Library() override { fe::detail::destroy_handle(handle_); }

  size_t version() const override { return fe::detail::get_backend_version(); }
  size_t frontendVersion() const override { return CUDNN_FRONTEND_VERSION; }

  Result<std::unique_ptr<CudnnGraph>> convolution(const CommandSpec &spec,
                                                  const Conv &conv) override {
    return open(spec, convBuilder(conv));
  }
  Result<std::unique_ptr<CudnnGraph>> attention(const CommandSpec &spec,
                                                const Attention &attention,
                                                bool deterministic) override {
    return open(spec, attentionBuilder(attention, deterministic));
  }
  Result<std::unique_ptr<CudnnGraph>> norm(const CommandSpec &spec,
                                           const Norm &norm) override {
    return open(spec, normBuilder(norm));
  }

private:
  Result<std::unique_ptr<CudnnGraph>> open(const CommandSpec &spec,
                                           MakeBuilder make) {
    auto graph = std::make_unique<Graph>(handle_, sm_, spec, std::move(make));
    DLC_TRY(graph->open());
    return std::unique_ptr<CudnnGraph>(std::move(graph));
  }

  cudnnHandle_t handle_;
  const int sm_;
};

Result<SharedLibrary> load() {
  DLC_ASSIGN(SharedLibrary library,
             SharedLibrary::open({"libcudnn.so.9"}, kNeeds));
  fe::cudnn_dlhandle = library.handle();
  return library;
}

} // namespace

Result<std::unique_ptr<Cudnn>> openCudnn(const Driver &driver, int sm) {
  DLC_ASSIGN(const SharedLibrary library, load());
  DLC_TRY(checkCuda(library, driver));
  if (void *standin = library.find("dlcCudnn"))
    return std::unique_ptr<Cudnn>(reinterpret_cast<CudnnFactory>(standin)());
  try {
    cudnnHandle_t handle = nullptr;
    const cudnnStatus_t status = fe::detail::create_handle(&handle);
    if (status != CUDNN_STATUS_SUCCESS)
      return incompatible("cudnnCreate: {} ({})",
                          fe::detail::get_error_string(status), library.path());
    return std::unique_ptr<Cudnn>(std::make_unique<Library>(handle, sm));
  } catch (const std::exception &error) {
    return incompatible("{}: {}", library.path(), error.what());
  }
}

static Status check(const CommandSpec &spec, const MakeBuilder &make, int sm) {
  DLC_TRY(load().status());
  return guard(spec, [&] {
    const auto builder = make(spec);
    return buildOperations(*builder, spec, nullptr, sm);
  });
}

Status checkConvolution(const CommandSpec &spec, const Conv &conv) {
  return check(spec, convBuilder(conv), 90);
}

Status checkAttention(const CommandSpec &spec, const Attention &attention,
                      bool deterministic, int sm) {
  return check(spec, attentionBuilder(attention, deterministic), sm);
}

Status checkNorm(const CommandSpec &spec, const Norm &norm, int sm) {
  return check(spec, normBuilder(norm), sm);
}

static Result<std::vector<TuneEntry>> plansOf(const CommandSpec &spec,
                                              MakeBuilder make,
                                              const CudnnLimits &limits,
                                              const AbsentGpu &gpu) {
  DLC_TRY(load().status());
  auto device = std::make_shared<fe::DeviceProperties>();
  DLC_TRY(guard(spec, [&] {
    return statusOf(
        spec, device->deserialize({gpu.device.begin(), gpu.device.end()}));
  }));
  Graph graph(nullptr, gpu.sm, spec, std::move(make), std::move(device));
  return graph.propose(limits);
}

Result<std::vector<TuneEntry>> plansOfConvolution(const CommandSpec &spec,
                                                  const Conv &conv,
                                                  const CudnnLimits &limits,
                                                  const AbsentGpu &gpu) {
  return plansOf(spec, convBuilder(conv), limits, gpu);
}

Result<std::vector<TuneEntry>> plansOfAttention(const CommandSpec &spec,
                                                const Attention &attention,
                                                const CudnnLimits &limits,
                                                const AbsentGpu &gpu) {
  return plansOf(spec, attentionBuilder(attention, limits.deterministic),
                 limits, gpu);
}

Result<std::vector<TuneEntry>> plansOfNorm(const CommandSpec &spec,
                                           const Norm &norm,
                                           const CudnnLimits &limits,
                                           const AbsentGpu &gpu) {
  return plansOf(spec, normBuilder(norm), limits, gpu);
}

} // namespace dlc

#else

namespace dlc {

constexpr const char *kAbsent = "this build has no cuDNN: it was made without "
                                "cudnn-frontend (tools/requirements.txt)";

// A stand-in does not need the frontend.
Result<std::unique_ptr<Cudnn>> openCudnn(const Driver &driver, int) {
  DLC_ASSIGN(const SharedLibrary library,
             SharedLibrary::open({"libcudnn.so.9"}, kNeeds));
  DLC_TRY(checkCuda(library, driver));
  if (void *standin = library.find("dlcCudnn"))
    return std::unique_ptr<Cudnn>(reinterpret_cast<CudnnFactory>(standin)());
  return incompatible("{}", kAbsent);
}

Status checkConvolution(const CommandSpec &, const Conv &) {
  return incompatible("{}", kAbsent);
}

Status checkAttention(const CommandSpec &, const Attention &, bool, int) {
  return incompatible("{}", kAbsent);
}

Status checkNorm(const CommandSpec &, const Norm &, int) {
  return incompatible("{}", kAbsent);
}

Result<std::vector<TuneEntry>> plansOfConvolution(const CommandSpec &,
                                                  const Conv &,
                                                  const CudnnLimits &,
                                                  const AbsentGpu &) {
  return incompatible("{}", kAbsent);
}

Result<std::vector<TuneEntry>> plansOfAttention(const CommandSpec &,
                                                const Attention &,
                                                const CudnnLimits &,
                                                const AbsentGpu &) {
  return incompatible("{}", kAbsent);
}

Result<std::vector<TuneEntry>> plansOfNorm(const CommandSpec &, const Norm &,
                                           const CudnnLimits &,
                                           const AbsentGpu &) {
  return incompatible("{}", kAbsent);
}

} // namespace dlc

#endif
