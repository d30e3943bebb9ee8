// SPDX-License-Identifier: Apache-2.0
// Data, states and settings.
#include "runtime/base/files/Files.h"
#include "compiler/driver/Options.h"
#include "runtime/base/Json.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/data/Dataset.h"
#include "runtime/train/TrainOptions.h"
#include "test/fuzz/Targets.h"

namespace dlc::fuzz {
namespace {

uint32_t sumOf(const std::byte *data, uint64_t bytes) {
  uint32_t sum = 0; // touches every byte
  for (uint64_t i = 0; i < bytes; ++i)
    sum += static_cast<uint32_t>(data[i]);
  return sum;
}

// A number inside a zip's own structures: sizes, offsets, counts, names.
void mutateZip(Random &random, std::string &bytes) {
  const std::string marks[] = {std::string("PK\x01\x02"),
                               std::string("PK\x03\x04"),
                               std::string("PK\x05\x06")};
  const std::string &mark = marks[random.below(3)];
  std::vector<size_t> places;
  for (size_t at = 0; (at = bytes.find(mark, at)) != bytes.npos; ++at)
    places.push_back(at);
  if (places.empty() || random.oneIn(4))
    return mutateBytes(random, bytes);
  const size_t at = random.pick(places) + 4 + random.below(42);
  const auto value = static_cast<uint64_t>(strangeInteger(random, 1));
  for (size_t i = 0, n = random.oneIn(2) ? 2 : 4; i < n; ++i)
    if (at + i < bytes.size())
      bytes[at + i] = static_cast<char>(value >> (8 * i));
}

} // namespace

Status fuzzNpz(Job &job) {
  std::string text = readSeed(job);
  const bool single = text.starts_with("\x93NUMPY");
  for (int i = changes(job.random); i > 0; --i)
    if (!single) {
      mutateZip(job.random, text);
    } else if (job.random.oneIn(3)) {
      mutateBytes(job.random, text);
    } else { // the header's text, its length kept right or not
      std::string header = text.substr(10, 118);
      mutateText(job.random, header);
      header.resize(job.random.oneIn(8) ? header.size() : 118, ' ');
      text.replace(10, std::min<size_t>(118, text.size() - 10), header);
    }
  DLC_ASSIGN(const std::string path,
             writeMutant(job, single ? "mutant.npy" : "mutant.npz", text));
  DLC_ASSIGN(const ArrayFile file, ArrayFile::open(path));
  std::vector<InputSpec> specs;
  for (const std::string &key : file.keys()) {
    DLC_ASSIGN(const Array array, file.read(key));
    sumOf(array.data(), array.content.bytes.size());
  }
  specs.push_back({"x", DType::F32, {4, 8}});
  if (!single)
    specs.push_back({"y", DType::I64, {4}, 10, true});
  const auto open = [&]() -> Result<Dataset> {
    DLC_ASSIGN(auto source, openSource(path, {}));
    return Dataset::open(std::move(source), specs, 4, {});
  };
  DLC_ASSIGN(const Dataset data, guarded(path, open));
  for (const Column &column : data.columns()) {
    std::vector<std::byte> sample(column.sampleBytes());
    for (int64_t row = 0; row < data.samples(); ++row)
      DLC_TRY(column.copySample(row, nullptr, sample.data()));
  }
  return {};
}

Status fuzzSafetensors(Job &job) {
  std::string text = readSeed(job);
  uint64_t size = 0;
  for (size_t i = 0; i < 8 && i < text.size(); ++i)
    size |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << 8 * i;
  if (size + 8 <= text.size() && !job.random.oneIn(8)) {
    std::string header = text.substr(8, size);
    for (int i = changes(job.random); i > 0; --i)
      mutateText(job.random, header);
    text.replace(8, size, header);
    for (size_t i = 0; i < 8; ++i)
      text[i] = static_cast<char>(header.size() >> 8 * i);
  } else {
    for (int i = changes(job.random); i > 0; --i)
      mutateBytes(job.random, text);
  }
  DLC_ASSIGN(const std::string path,
             writeMutant(job, "mutant.safetensors", text));
  DLC_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(path));
  for (const NamedTensor &tensor : file.tensors())
    sumOf(tensor.data, tensor.bytes);
  return {};
}

Status fuzzYaml(Job &job) {
  std::string text = readSeed(job);
  for (int i = changes(job.random); i > 0; --i)
    mutateText(job.random, text);
  DLC_ASSIGN(const std::string path, writeMutant(job, "mutant.yaml", text));
  const Status run = optionsFromYaml(path).status();
  CompileOptions options;
  OptionTable table;
  options.addTo(table);
  DLC_ASSIGN(const Config config, readConfig(path));
  DLC_TRY(table.apply(config, notSection("run")));
  DLC_TRY(table.check({}));
  toYaml(options);
  return run;
}

} // namespace dlc::fuzz
