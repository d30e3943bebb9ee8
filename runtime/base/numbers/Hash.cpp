// SPDX-License-Identifier: Apache-2.0
#define OPENSSL_API_COMPAT 10100 // SHA256_Init and its like
#include "runtime/base/numbers/Hash.h"

#include "runtime/base/files/Files.h"

#include <new>
#include <openssl/sha.h>
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

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.digest();
}

// The low-level functions, which do not allocate: others initialise all of
// OpenSSL first, and crash without memory.
Sha256::Sha256() : context_(std::make_shared<SHA256_CTX>()) {
  check(SHA256_Init(static_cast<SHA256_CTX *>(context_.get())));
}

void Sha256::add(const void *data, size_t size) {
  check(SHA256_Update(static_cast<SHA256_CTX *>(context_.get()), data, size));
}

std::string Sha256::digest() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  check(SHA256_Final(digest, static_cast<SHA256_CTX *>(context_.get())));
  return hex(digest, sizeof digest);
}

} // namespace dlc
