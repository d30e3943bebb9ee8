// SPDX-License-Identifier: Apache-2.0
#include "test/bench/GpuArtifacts.h"

#include "runtime/base/files/Safetensors.h"
#include "runtime/data/Npy.h"
#include "runtime/plan/Types.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>

namespace dlc::bench {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSmall = 16 << 10;

// xorshift64*, one number in [0, 1) after another.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 88172645463325252ull) {}
  uint64_t bits() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 2685821657736338717ull;
  }
  float uniform() { return static_cast<float>(bits() >> 40) * 0x1p-24f; }

private:
  uint64_t state_;
};

float load(DType type, const std::byte *at) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return type == DType::BF16 ? fromBf16(bits) : fromF16(bits);
}
void store(DType type, std::byte *at, float value) {
  if (type == DType::F32) {
    std::memcpy(at, &value, 4);
    return;
  }
  const uint16_t bits = type == DType::BF16 ? toBf16(value) : toF16(value);
  std::memcpy(at, &bits, 2);
}

bool isDrawn(const NamedTensor &t) {
  return t.bytes > kSmall && isFloat(t.dtype) && t.dtype != DType::F64;
}

// Mean and standard deviation.
std::array<float, 2> momentsOf(const NamedTensor &t) {
  const uint64_t size = sizeOf(t.dtype), count = t.bytes / size;
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const double value = load(t.dtype, t.data + i * size);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / static_cast<double>(count);
  const double variance = squares / static_cast<double>(count) - mean * mean;
  return {static_cast<float>(mean),
          static_cast<float>(std::sqrt(std::max(0.0, variance)))};
}

std::vector<std::byte> draw(DType type, uint64_t count, const float *moments,
                            uint64_t seed) {
  std::vector<std::byte> bytes(count * sizeOf(type));
  Random random(seed);
  const float width = moments[1] * std::sqrt(12.0f);
  for (uint64_t i = 0; i < count; ++i)
    store(type, bytes.data() + i * sizeOf(type),
          moments[0] + width * (random.uniform() - 0.5f));
  return bytes;
}

std::string statePath(const std::string &artifact) {
  return artifact + "/state.safetensors";
}

Result<Json> readManifest(const std::string &artifact) {
  DLC_ASSIGN(const std::string text, readFile(artifact + "/manifest.json"));
  return parseJson(text);
}

// writeManifest() hashes what is in the folder; the old one must not be.
Status rewriteManifest(const std::string &artifact, Json fields) {
  fs::remove(artifact + "/manifest.json");
  fields.erase("files");
  fields.erase("hash");
  return writeManifest(artifact, std::move(fields)).status();
}

Status replaceState(const std::string &artifact,
                    const std::vector<NamedTensor> &tensors) {
  const std::string next = artifact + "/state.new";
  DLC_TRY(writeSafetensors(next, tensors));
  fs::rename(next, statePath(artifact));
  return {};
}

} // namespace

Status shrinkState(const std::string &artifact) {
  DLC_ASSIGN(const SafetensorsFile file,
             SafetensorsFile::open(statePath(artifact)));
  std::deque<std::array<float, 2>> moments;
  std::vector<NamedTensor> tensors = file.tensors();
  for (NamedTensor &t : tensors)
    if (isDrawn(t)) {
      const auto &pair = moments.emplace_back(momentsOf(t));
      t = {t.name,
           DType::F32,
           {2},
           reinterpret_cast<const std::byte *>(&pair),
           sizeof pair};
    }
  return replaceState(artifact, tensors);
}

Status growState(const std::string &artifact) {
  DLC_ASSIGN(const std::string bytes, readFile(artifact + "/plan.pb"));
  plan::Plan plan;
  if (!plan.ParseFromString(bytes))
    return corrupt("'{}/plan.pb' is damaged", artifact);
  DLC_ASSIGN(const SafetensorsFile file,
             SafetensorsFile::open(statePath(artifact)));
  std::deque<std::vector<std::byte>> drawn;
  std::vector<NamedTensor> tensors = file.tensors();
  for (NamedTensor &t : tensors)
    for (const plan::State &state : plan.states()) {
      const uint64_t size = plan::bytesOf(state.type()).value_or(0);
      if (state.name() != t.name || size == t.bytes)
        continue;
      const auto &shape = state.type().shape();
      const DType type = *plan::dtypeOf(state.type().dtype());
      const auto &content = drawn.emplace_back(
          draw(type, size / sizeOf(type),
               reinterpret_cast<const float *>(t.data), drawn.size()));
      t = {t.name, type, {shape.begin(), shape.end()}, content.data(), size};
    }
  DLC_ASSIGN(Json manifest, readManifest(artifact));
  DLC_TRY(replaceState(artifact, tensors));
  return rewriteManifest(artifact, std::move(manifest));
}

std::vector<std::byte> randomInput(const plan::TensorType &type, int64_t limit,
                                   uint64_t seed) {
  const DType element = *plan::dtypeOf(type.dtype());
  const uint64_t size = sizeOf(element), bytes = *plan::bytesOf(type);
  std::vector<std::byte> content(bytes);
  Random random(seed);
  for (uint64_t at = 0; at < bytes; at += size)
    if (isFloat(element)) {
      store(element, &content[at], 2 * random.uniform() - 1);
    } else {
      const uint64_t below = limit > 0 ? static_cast<uint64_t>(limit) : 2;
      const uint64_t value = random.bits() % below;
      std::memcpy(&content[at], &value, size); // little-endian
    }
  return content;
}

Status writeData(const plan::Plan &plan, int batches, const std::string &path) {
  DLC_ASSIGN(const plan::Program *program, trainingStep(plan));
  std::deque<std::vector<std::byte>> contents;
  std::vector<NamedArray> arrays;
  for (const plan::Port &port : program->inputs()) {
    plan::TensorType type =
        program->buffers(static_cast<int>(port.buffer())).type();
    const bool isImage = isFloat(*plan::dtypeOf(type.dtype()));
    const bool isData = arrays.empty();
    if (isImage && isData)
      type.set_dtype(plan::U8);
    // A label for each row of a sample lies beside it.
    if (!isData && type.shape(0) > plan.batch()) {
      const int64_t rows = type.shape(0) / plan.batch();
      type.set_shape(0, plan.batch());
      type.add_shape(rows);
    }
    type.set_shape(0, batches * type.shape(0));
    contents.push_back(
        randomInput(type, isImage ? 256 : port.limit(), arrays.size()));
    arrays.push_back({isData ? "x" : "y",
                      *plan::dtypeOf(type.dtype()),
                      {type.shape().begin(), type.shape().end()},
                      contents.back()});
  }
  return writeNpz(path, arrays);
}

Result<const plan::Program *> trainingStep(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs())
    if (program.name() == "train_step")
      return &program;
  return failed("the plan has no train_step");
}

} // namespace dlc::bench
