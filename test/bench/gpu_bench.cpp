// SPDX-License-Identifier: Apache-2.0
// gpu-bench: what a GPU makes of a compiled model. Each prints a table and adds
// JSON to FOLDER, one object a file.
//   gpu-bench copy FOLDER                     copy bandwidth of the device
//   gpu-bench step ARTIFACT NAME FOLDER       a training step, and its commands
//   gpu-bench tuned ARTIFACT NAME FOLDER      the same with measured
//   algorithms;
//       DLC_BENCH_CANDIDATES, DLC_BENCH_WORKSPACE_MIB: others than by default
//   gpu-bench deterministic ARTIFACT NAME FOLDER   the step alone
//   gpu-bench kernels PACK FOLDER             kernels of dlc-kernel-pack matrix
//   gpu-bench data ARTIFACT BATCHES FILE.npz  random samples for dlc train
//   gpu-bench shrink|grow ARTIFACT            see GpuArtifacts.h
#include "runtime/base/files/Files.h"
#include "runtime/plan/Figures.h"
#include "runtime/plan/Types.h"
#include "test/bench/GpuArtifacts.h"
#include "test/bench/GpuStep.h"
#include "test/gpu/Gpu.h"
#include "test/gpu/Packs.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>

namespace dlc::bench {
namespace {

using Ordered = nlohmann::ordered_json;

// Commands of fewer bytes stay in the cache while they are repeated.
constexpr uint64_t kLarge = 256 << 20;

Status save(const std::string &folder, const std::string &name,
            const Ordered &json) {
  return writeFileAtomically(folder + "/" + name + ".json",
                             json.dump(1) + "\n");
}

Result<double> knownBandwidth(CudaDevice &device, const std::string &folder) {
  if (auto text = readFile(folder + "/copy.json"); text.ok())
    if (auto json = parseJson(*text); json && json->contains("bytes_per_s"))
      return (*json)["bytes_per_s"].get<double>();
  DLC_ASSIGN(const double bandwidth, copyBandwidth(device));
  const GpuProperties &gpu = device.context().properties();
  DLC_TRY(
      save(folder, "copy",
           {{"gpu", gpu.name}, {"sm", gpu.sm}, {"bytes_per_s", bandwidth}}));
  return bandwidth;
}

bool isHalf(const plan::Program &program) {
  for (const plan::Command &command : program.commands())
    if (command.kind().starts_with("matmul") || command.kind() == "conv")
      for (uint32_t id : command.inputs()) {
        const auto type = program.buffers(static_cast<int>(id)).type().dtype();
        return type == plan::F16 || type == plan::BF16;
      }
  return false;
}

// Rows of equal commands, by name; most time first.
std::vector<TimedCommand> group(const std::vector<TimedCommand> &commands) {
  std::map<std::string, TimedCommand> byName;
  for (const TimedCommand &c : commands) {
    TimedCommand &sum =
        byName.emplace(c.name, TimedCommand{c.name, c.label, c.generated})
            .first->second;
    sum.seconds += c.seconds;
    sum.bytes += c.bytes;
    sum.flops += c.flops;
  }
  std::vector<TimedCommand> rows;
  for (auto &[name, row] : byName)
    rows.push_back(std::move(row));
  std::sort(rows.begin(), rows.end(),
            [](auto &a, auto &b) { return a.seconds > b.seconds; });
  return rows;
}

Ordered rowOf(const TimedCommand &c, double bandwidth) {
  return {{"name", c.name},
          {"ms", 1e3 * c.seconds},
          {"gb_per_s", 1e-9 * double(c.bytes) / c.seconds},
          {"of_copy", double(c.bytes) / c.seconds / bandwidth},
          {"tflop_per_s", 1e-12 * double(c.flops) / c.seconds},
          {"label", c.label.substr(0, 120)}};
}

// Share of copy bandwidth of generated kernels that are too large for the
// cache, by their time.
Ordered bandwidthOfKernels(const std::vector<TimedCommand> &commands,
                           double bandwidth) {
  double seconds = 0, bytes = 0;
  std::vector<TimedCommand> large;
  for (const TimedCommand &c : commands)
    if (c.generated && c.bytes >= kLarge) {
      seconds += c.seconds;
      bytes += double(c.bytes);
      large.push_back(c);
    }
  const auto lost = [&](const TimedCommand &c) {
    return c.seconds - double(c.bytes) / bandwidth;
  };
  std::sort(large.begin(), large.end(),
            [&](auto &a, auto &b) { return lost(a) > lost(b); });
  Ordered worst = Ordered::array();
  for (size_t i = 0; i < std::min<size_t>(large.size(), 15); ++i)
    worst.push_back(rowOf(large[i], bandwidth));
  return {{"kernels", large.size()},
          {"ms", 1e3 * seconds},
          {"of_copy", seconds > 0 ? Ordered(bytes / seconds / bandwidth)
                                  : Ordered(nullptr)},
          {"most_time_lost", worst}};
}

Ordered measuresOf(const Artifact &artifact, const plan::Program &program,
                   const std::vector<TimedCommand> &commands, double step,
                   double bandwidth, int sm) {
  const bool half = isHalf(program);
  double peak = 0, flops = 0, alone = 0, bound = 0, bytes = 0;
  for (const GpuFigures &gpu : allGpuFigures())
    if (gpu.sm == sm)
      peak = half ? gpu.half : gpu.single;
  for (const TimedCommand &c : commands) {
    flops += double(c.flops);
    bytes += double(c.bytes);
    alone += c.seconds;
    const double rate = c.generated || peak == 0 ? 1e30 : peak;
    bound += std::max(double(c.bytes) / bandwidth, double(c.flops) / rate);
  }
  const int64_t batch = artifact.plan().batch();
  Ordered result = {{"batch", batch},
                    {"half", half},
                    {"step_ms", 1e3 * step},
                    {"samples_per_s", double(batch) / step}};
  const plan::TensorType &input =
      program.buffers(static_cast<int>(program.inputs(0).buffer())).type();
  if (!isFloat(*plan::dtypeOf(input.dtype())) && input.shape_size() == 2)
    result["tokens_per_s"] = double(batch * input.shape(1)) / step;
  result["tflop"] = 1e-12 * flops;
  result["gb"] = 1e-9 * bytes;
  result["mfu"] = peak > 0 ? Ordered(flops / step / peak) : Ordered(nullptr);
  result["bound_ms"] = 1e3 * bound;
  result["of_bound"] = bound / step;
  result["commands_alone_ms"] = 1e3 * alone;
  return result;
}

void printRow(const Ordered &row) {
  fmt::print("  {:44.44} {:9.4f} ms {:8.0f} GB/s {:5.0f} % {:7.1f} TFLOP/s\n",
             row["name"].get<std::string>(), row["ms"].get<double>(),
             row["gb_per_s"].get<double>(), 100 * row["of_copy"].get<double>(),
             row["tflop_per_s"].get<double>());
}

void print(const std::string &name, const Ordered &result) {
  for (const auto &row : result["commands"])
    printRow(row);
  fmt::print(
      "{}: {:.3f} ms a step, {:.1f} samples/s, MFU {:.1f} %, bound {:.3f} ms "
      "({:.0f} %), {:.0f} MiB\n",
      name, result["step_ms"].get<double>(),
      result["samples_per_s"].get<double>(),
      100 * (result["mfu"].is_number() ? result["mfu"].get<double>() : 0),
      result["bound_ms"].get<double>(), 100 * result["of_bound"].get<double>(),
      result["memory_mib"].get<double>());
}

// Seconds of a step, recorded and repeated.
Result<double> timeStep(GpuStep &step) {
  const char *wanted = std::getenv("DLC_BENCH_SECONDS"); // of a round
  const double round = wanted ? std::atof(wanted) : 1.0;
  DLC_ASSIGN(const double once, step.time(1, 3));
  return step.time(std::clamp(static_cast<int>(round / once), 2, 500), 5);
}

Status deterministic(const std::string &path, const std::string &name,
                     const std::string &folder) {
  TuneOptions tune;
  tune.deterministic = true;
  CudaDevice &device = test::gpu(tune);
  DLC_ASSIGN(const Artifact artifact, Artifact::open(path));
  DLC_ASSIGN(auto bound, GpuStep::create(device, artifact));
  DLC_TRY(bound->prepare());
  DLC_ASSIGN(const double seconds, timeStep(*bound));
  fmt::print("{}: {:.3f} ms a step, deterministic\n", name, 1e3 * seconds);
  return save(folder, "deterministic-" + name,
              {{"model", name},
               {"by", "dlc --deterministic"},
               {"step_ms", 1e3 * seconds},
               {"samples_per_s", double(artifact.plan().batch()) / seconds}});
}

Status step(const std::string &path, const std::string &name,
            const std::string &folder, bool tuned) {
  TuneOptions tune;
  if (tuned) {
    tune.mode = TuneOptions::Mode::Benchmark;
    if (const char *candidates = std::getenv("DLC_BENCH_CANDIDATES"))
      tune.candidates = std::atoi(candidates);
    if (const char *mebibytes = std::getenv("DLC_BENCH_WORKSPACE_MIB"))
      tune.workspace = std::strtoull(mebibytes, nullptr, 10) << 20;
    tune.cacheFolder = folder + "/cache";
  } else {
    tune.mode = TuneOptions::Mode::Off;
  }
  CudaDevice &device = test::gpu(tune);
  DLC_ASSIGN(const Artifact artifact, Artifact::open(path));
  size_t free = 0, total = 0, left = 0;
  const Driver &driver = device.context().driver();
  DLC_TRY(device.makeCurrent());
  driver.cuMemGetInfo(&free, &total);
  DLC_ASSIGN(auto bound, GpuStep::create(device, artifact));
  DLC_TRY(bound->prepare());
  driver.cuMemGetInfo(&left, &total);
  DLC_ASSIGN(const double seconds, timeStep(*bound));
  const auto loss = bound->scalar("loss");
  DLC_ASSIGN(const auto commands, bound->timeCommands());
  bound.reset();
  DLC_ASSIGN(const double bandwidth, knownBandwidth(device, folder));
  DLC_ASSIGN(const plan::Program *program, trainingStep(artifact.plan()));
  const GpuProperties &gpu = device.context().properties();
  Ordered result = {{"model", name},
                    {"by", tuned ? "dlc" : "dlc --tune=off"},
                    {"gpu", gpu.name}};
  result.update(
      measuresOf(artifact, *program, commands, seconds, bandwidth, gpu.sm));
  result["loss"] = loss ? Ordered(*loss) : Ordered(nullptr);
  result["memory_mib"] = double(free - left) / (1 << 20);
  result["kernels"] = bandwidthOfKernels(commands, bandwidth);
  result["commands"] = Ordered::array();
  const auto rows = group(commands);
  for (size_t i = 0; i < std::min<size_t>(rows.size(), 25); ++i)
    result["commands"].push_back(rowOf(rows[i], bandwidth));
  for (const TimedCommand &command : commands)
    result["each"].push_back(rowOf(command, bandwidth));
  print(name, result);
  return save(folder, (tuned ? "step-" : "untuned-") + name, result);
}

Status copy(const std::string &folder) {
  DLC_ASSIGN(const double bandwidth, knownBandwidth(test::gpu(), folder));
  fmt::print("copy: {:.0f} GB/s, read and written\n", 1e-9 * bandwidth);
  return {};
}

// Halves of one, or zeros for integers.
Result<Operand> arrayOf(const test::Elements &elements,
                        plan::TensorType &type) {
  type.set_dtype(plan::U8);
  type.add_shape(static_cast<int64_t>(elements.bytes()));
  DLC_ASSIGN(std::byte * memory,
             test::gpu().allocate(elements.bytes(), "array"));
  DLC_TRY(test::gpu().fill(memory, isFloat(elements.type) ? 0x3c : 0,
                           elements.bytes()));
  return Operand{memory, &type};
}

Result<TimedCommand> timeKernel(const test::PackedKernel &kernel) {
  TimedCommand timed{kernel.name, "", true};
  const plan::Command command = test::commandOf(kernel);
  std::deque<plan::TensorType> types;
  CommandSpec spec{command, {}, {}};
  for (auto *list : {&kernel.inputs, &kernel.outputs})
    for (const test::Elements &elements : *list) {
      DLC_ASSIGN(const Operand array, arrayOf(elements, types.emplace_back()));
      (list == &kernel.inputs ? spec.inputs : spec.outputs).push_back(array);
      timed.bytes += elements.bytes();
    }
  DLC_ASSIGN(auto bound, test::gpu().bind(spec));
  DLC_ASSIGN(timed.seconds, timeAlone(test::gpu(), *bound));
  return timed;
}

Status kernels(const std::string &folder, const std::string &out) {
  DLC_ASSIGN(const auto pack, test::readPack(folder));
  DLC_ASSIGN(const double bandwidth, knownBandwidth(test::gpu(), out));
  DLC_ASSIGN(const KernelFiles files, KernelFiles::ofFolder(folder));
  DLC_TRY(test::gpu().loadKernels(files));
  Ordered rows = Ordered::array();
  for (const test::PackedKernel &kernel : pack) {
    DLC_ASSIGN(const TimedCommand timed, timeKernel(kernel));
    rows.push_back(rowOf(timed, bandwidth));
    printRow(rows.back());
  }
  return save(out, "kernels", {{"matrix_kernels", rows}});
}

Status data(const std::string &artifact, int batches, const std::string &path) {
  DLC_ASSIGN(const Artifact opened,
             Artifact::open(artifact, Artifact::Use::Inspect));
  return writeData(opened.plan(), batches, path);
}

Status run(const std::vector<std::string> &words) {
  const std::string &what = words[0];
  if (what == "shrink")
    return shrinkState(words[1]);
  if (what == "grow")
    return growState(words[1]);
  if (what == "data" && words.size() == 4)
    return data(words[1], std::atoi(words[2].c_str()), words[3]);
  if (what == "copy")
    return copy(words[1]);
  if ((what == "step" || what == "untuned") && words.size() == 4)
    return step(words[1], words[2], words[3], what == "step");
  if (what == "kernels" && words.size() == 3)
    return kernels(words[1], words[2]);
  if (what == "deterministic" && words.size() == 4)
    return deterministic(words[1], words[2], words[3]);
  return usageError(
      "usage: gpu-bench copy FOLDER | kernels PACK FOLDER | "
      "step|untuned|deterministic ARTIFACT NAME FOLDER | data ARTIFACT "
      "BATCHES FILE | shrink|grow ARTIFACT");
}

int main(const std::vector<std::string> &words) {
  if (words.size() > 1 && words[0] != "shrink" && words[0] != "grow" &&
      words[0] != "data") {
    // Where a stand-in plays the driver, it plays these kernels.
    const bool isPack = words[0] == "kernels";
    const auto host = std::filesystem::absolute(
        words[1] + (isPack ? "/host.so" : ".host.so"));
    ::setenv("DLC_STANDIN_KERNELS", host.c_str(), 0);
    if (const int code = test::findGpu())
      return code;
  }
  const Status status = words.size() < 2 ? run({"", ""}) : run(words);
  if (!status.ok())
    fmt::print(stderr, "{}\n", status.message());
  test::closeGpu();
  return static_cast<int>(status.code());
}

} // namespace
} // namespace dlc::bench

int main(int argc, char **argv) {
  return dlc::bench::main({argv + 1, argv + argc});
}
