#include "runtime/base/Hash.h"

#include "runtime/base/Files.h"
#include "runtime/base/Mapping.h"

#include <new>
#include <openssl/evp.h>
#include <xxhash.h>

namespace dlc {
namespace {

std::string hex(const unsigned char *bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i)
    text += fmt::format("{:02x}", bytes[i]);
  return text;
}

void check(int done) {
  if (done != 1)
    throw std::bad_alloc();
}

} // namespace

std::string hashBytes(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical,
                           XXH3_128bits(bytes.data(), bytes.size()));
  return hex(canonical.digest, sizeof canonical.digest);
}

std::string hashText(std::string_view text) {
  return hashBytes(std::as_bytes(std::span(text)));
}

Result<std::string> hashFile(const std::string &path) {
  DLC_ASSIGN(MappedFile file, MappedFile::open(path));
  std::string hash = hashBytes(file.bytes());
  DLC_TRY(mappedFilesStatus());
  return hash;
}

std::string sha256(std::span<const std::byte> bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(),
                   nullptr));
  return hex(digest, size);
}

Sha256::Sha256()
    : context_(EVP_MD_CTX_new(),
               [](void *c) { EVP_MD_CTX_free(static_cast<EVP_MD_CTX *>(c)); }) {
  check(context_ && EVP_DigestInit_ex(static_cast<EVP_MD_CTX *>(context_.get()),
                                      EVP_sha256(), nullptr));
}

void Sha256::add(const void *data, size_t size) {
  check(
      EVP_DigestUpdate(static_cast<EVP_MD_CTX *>(context_.get()), data, size));
}

std::string Sha256::digest() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX *>(context_.get()), digest,
                           &size));
  return hex(digest, size);
}

} // namespace dlc
