// SPDX-License-Identifier: Apache-2.0
// What tests of dlc.h and dlc.hpp share: a model made by hand, samples of ones,
// and the errors that are thrown.
#pragma once

#include "runtime/api/dlc/dlc.hpp"
#include "test/unit/TempFolder.h"
#include "test/unit/TinyModel.h"

using namespace dlc::api_v1;
using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

class Api : public TempFolder {
protected:
  void SetUp() override {
    ASSERT_TRUE(dlc::test::writeTinyModel(path("m.dlc")).ok());
    dlc_set_log([](void *, dlc_level, const char *) {}, nullptr);
  }
  void TearDown() override { dlc_set_log(nullptr, nullptr); }

  Dataset samples(int64_t count, int64_t columns = 4) {
    x_.assign(static_cast<size_t>(count * columns), 1);
    y_.assign(static_cast<size_t>(count), 1);
    return Dataset::of({{"x", DLC_F32, {count, columns}, x_.data()},
                        {"y", DLC_I64, {count}, y_.data()}});
  }
  Session session() { return Session::open(path("m.dlc")); }
  Options options(Options more) {
    more.insert(more.end(), {{"quiet", ""}, {"threads", "1"}});
    return more;
  }

  Floats x_;
  Longs y_;
};

// The code and message that `body` throws.
template <class F>
void expectError(dlc_code code, const char *words, F &&body) {
  try {
    body();
    ADD_FAILURE() << "expected an error: " << words;
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos)
        << error.what();
  }
}
