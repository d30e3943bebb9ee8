// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/DataHash.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Parallel.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace dlc {

Result<std::string> hashData(const std::string &path, int threads) {
  constexpr size_t kBlock = 4 << 20;
  DLC_ASSIGN(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  std::vector<std::string> blocks((bytes.size() + kBlock - 1) / kBlock);
  std::atomic<size_t> next = 0;
  const size_t most = std::max<size_t>(1, blocks.size());
  runTogether(std::clamp<size_t>(static_cast<size_t>(threads), 1, most), [&] {
    for (size_t i; (i = next++) < blocks.size();) {
      const auto block = bytes.subspan(
          i * kBlock, std::min(kBlock, bytes.size() - i * kBlock));
      blocks[i] = sha256(block);
      releaseMapped(block.data(), block.size());
    }
  });
  DLC_TRY(mappedFilesStatus());
  std::string text = fmt::format("{} bytes", bytes.size());
  for (const std::string &block : blocks)
    text += "\n" + block;
  return sha256(std::as_bytes(std::span(text)));
}

Result<std::string> hashesOfData(std::span<const std::string> paths,
                                 int threads) {
  std::string all;
  for (const std::string &path : paths) {
    DLC_ASSIGN(const std::string one, hashData(path, threads));
    all += one + "\n";
  }
  return all;
}

} // namespace dlc
