// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/CheckedFiles.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/plan/Model.h"

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr char kName[] = "manifest.json";
constexpr uint64_t kLargestFile = uint64_t(1) << 32; // for whole reads

// The hash function depends on the manifest's version.
std::string hashFor(const Json &manifest, std::span<const std::byte> bytes) {
  return manifest["version"] == 1 ? hashBytes(bytes) : sha256(bytes);
}

// The hash of a manifest covers all other members.
std::string ownHash(Json manifest) {
  manifest.erase("hash");
  const std::string text = dumpJson(manifest);
  return hashFor(manifest, std::as_bytes(std::span(text)));
}

// The only accepted form: every byte must be as written.
std::string written(const Json &manifest) {
  return dumpJson(manifest, 2) + "\n";
}

Status syncFile(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return systemError("open", path);
  Status status;
  if (::fsync(file) != 0)
    status = systemError("write", path);
  ::close(file);
  return status;
}

// Whether these are the bytes of the named file when it was written.
Status checkListed(const std::string &path, const Json &manifest,
                   const std::string &name, std::span<const std::byte> bytes) {
  const Json &entry = manifest["files"][name];
  DLC_ASSIGN(uint64_t size, jsonUnsigned(entry, "size"));
  DLC_ASSIGN(std::string hash, jsonString(entry, "hash"));
  if (bytes.size() != size)
    return corrupt("'{}' has {} bytes, expected {}: the file is damaged", path,
                   bytes.size(), size);
  if (hashFor(manifest, bytes) != hash)
    return corrupt("'{}' has changed since it was written: its hash differs "
                   "from the manifest's",
                   path);
  return {};
}

Status checkFile(const std::string &folder, const Json &manifest,
                 const std::string &name) {
  const std::string path = folder + "/" + name;
  const Json &entry = manifest["files"][name];
  DLC_ASSIGN(const std::string hash, jsonString(entry, "hash"));
  struct stat before {};
  const bool isKnown = ::stat(path.c_str(), &before) == 0;
  if (isKnown && isChecked(before, hash))
    return {};
  auto file = MappedFile::open(path);
  if (!file)
    return corrupt("'{}' is missing or not readable: {}", path,
                   file.status().message());
  DLC_TRY(checkListed(path, manifest, name, file->bytes()));
  if (isKnown)
    setChecked(before, hash);
  return {};
}

// A name in a manifest must be a file directly in its folder.
bool isPlainName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Status checkVersion(const Json &manifest, std::string_view format,
                    uint32_t version) {
  DLC_ASSIGN(std::string foundFormat, jsonString(manifest, "format"));
  if (foundFormat != format)
    return corrupt("format is '{}', expected '{}'", foundFormat, format);
  DLC_ASSIGN(uint64_t found, jsonUnsigned(manifest, "version"));
  if (found < 1 || found > version)
    return incompatible("format version is {}, this is dlc {}, which reads "
                        "versions 1 to {}: use the dlc that wrote it, or write "
                        "it again",
                        found, dlcVersion(), version);
  return {};
}

} // namespace

std::string_view dlcVersion() { return "0.1.0"; }

Result<std::string>
writeManifest(const std::string &folder, Json fields,
              const std::map<std::string, FileDigest> &known) {
  Json files = Json::object();
  for (const auto &[name, digest] : known) // files that other hosts list
    files[name] = {{"size", digest.size}, {"hash", digest.sha256}};
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    const std::string name = entry.path().filename().string();
    if (known.contains(name))
      continue;
    DLC_TRY(syncFile(path));
    DLC_ASSIGN(MappedFile file, MappedFile::open(path));
    files[name] = {{"size", file.size()},
                   {"hash", hashFor(fields, file.bytes())}};
  }
  if (error)
    return failed("cannot list '{}': {}", folder, error.message());
  fields["files"] = std::move(files);
  std::string hash = ownHash(fields);
  fields["hash"] = hash;
  DLC_TRY(writeNewFile(folder + "/" + kName, written(fields)));
  return hash;
}

Result<Json> readManifest(const std::string &folder, std::string_view format,
                          uint32_t version) {
  std::string path = folder + "/" + kName;
  auto text = readFile(path, 16 << 20);
  if (!text && isRun(folder) && !exists(path))
    return failed("'{0}' is a run, expected {1}", folder,
                  format == kArtifactFormat
                      ? fmt::format("an artifact, such as the run's own, "
                                    "'{0}/model.dlc'; dlc train --resume={0} "
                                    "goes on with the run",
                                    folder)
                      : fmt::format("'{}/{}-N'", folder, format.substr(4)));
  if (!text)
    return corrupt("'{}' is missing or not readable: {}", path,
                   text.status().message());
  auto manifest = parseJson(*text);
  if (!manifest)
    return manifest.status().withContext(fmt::format("'{}'", path));
  DLC_TRY(checkVersion(*manifest, format, version)
              .withContext(fmt::format("'{}'", path)));
  auto hash = jsonString(*manifest, "hash");
  auto files = manifest->find("files");
  if (!hash || *hash != ownHash(*manifest) || *text != written(*manifest) ||
      files == manifest->end() || !files->is_object())
    return corrupt("'{}' has changed since it was written", path);
  for (const auto &[name, entry] : files->items())
    if (!isPlainName(name))
      return corrupt("'{}' lists the file '{}'", path, name);
  return *std::move(manifest);
}

Result<Json> checkManifest(const std::string &folder, std::string_view format,
                           uint32_t version) {
  DLC_ASSIGN(Json manifest, readManifest(folder, format, version));
  DLC_TRY(checkFiles(folder, manifest));
  return manifest;
}

Status checkFiles(const std::string &folder, const Json &manifest) {
  for (const auto &[name, entry] : manifest["files"].items())
    DLC_TRY(checkFile(folder, manifest, name));
  return {};
}

Result<std::string> readListed(const std::string &folder, const Json &manifest,
                               const std::string &name) {
  if (!manifest["files"].contains(name))
    return corrupt("'{}/{}' lists no '{}'", folder, kName, name);
  const std::string path = folder + "/" + name;
  auto text = readFile(path, kLargestFile);
  if (!text)
    return corrupt("'{}' is missing or not readable: {}", path,
                   text.status().message());
  DLC_TRY(checkListed(path, manifest, name, std::as_bytes(std::span(*text))));
  return text;
}

} // namespace dlc
