// gpu-facts FILE: what can only be asked of a GPU and its libraries, as JSON
// and as lines: versions and paths, cuDNN's device properties (with which plans
// can be made without a GPU), the form of cuBLASLt's GELU, and which
// convolutions cuDNN has engines for.
#include "runtime/base/Files.h"
#include "runtime/base/Json.h"
#include "test/gpu/Gpu.h"

#include <cudnn.h>
#include <nccl.h>

#include <chrono>
#include <cmath>

namespace dlc::test {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered gpuFacts() {
  const GpuContext &context = gpu().context();
  const GpuProperties &p = context.properties();
  return {{"name", p.name},
          {"sm", p.sm},
          {"multiprocessors", p.multiprocessors},
          {"shared_per_block", p.sharedPerBlock},
          {"memory", p.memory},
          {"driver_cuda", context.driver().versionText()}};
}

// {"path", "version"}, or {"missing": why}.
template <class Version>
Ordered libraryFacts(const char *name, const char *symbol, Version version) {
  auto library = SharedLibrary::open({name}, "asked for its version");
  if (!library)
    return {{"missing", library.status().message()}};
  void *function = library->find(symbol);
  return {{"path", library->path()},
          {"version", function ? version(function) : Ordered(nullptr)}};
}

Ordered librariesFacts() {
  const auto size = [](void *f) {
    return Ordered(reinterpret_cast<size_t (*)()>(f)());
  };
  const auto throughPointer = [](void *f) {
    int version = 0;
    reinterpret_cast<int (*)(int *)>(f)(&version);
    return Ordered(version);
  };
  const std::string blas = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  return {
      {"libcuda.so.1",
       libraryFacts("libcuda.so.1", "cuDriverGetVersion", throughPointer)},
      {"libcudnn.so.9", libraryFacts("libcudnn.so.9", "cudnnGetVersion", size)},
      {blas, libraryFacts(blas.c_str(), "cublasLtGetVersion", size)},
      {"libnccl.so.2",
       libraryFacts("libnccl.so.2", "ncclGetVersion", throughPointer)}};
}

// The documented way: a descriptor of device 0, finalized, as JSON.
Result<std::string> deviceProperties() {
  DLC_ASSIGN(const SharedLibrary library,
             SharedLibrary::open({"libcudnn.so.9"}, "asked for the device"));
  decltype(&::cudnnBackendCreateDescriptor) create = nullptr;
  decltype(&::cudnnBackendSetAttribute) set = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendGetAttribute) get = nullptr;
  const std::string version = "9";
  DLC_TRY(library.bind(create, "cudnnBackendCreateDescriptor", version, "9.8"));
  DLC_TRY(library.bind(set, "cudnnBackendSetAttribute", version, "9.8"));
  DLC_TRY(library.bind(finalize, "cudnnBackendFinalize", version, "9.8"));
  DLC_TRY(library.bind(get, "cudnnBackendGetAttribute", version, "9.8"));
  cudnnBackendDescriptor_t device = nullptr;
  int32_t ordinal = 0;
  int64_t size = 0;
  const auto attribute = CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION;
  cudnnStatus_t status = create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device);
  if (status == CUDNN_STATUS_SUCCESS)
    status = set(device, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1,
                 &ordinal);
  if (status == CUDNN_STATUS_SUCCESS)
    status = finalize(device);
  if (status == CUDNN_STATUS_SUCCESS)
    status = get(device, attribute, CUDNN_TYPE_CHAR, 0, &size, nullptr);
  std::string text(static_cast<size_t>(size), '\0');
  if (status == CUDNN_STATUS_SUCCESS)
    status = get(device, attribute, CUDNN_TYPE_CHAR, size, &size, text.data());
  if (status != CUDNN_STATUS_SUCCESS)
    return failed("{}: device properties: status {}", library.path(),
                  static_cast<int>(status));
  return text.substr(0, text.find('\0'));
}

