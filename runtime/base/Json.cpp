// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Json.h"

#include "runtime/base/Text.h"

#include <vector>

namespace dlc {
namespace {

constexpr size_t kMaxDepth = 32;

// Builds the value from a parser's events; records the first violation.
class Builder : public nlohmann::json_sax<Json> {
public:
  Json root;
  std::string wrong;

  bool null() final { return add(nullptr); }
  bool boolean(bool value) final { return add(value); }
  bool number_integer(number_integer_t value) final { return add(value); }
  bool number_unsigned(number_unsigned_t value) final { return add(value); }
  bool number_float(number_float_t value, const string_t &) final {
    return add(value);
  }
  bool string(string_t &value) final { return add(std::move(value)); }
  bool binary(binary_t &) final { return fail("binary values"); }
  bool start_object(size_t) final { return open(Json::object()); }
  bool start_array(size_t) final { return open(Json::array()); }
  bool end_object() final { return close(); }
  bool end_array() final { return close(); }
  bool key(string_t &name) final {
    auto [place, isNew] =
        open_.back()->get_ref<Json::object_t &>().emplace(name, nullptr);
    member_ = &place->second;
    return isNew ||
           fail(fmt::format("key '{}' is given twice", printable(name)));
  }
  bool parse_error(size_t, const std::string &,
                   const Json::exception &error) final {
    return fail(printable(error.what()));
  }

private:
  // Inserts it; an element of an array is complete before the next.
  Json *place(Json &&value) {
    Json *at = open_.empty() ? &root : member_;
    if (!open_.empty() && open_.back()->is_array())
      at = &open_.back()->get_ref<Json::array_t &>().emplace_back();
    *at = std::move(value);
    return at;
  }
  bool add(Json &&value) {
    place(std::move(value));
    return true;
  }
  bool open(Json &&value) {
    if (open_.size() == kMaxDepth)
      return fail(fmt::format("more than {} levels deep", kMaxDepth));
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool fail(std::string message) {
    wrong = std::move(message);
    return false;
  }

  std::vector<Json *> open_; // enclosing objects and arrays
  Json *member_ = nullptr;   // of the innermost object, by the last key
};

} // namespace

Result<Json> parseJson(std::string_view text) {
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    return corrupt("not valid JSON: {}", builder.wrong);
  return std::move(builder.root);
}

Result<std::string> jsonString(const Json &object, const char *key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string())
    return corrupt("expected a string '{}'", key);
  return object[key].get<std::string>();
}

Result<uint64_t> jsonUnsigned(const Json &object, const char *key) {
  if (!object.is_object() || !object.contains(key) ||
      !object[key].is_number_unsigned())
    return corrupt("expected a whole number '{}'", key);
  return object[key].get<uint64_t>();
}

} // namespace dlc
