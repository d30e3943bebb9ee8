#include "runtime/base/Json.h"

#include "runtime/base/Text.h"

#include <set>
#include <vector>

namespace dlc {
namespace {

constexpr int kMaxDepth = 32;

// Watches a parse: throws the message of the first rule that is broken.
class Guard {
public:
  bool operator()(int depth, Json::parse_event_t event, Json &parsed) {
    using Event = Json::parse_event_t;
    if (depth > kMaxDepth)
      throw std::runtime_error(
          fmt::format("more than {} levels deep", kMaxDepth));
    if (event == Event::object_start)
      keys_.emplace_back();
    else if (event == Event::object_end)
      keys_.pop_back();
    else if (event == Event::key)
      check(parsed.get_ref<const std::string &>());
    return true;
  }

private:
  void check(const std::string &key) {
    if (!keys_.back().insert(key).second)
      throw std::runtime_error(fmt::format("key '{}' is given twice", key));
  }

  std::vector<std::set<std::string>> keys_;
};

} // namespace

Result<Json> parseJson(std::string_view text) {
  try {
    return Json::parse(text.begin(), text.end(), Guard());
  } catch (const std::bad_alloc &) {
    throw; // no fault of the text
  } catch (const std::exception &error) {
    return corrupt("not valid JSON: {}", printable(error.what()));
  }
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

std::string dumpJson(const Json &value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace dlc