Ordered propertiesFacts() {
  auto text = deviceProperties();
  if (!text)
    return {{"missing", text.status().message()}};
  auto json = Ordered::parse(*text, nullptr, false);
  return json.is_discarded() ? Ordered(*text) : json;
}

// A command on fresh memory of the GPU.
class Trial {
public:
  explicit Trial(const char *kind) {
    command_.set_kind(kind);
    command_.set_label("trial");
  }
  void add(plan::DType type, const std::vector<int64_t> &shape, bool output) {
    auto made = std::make_unique<plan::TensorType>();
    made->set_dtype(type);
    for (int64_t dim : shape)
      made->add_shape(dim);
    uint64_t bytes = type == plan::F32 ? 4 : 2;
    for (int64_t dim : shape)
      bytes *= static_cast<uint64_t>(dim);
    (output ? outputs_ : inputs_)
        .push_back({*gpu().allocate(bytes, "trial"), made.get()});
    types_.push_back(std::move(made));
  }
  plan::Attribute &attribute(const char *name) {
    plan::Attribute &a = *command_.add_attributes();
    a.set_name(name);
    return a;
  }
  void ints(const char *name, std::initializer_list<int64_t> values) {
    for (int64_t value : values)
      attribute_(name).add_values(value);
  }
  std::byte *input(size_t i) const { return inputs_[i].data; }
  std::byte *output(size_t i) const { return outputs_[i].data; }

  Result<std::unique_ptr<Command>> bind() {
    return gpu().bind({command_, inputs_, outputs_});
  }

private:
  plan::Attribute::Ints &attribute_(const char *name) {
    for (plan::Attribute &a : *command_.mutable_attributes())
      if (a.name() == name)
        return *a.mutable_ints();
    return *attribute(name).mutable_ints();
  }
  plan::Command command_;
  std::vector<std::unique_ptr<plan::TensorType>> types_;
  std::vector<Operand> inputs_, outputs_;
};

// x times one with a GELU behind it, against both forms.
Ordered geluFacts() {
  constexpr int64_t kCount = 1024;
  Trial trial("matmul");
  trial.add(plan::F32, {kCount, 1}, false);
  trial.add(plan::F32, {1, 8}, false);
  trial.add(plan::F32, {kCount, 8}, true);
  trial.attribute("activation").set_s("gelu_tanh");
  std::vector<float> x(kCount), ones(8, 1), y(kCount * 8);
  for (int64_t i = 0; i < kCount; ++i)
    x[static_cast<size_t>(i)] = static_cast<float>(i - kCount / 2) / 100;
  Status status = gpu().upload(trial.input(0), x.data(), x.size() * 4);
  if (status.ok())
    status = gpu().upload(trial.input(1), ones.data(), ones.size() * 4);
  auto bound = trial.bind();
  if (bound && status.ok())
    status = (*bound)->enqueue();
  if (bound && status.ok())
    status = gpu().download(y.data(), trial.output(0), y.size() * 4);
  if (!bound || !status.ok())
    return {{"missing", (bound ? status : bound.status()).message()}};
  double fromTanh = 0, fromErf = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double tanh =
        v / 2 *
        (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
    const double erf = v / 2 * (1 + std::erf(v * 0.7071067811865476));
    fromTanh = std::max(fromTanh, std::fabs(y[8 * i] - tanh));
    fromErf = std::max(fromErf, std::fabs(y[8 * i] - erf));
  }
  return {{"from_tanh", fromTanh},
          {"from_erf", fromErf},
          {"form", fromTanh < fromErf ? "tanh" : "erf"}};
}

