// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/TuneCache.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr uint64_t kVersion = 1; // of the format of entries
constexpr uint64_t kMostBytes = 64 << 20;
constexpr char kFormat[] = "dlc-tune";

std::string toHex(std::string_view bytes) {
  std::string text;
  for (unsigned char byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

int digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

Result<std::string> fromHex(std::string_view text) {
  if (text.size() % 2)
    return corrupt("an odd number of hex digits");
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    if (digit(text[i]) < 0 || digit(text[i + 1]) < 0)
      return corrupt("no hex digit at {}", i);
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  }
  return bytes;
}

Result<double> number(const Json &object, const char *key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number())
    return corrupt("'{}' is missing or no number", key);
  return found->get<double>();
}

std::string idOf(const Json &fields) {
  const std::string text = dumpJson(fields); // members are sorted
  return sha256(std::as_bytes(std::span(text)));
}

std::string pathOf(const std::string &folder, const TuneKey &key) {
  return fmt::format("{}/{}.json", folder, key.id());
}

} // namespace

// The hash covers all other members, sorted by name.
std::string tuneText(const TuneKey &key, const TuneEntry &entry) {
  Json file = {{"format", kFormat},
               {"version", kVersion},
               {"key", key.fields()},
               {"engine", entry.engine},
               {"knobs", entry.knobs},
               {"blob", toHex(entry.blob)},
               {"milliseconds", entry.milliseconds},
               {"workspace", entry.workspace},
               {"date", entry.date}};
  file["hash"] = hashText(dumpJson(file));
  return dumpJson(file, 1) + "\n";
}

Result<TuneEntry> parseTuneText(std::string_view text, Json &key) {
  DLC_ASSIGN(Json file, parseJson(text));
  DLC_ASSIGN(const std::string format, jsonString(file, "format"));
  DLC_ASSIGN(const uint64_t version, jsonUnsigned(file, "version"));
  if (format != kFormat || version != kVersion)
    return incompatible("it is '{}' version {}, expected '{}' version {}",
                        format, version, kFormat, kVersion);
  DLC_ASSIGN(const std::string hash, jsonString(file, "hash"));
  file.erase("hash");
  if (hashText(dumpJson(file)) != hash)
    return corrupt("its content does not match its hash");
  TuneEntry entry;
  DLC_ASSIGN(entry.engine, jsonString(file, "engine"));
  DLC_ASSIGN(const std::string blob, jsonString(file, "blob"));
  DLC_ASSIGN(entry.blob, fromHex(blob));
  DLC_ASSIGN(entry.milliseconds, number(file, "milliseconds"));
  DLC_ASSIGN(entry.workspace, jsonUnsigned(file, "workspace"));
  DLC_ASSIGN(entry.date, jsonString(file, "date"));
  if (!file["knobs"].is_object() || !file["key"].is_object())
    return corrupt("'knobs' or 'key' is no object");
  for (const auto &[name, value] : file["knobs"].items()) {
    if (!value.is_number_integer())
      return corrupt("knob '{}' is no integer", name);
    entry.knobs[name] = value.get<int64_t>();
  }
  key = file["key"];
  return entry;
}

TuneKey &TuneKey::add(std::string_view name, Json value) {
  fields_[std::string(name)] = std::move(value);
  return *this;
}

std::string TuneKey::id() const { return idOf(fields_); }

std::string tuneDate() {
  const std::time_t now = std::time(nullptr);
  std::tm parts;
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Result<TuneCache> TuneCache::open(const std::string &folder, Mode mode) {
  if (folder.empty())
    return TuneCache("", Mode::ReadOnly);
  DLC_TRY(checkCacheOwner(folder));
  DLC_TRY(checkCacheOwner(folder + "/tune"));
  return TuneCache(folder + "/tune", mode);
}

std::optional<TuneEntry> TuneCache::find(const TuneKey &key) const {
  const std::string path = pathOf(folder_, key);
  if (folder_.empty() || !exists(path))
    return std::nullopt;
  const auto read = [&]() -> Result<TuneEntry> {
    DLC_ASSIGN(const std::string text, readFile(path, kMostBytes));
    Json found;
    DLC_ASSIGN(TuneEntry entry, parseTuneText(text, found));
    if (found != key.fields())
      return corrupt("it is an entry of another key");
    return entry;
  };
  Result<TuneEntry> entry = read();
  if (entry.ok())
    return *std::move(entry);
  warning("ignored the tuning result '{}': {}", path, entry.status().message());
  return std::nullopt;
}

Status TuneCache::store(const TuneKey &key, const TuneEntry &entry) const {
  if (folder_.empty() || mode_ == Mode::ReadOnly)
    return {};
  DLC_TRY(makeFolder(folder_, 0700));
  DLC_ASSIGN(const FileLock lock, FileLock::take(folder_ + "/lock"));
  return writeFileAtomically(pathOf(folder_, key), tuneText(key, entry));
}

Result<std::vector<TuneCache::Item>> TuneCache::list() const {
  std::vector<Item> items;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == "lock")
      continue;
    Item item;
    item.path = it->path().string();
    std::error_code ignored;
    item.bytes = it->file_size(ignored);
    auto text = readFile(item.path, kMostBytes);
    Result<TuneEntry> entry = name.ends_with(".json") && text.ok()
                                  ? parseTuneText(*text, item.key)
                                  : Result<TuneEntry>(corrupt("unfinished"));
    if (entry.ok() && idOf(item.key) + ".json" != name)
      entry = corrupt("it is an entry of another key");
    if (entry.ok())
      item.entry = *std::move(entry);
    else
      item.problem = entry.status().message();
    items.push_back(std::move(item));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return failed("cannot read '{}': {}", folder_, error.message());
  std::sort(items.begin(), items.end(),
            [](const Item &a, const Item &b) { return a.path < b.path; });
  return items;
}

Result<size_t> TuneCache::prune(const std::string &before) const {
  if (folder_.empty() || !exists(folder_))
    return size_t(0);
  if (mode_ == Mode::ReadOnly)
    return usageError("the cache '{}' is read-only", folder_);
  // Under the lock no other process is writing.
  DLC_ASSIGN(const FileLock lock, FileLock::take(folder_ + "/lock"));
  DLC_ASSIGN(const std::vector<Item> items, list());
  size_t removed = 0;
  for (const Item &item : items) {
    if (item.problem.empty() && (before.empty() || item.entry.date >= before))
      continue;
    if (::unlink(item.path.c_str()) != 0)
      return systemError("remove", item.path);
    ++removed;
  }
  return removed;
}

} // namespace dlc
