#include "runtime/train/Metrics.h"

#include "runtime/base/Files.h"

#include <cmath>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>

namespace dlc {
namespace {

// The lines of `text` that are whole, valid and not beyond `last`.
std::string keptLines(std::string_view text, const char *key, int64_t last) {
  std::string kept;
  for (size_t end; (end = text.find('\n')) != text.npos;
       text.remove_prefix(end + 1)) {
    auto object = parseJson(text.substr(0, end));
    if (!object)
      continue;
    auto value = jsonUnsigned(*object, key);
    if (value && static_cast<int64_t>(*value) <= last)
      kept.append(text.substr(0, end + 1));
  }
  return kept;
}

} // namespace

Result<JsonLines> JsonLines::open(const std::string &path, const char *key,
                                  int64_t last) {
  if (exists(path)) {
    DLC_ASSIGN(MappedFile file, MappedFile::open(path));
    DLC_TRY(writeFileAtomically(path, keptLines(file.text(), key, last)));
  }
  int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return systemError("open", path);
  return JsonLines(file, path);
}

JsonLines::~JsonLines() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Status JsonLines::append(const std::string &line) {
  ssize_t size = static_cast<ssize_t>(line.size());
  if (::write(descriptor_, line.data(), line.size()) != size)
    return systemError(fmt::format("write {} bytes to", size), path_);
  return {};
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