Ordered convolution(plan::DType type, int64_t channels, int64_t outputs,
                    const char *kind) {
  const std::vector<int64_t> x = {16, 28, 28, channels},
                             w = {outputs, channels, 3, 3},
                             y = {16, 28, 28, outputs};
  Trial trial(kind);
  if (std::string_view(kind) == "conv") {
    trial.add(type, x, false);
    trial.add(type, w, false);
    trial.add(type, {outputs}, false);
    trial.add(type, y, true);
    trial.attribute("has_bias").set_i(1);
    trial.attribute("activation").set_s("relu");
  } else if (std::string_view(kind) == "conv_backward_data") {
    trial.add(type, y, false);
    trial.add(type, w, false);
    trial.add(type, x, true);
  } else {
    trial.add(type, x, false);
    trial.add(type, y, false);
    trial.add(type, w, true);
  }
  trial.ints("strides", {1, 1});
  trial.ints("pads", {1, 1, 1, 1});
  trial.ints("dilations", {1, 1});
  trial.attribute("group").set_i(1);
  trial.attribute("layout").set_s("nhwc");
  Ordered result = {{"kind", kind},
                    {"type", plan::DType_Name(type)},
                    {"channels", channels},
                    {"outputs", outputs}};
  auto bound = trial.bind();
  const Status status = bound ? (*bound)->enqueue() : bound.status();
  const Status done = gpu().synchronize();
  if (!status.ok() || !done.ok()) {
    result["missing"] = (status.ok() ? done : status).message();
    return result;
  }
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int i = 0; i < 10; ++i)
    (void)(*bound)->enqueue().ok();
  (void)gpu().synchronize().ok();
  result["us"] =
      std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
      10;
  return result;
}

Ordered convolutionFacts() {
  Ordered list = Ordered::array();
  for (const plan::DType type : {plan::F32, plan::BF16, plan::F16})
    for (const int64_t channels : {3, 4, 6, 8, 64})
      for (const int64_t outputs : {6, 64})
        for (const char *kind :
             {"conv", "conv_backward_data", "conv_backward_filter"})
          list.push_back(convolution(type, channels, outputs, kind));
  return list;
}

void print(const Ordered &facts) {
  for (const auto &[name, library] : facts["libraries"].items())
    fmt::print("{}: {}\n", name,
               library.contains("missing")
                   ? "missing: " + library["missing"].get<std::string>()
                   : fmt::format("{} {}", library["version"].dump(),
                                 library["path"].get<std::string>()));
  const auto &properties = facts["cudnn_device_properties"];
  fmt::print("cuDNN's device properties: {}\n",
             properties.is_object() && properties.contains("missing")
                 ? properties["missing"].get<std::string>()
                 : fmt::format("{} bytes", properties.dump().size()));
  fmt::print("GELU of cuBLASLt: {}\n", facts["cublaslt_gelu"].dump());
  size_t missing = 0;
  for (const auto &c : facts["convolutions"])
    if (c.contains("missing") && ++missing <= 10)
      fmt::print("no {} of {} x {} channels in {}: {}\n",
                 c["kind"].get<std::string>(), c["channels"].dump(),
                 c["outputs"].dump(), c["type"].get<std::string>(),
                 c["missing"].get<std::string>());
  fmt::print("{} of {} convolutions have an engine\n",
             facts["convolutions"].size() - missing,
             facts["convolutions"].size());
}

int run(int argc, char **argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: gpu-facts FILE\n");
    return 2;
  }
  if (const int code = findGpu())
    return code;
  Ordered facts = {{"gpu", gpuFacts()},
                   {"libraries", librariesFacts()},
                   {"cudnn_device_properties", propertiesFacts()}};
  const auto save = [&] {
    return writeFileAtomically(argv[1], facts.dump(1) + "\n");
  };
  Status status = save(); // what follows may take long
  facts["cublaslt_gelu"] = geluFacts();
  facts["convolutions"] = convolutionFacts();
  print(facts);
  if (status.ok())
    status = save();
  if (!status.ok())
    fmt::print(stderr, "{}\n", status.message());
  closeGpu();
  return static_cast<int>(status.code());
}

} // namespace
} // namespace dlc::test

int main(int argc, char **argv) { return dlc::test::run(argc, argv); }
