// SPDX-License-Identifier: Apache-2.0
// State in files of which each rank wrote one.
#include "runtime/plan/Model.h"
#include "runtime/plan/parts/StateFiles.h"
#include "test/unit/TempFolder.h"

#include <cstring>
#include <filesystem>
#include <fstream>

using namespace dlc;

namespace {

// A checkpoint's folder of two parts.
class Parts : public TempFolder {
protected:
  using Metadata = std::map<std::string, std::string>;

  // Elements [begin, end) of 0, 1, 2 ...
  NamedTensor slice(int64_t begin, int64_t end, const char *of = "w") {
    for (float i = 0; values_.size() < 12; ++i)
      values_.push_back(i);
    return {plan::sliceName(of, begin, end),
            DType::F32,
            {end - begin},
            reinterpret_cast<const std::byte *>(values_.data() + begin),
            static_cast<uint64_t>(end - begin) * 4};
  }
  Result<plan::StateFiles> open(const std::vector<NamedTensor> &first,
                                const Metadata &firstShapes,
                                const std::vector<NamedTensor> &second,
                                const Metadata &secondShapes) {
    std::filesystem::remove_all(path("c"));
    std::filesystem::create_directory(path("c"));
    for (const auto &[rank, tensors, shapes] :
         {std::tuple(0, &first, &firstShapes),
          std::tuple(1, &second, &secondShapes)})
      EXPECT_TRUE(writeSafetensors(path("c/" + plan::partName(rank, 2)),
                                   *tensors, *shapes)
                      .ok());
    EXPECT_TRUE(writeManifest(path("c"), {{"format", kCheckpointFormat},
                                          {"version", kCheckpointVersion}})
                    .ok());
    return plan::StateFiles::open(path("c"));
  }
  std::string error(const NamedTensor &second, const Metadata &shapes) {
    const auto opened =
        open({slice(0, 5)}, {{"w[0:5]", "3,4"}}, {second}, shapes);
    EXPECT_EQ(opened.status().code(), Code::Corrupt);
    return opened.status().message();
  }

  std::vector<float> values_;
};

TEST_F(Parts, MakeUpTensors) {
  NamedTensor whole = slice(2, 4);
  whole.name = "a[1:2]"; // whole, since the file knows no shape of it
  const auto files = open({slice(0, 5), whole}, {{"w[0:5]", "3,4"}},
                          {slice(5, 12)}, {{"w[5:12]", "3,4"}});
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files->names(), (std::vector<std::string>{"a[1:2]", "w"}));
  std::vector<std::byte> copy;
  const auto w = files->find("w", copy);
  ASSERT_TRUE(w);
  EXPECT_EQ(w->shape, (std::vector<int64_t>{3, 4}));
  ASSERT_EQ(w->bytes, 48u);
  EXPECT_EQ(std::memcmp(w->data, values_.data(), 48), 0);
  EXPECT_EQ(files->find("a[1:2]", copy)->shape, std::vector<int64_t>{2});
  EXPECT_FALSE(files->find("v", copy));
}

TEST_F(Parts, ThatDoNotAreRefused) {
  const Metadata good = {{"w[5:12]", "3,4"}};
  EXPECT_NE(error(slice(6, 12), {{"w[6:12]", "3,4"}})
                .find("bytes from 20 on of "
                      "tensor 'w' are in no "
                      "part"),
            std::string::npos);
  EXPECT_NE(error(slice(4, 12), {{"w[4:12]", "3,4"}}).find("in more than one"),
            std::string::npos);
  EXPECT_NE(error(slice(5, 11), {{"w[5:11]", "3,4"}}).find("have 44 bytes"),
            std::string::npos);
  for (const char *shape : {"4,4", "3,-4", "3;4", "99999999999999999999"})
    EXPECT_NE(error(slice(5, 12), {{"w[5:12]", shape}}).find("w[5:12]"),
              std::string::npos)
        << shape;
  ASSERT_TRUE(
      open({slice(0, 5)}, {{"w[0:5]", "3,4"}}, {slice(5, 12)}, good).ok());
  std::filesystem::remove(path("c/manifest.json"));
  std::filesystem::remove(path("c/" + plan::partName(0, 2)));
  ASSERT_TRUE(writeManifest(path("c"), {{"format", kCheckpointFormat},
                                        {"version", kCheckpointVersion}})
                  .ok());
  const Status status = plan::StateFiles::open(path("c")).status();
  EXPECT_EQ(status.code(), Code::Corrupt);
  EXPECT_NE(status.message().find("but no 'state-00001-of-00002.safetensors'"),
            std::string::npos)
      << status.message();
}

} // namespace
