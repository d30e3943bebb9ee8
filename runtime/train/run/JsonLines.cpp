// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/JsonLines.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc {
namespace {

// The complete, valid lines of `text` up to step `last`.
std::string keptLines(std::string_view text, const char *key, int64_t last) {
  std::string kept;
  for (size_t end; (end = text.find('\n')) != text.npos;
       text.remove_prefix(end + 1)) {
    auto object = parseJson(text.substr(0, end));
    if (!object)
      continue;
    auto value = jsonUnsigned(*object, key);
    if (value && int64_t(*value) <= last)
      kept.append(text.substr(0, end + 1));
  }
  return kept;
}

Result<Descriptor> openToAppend(const std::string &path) {
  return openOwnFile(path, O_WRONLY | O_CREAT | O_APPEND);
}

// Replaces the file's contents by `kept`.
Status shorten(const std::string &path, std::string_view all,
               const std::string &kept) {
  if (kept.size() == all.size())
    return {};
  if (!all.starts_with(kept))
    return writeFileAtomically(path, kept);
  DLC_ASSIGN(const Descriptor file, openOwnFile(path, O_WRONLY));
  return ::ftruncate(file.number(), off_t(kept.size())) == 0
             ? Status()
             : systemError("truncate", path);
}

} // namespace

Result<JsonLines> JsonLines::open(const std::string &path, const char *key,
                                  int64_t last) {
  if (exists(path)) {
    DLC_ASSIGN(MappedFile content, MappedFile::open(path));
    DLC_TRY(
        shorten(path, content.text(), keptLines(content.text(), key, last)));
  }
  DLC_ASSIGN(Descriptor file, openToAppend(path));
  return JsonLines(std::move(file), path);
}

JsonLines::JsonLines(JsonLines &&other) noexcept
    : file_(std::move(other.file_)), path_(std::move(other.path_)),
      waiting_(std::move(other.waiting_)), lost_(std::exchange(other.lost_, 0)),
      stuck_(other.stuck_), missing_(other.missing_) {}

JsonLines::~JsonLines() {
  if (!file_)
    return;
  if (!writeWaiting())
    lost_ += std::ranges::count(waiting_, '\n');
  warnOfLost();
}

void JsonLines::warnOfLost() const {
  if (lost_ > 0)
    warning("'{}' lacks {} lines, which could not be written", path_, lost_);
}

void JsonLines::append(const std::string &line) {
  constexpr size_t kMost = 16 << 20;
  if (waiting_.size() + line.size() <= kMost)
    waiting_ += line;
  else
    ++lost_;
  const bool written = writeWaiting();
  if (!written && !stuck_)
    warning(
        "cannot write to '{}': {}: training continues; what is missing there "
        "is written as soon as it can be",
        path_, std::strerror(errno));
  if (written && stuck_)
    info("'{}' can be written again", path_);
  stuck_ = !written;
  if (written && lost_ > 0)
    warnOfLost(), lost_ = 0;
}

// Delayed, since whoever is removing the folder would find it filled again.
void JsonLines::follow() {
  struct stat own {
  }, there{};
  if (::fstat(file_.number(), &own) != 0)
    return;
  const bool before = missing_;
  missing_ = ::stat(path_.c_str(), &there) != 0 || own.st_dev != there.st_dev ||
             own.st_ino != there.st_ino;
  if (!missing_ || !before)
    return;
  auto file = openToAppend(path_);
  if (!file)
    return;
  warning("'{}' was removed or moved away: it is written again", path_);
  file_ = *std::move(file);
}

bool JsonLines::writeWaiting() {
  const size_t done = writeAll(file_.number(), waiting_);
  const int error = errno;
  waiting_.erase(0, done);
  errno = error;
  return waiting_.empty();
}

void JsonLine::key(std::string_view key) {
  fmt::format_to(std::back_inserter(text_),
                 "{}\"{}\": ", text_.empty() ? "{" : ", ", key);
}

JsonLine &JsonLine::add(std::string_view name, double value) {
  key(name);
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(text_), "{}", value);
  else
    text_ += "null";
  return *this;
}

JsonLine &JsonLine::add(std::string_view name, int64_t value) {
  key(name);
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

std::string JsonLine::finish() { return text_ + "}\n"; }

} // namespace dlc
