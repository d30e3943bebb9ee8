// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/DataFiles.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/base/process/Parallel.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

namespace dlc {
namespace {

using namespace std::string_view_literals;

struct ForeignKind {
  std::string_view begin, part; // prefix of content; part of the name
  std::string_view what, wayOut;
};

constexpr std::string_view kToArrays =
    "read it in Python, and store arrays x and y by numpy.savez";
constexpr std::string_view kToParquet =
    "read it in Python, and write it by to_parquet() of pandas or datasets";
constexpr std::string_view kToShards =
    "write its samples as WebDataset's .tar, or send them by --data-command";

constexpr ForeignKind kForeign[] = {
    {"\x1f\x8b"sv, "", "compressed by gzip", "unpack it"},
    {"(\xb5\x2f\xfd"sv, "", "compressed by Zstandard", "unpack it"},
    {"BZh"sv, "", "compressed by bzip2", "unpack it"},
    {"\xfd\x37zXZ"sv, "", "compressed by xz", "unpack it"},
    {"PAR1"sv, "", "a Parquet file", "let its name end in .parquet"},
    {"ARROW1"sv, "", "an Arrow (Feather) file", kToParquet},
    {"\xff\xff\xff\xff"sv, ".arrow", "a stream of Arrow", kToParquet},
    {"", ".feather", "a Feather file", kToParquet},
    {"\x89HDF\r\n"sv, "", "an HDF5 file", kToArrays},
    {"MATLAB 5.0"sv, "", "a file of MATLAB", kToArrays},
    {"SQLite format 3"sv, "", "an SQLite database", kToParquet},
    {"\0\0\x08\x01"sv, "", "an IDX file of numbers, as MNIST's labels are",
     "numpy.frombuffer(content, 'u1', offset=8) is y of an array file, for "
     "numpy.savez"},
    {"\0\0\x08\x03"sv, "", "an IDX file of pictures, as MNIST's are",
     "numpy.frombuffer(content, 'u1', offset=16).reshape(-1, 1, 28, 28) is x "
     "of an array file, for numpy.savez"},
    {"", ".tfrecord", "a TFRecord file", kToShards},
    {"", ".lmdb", "an LMDB database", kToShards},
    {"", ".beton", "a file of FFCV", kToShards},
    {"", ".jsonl", "JSON, a line a sample", kToParquet},
    {"", ".ndjson", "JSON, a line a sample", kToParquet},
    {"", ".json", "JSON",
     "of COCO's boxes dlc-data boxes makes arrays; else write it by "
     "to_parquet() of pandas or datasets"},
    {"", ".yaml", "YAML, as of Ultralytics, that names data",
     "name a folder of pictures for each class, or make arrays of boxes by "
     "dlc-data boxes"},
    {"", ".xlsx", "a workbook of Excel", "save its sheet as CSV in UTF-8"},
    {"", ".pt", "a file of torch.save", kToArrays},
    {"", ".pth", "a file of torch.save", kToArrays},
    {"\x80\x02"sv, "", "a pickle (it may run code when it is read)", kToArrays},
    {"\x80\x03"sv, "", "a pickle (it may run code when it is read)", kToArrays},
    {"\x80\x04"sv, "", "a pickle (it may run code when it is read)", kToArrays},
    {"\x80\x05"sv, "", "a pickle (it may run code when it is read)", kToArrays},
    {"\xff\xd8\xff"sv, "", "one picture", "name a folder of them"},
    {"\x89PNG"sv, "", "one picture", "name a folder of them"},
};

bool isKind(const ForeignKind &kind, std::string_view text,
            const std::string &name) {
  const size_t at = name.rfind(kind.part);
  // TFRecord files may have a shard number after the extension.
  const bool isNamed =
      at != name.npos && (at + kind.part.size() == name.size() ||
                          name[at + kind.part.size()] == '-');
  return text.starts_with(kind.begin) && (kind.part.empty() || isNamed);
}

} // namespace

Result<std::vector<std::string>> expandRange(const std::string &path) {
  const size_t open = path.find('{'), dots = path.find("..", open),
               close = path.find('}', open);
  if (open == path.npos || exists(path))
    return std::vector{path};
  const auto read = [&](size_t from, size_t to) {
    return to == path.npos || to < from
               ? -1
               : asNumber<int64_t>(path.substr(from, to - from)).value_or(-1);
  };
  const int64_t first = read(open + 1, dots), last = read(dots + 2, close);
  if (dots == path.npos || first < 0 || first > last ||
      last - first >= kMaxRange)
    return usageError("'{}': expected a range of at most {} numbers, as in "
                      "train-{{000..127}}.tar",
                      printable(path), kMaxRange);
  const size_t digits = dots - open - 1;
  std::vector<std::string> paths;
  for (int64_t i = first; i <= last; ++i)
    paths.push_back(fmt::format("{}{:0{}}{}", path.substr(0, open), i, digits,
                                path.substr(close + 1)));
  return paths;
}

Status refuseForeign(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return {};
  auto file = MappedFile::open(path);
  if (!file)
    return {};
  const std::string name = std::filesystem::path(path).filename().string();
  for (const ForeignKind &kind : kForeign)
    if (isKind(kind, file->text(), name))
      return failed("'{}' is {}, a format that dlc does not read: {}", path,
                    kind.what, kind.wayOut);
  return {};
}

Result<std::string> hashData(const std::string &path, int threads) {
  constexpr size_t kBlock = 4 << 20;
  DLC_ASSIGN(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  std::vector<std::string> blocks((bytes.size() + kBlock - 1) / kBlock);
  std::atomic<size_t> next = 0;
  const size_t most = std::max<size_t>(1, blocks.size());
  runTogether(std::clamp<size_t>(size_t(threads), 1, most), [&] {
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
