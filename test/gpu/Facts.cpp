// SPDX-License-Identifier: Apache-2.0
// gpu-facts FILE: what can only be asked of a GPU and its libraries, as JSON
// and as lines: versions and paths, cuDNN's device properties (with which plans
// can be made without a GPU), its running variance, the form of cuBLASLt's
// GELU, and for which convolutions, products and attention there are engines,
// also deterministic ones.
#include "test/gpu/Facts.h"
#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"
#include "test/gpu/Gpu.h"

#include <cublasLt.h>
#include <cudnn.h>
#include <nccl.h>

namespace dlc::test {
namespace {

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
  fmt::print("running variance of cuDNN: {}\n",
             facts["cudnn_running_variance"].dump());
  for (const char *type : {"f32", "f16"})
    fmt::print("GELU of cuBLASLt in {}: {}\n", type,
               facts["cublaslt_gelu"][type].dump());
}

// What there is no engine for, and what gives other bytes from run to run.
void print(const char *what, const Ordered &list) {
  size_t missing = 0, changing = 0, unrecorded = 0;
  for (const auto &entry : list) {
    if (entry.contains("missing") && ++missing <= 10)
      fmt::print("no engine: {}\n", entry.dump());
    if (entry.value("same_bytes", true) == false && ++changing <= 10)
      fmt::print("other bytes from run to run: {}\n", entry.dump());
    if (!entry.contains("missing") &&
        !entry.value("recorded_same_bytes", false) && ++unrecorded <= 10)
      fmt::print("not in a recording, or with other bytes: {}\n", entry.dump());
  }
  fmt::print("{}: {} of {} have an engine, {} not with the same bytes each "
             "time, {} not in a recording\n",
             what, list.size() - missing, list.size(), changing, unrecorded);
}

// In one mode, by kind.
Ordered engineFacts(const char *mode, bool all) {
  Ordered engines = {{"convolutions", convolutionFacts(all)},
                     {"products", productFacts()},
                     {"attention", attentionFacts()},
                     {"norms", normFacts()}};
  for (const auto &[kind, list] : engines.items())
    print(fmt::format("{}{}", kind, mode).c_str(), list);
  return engines;
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
  // What follows may take long: each part is kept.
  Status status;
  const auto keep = [&](const char *name, Ordered part) {
    facts[name] = std::move(part);
    if (status.ok())
      status = writeFileAtomically(argv[1], facts.dump(1) + "\n");
  };
  keep("cudnn_running_variance", runningVarianceFacts());
  keep("cublaslt_gelu",
       {{"f32", geluFacts(plan::F32)}, {"f16", geluFacts(plan::F16)}});
  print(facts);
  keep("reopened", reopenFacts());
  keep("engines", engineFacts("", true));
  keep("chosen_by_flush", flushFacts());
  TuneOptions tune;
  tune.deterministic = true;
  (void)gpu(tune);
  keep("deterministic_engines", engineFacts(", deterministic", false));
  if (!status.ok())
    fmt::print(stderr, "{}\n", status.message());
  closeGpu();
  return static_cast<int>(status.code());
}

} // namespace
} // namespace dlc::test

int main(int argc, char **argv) { return dlc::test::run(argc, argv); }
