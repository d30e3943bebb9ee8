// SPDX-License-Identifier: Apache-2.0
// runtime/train/record: what a run's folder gets while it is the run's.
#include "runtime/train/record/Curves.h"
#include "runtime/train/record/Recorder.h"

#include "test/unit/TempFolder.h"

#include <gmock/gmock.h>

#include <fstream>
#include <optional>

using namespace dlc;
using ::testing::HasSubstr;

namespace {

class Recording : public TempFolder {
protected:
  void SetUp() override {
    std::filesystem::create_directory(run_);
    auto lock = RunLock::take(run_);
    ASSERT_TRUE(lock.ok()) << lock.status().message();
    lock_.emplace(std::move(*lock));
    auto picture = openPicture(run_, *lock_);
    ASSERT_TRUE(picture.ok()) << picture.status().message();
    picture_ = std::move(*picture);
  }

  bool hasPictures(const std::string &folder) const {
    return std::filesystem::exists(folder + "/results.svg") &&
           std::filesystem::exists(folder + "/results.png");
  }

  const std::string run_ = path("run");
  std::optional<RunLock> lock_;
  std::unique_ptr<Recorder> picture_;
};

TEST_F(Recording, PicturesOfARun) {
  std::ofstream(run_ + "/config.yaml") << "steps: 1\n";
  picture_->onEnd();
  EXPECT_TRUE(hasPictures(run_));
}

// The folder went while a picture was drawn.
TEST_F(Recording, NoPictureInTheFolderOfAnother) {
  std::ofstream(run_ + "/config.yaml") << "steps: 1\n";
  std::filesystem::rename(run_, path("old"));
  std::filesystem::create_directory(run_);
  std::ofstream(run_ + "/config.yaml") << "steps: 2\n";
  picture_->onEnd();
  EXPECT_FALSE(std::filesystem::exists(run_ + "/results.svg"));
  EXPECT_FALSE(std::filesystem::exists(run_ + "/results.png"));
}

// Of one panel no half is left blank.
TEST(Curves, OnePanelHasTheWholeWidth) {
  Curve curve("loss");
  curve.add(0, 2);
  curve.add(10, 1);
  const CurvePanel panel{"loss", {&curve}};
  const std::string one = curvesSvg("", {panel});
  EXPECT_THAT(one, HasSubstr("width=\"920\""));
  EXPECT_THAT(one, HasSubstr("L908.0 "));
  const std::string two = curvesSvg("", {panel, panel});
  EXPECT_THAT(two, HasSubstr("width=\"920\""));
  EXPECT_THAT(two, HasSubstr("M62.0 "));
  EXPECT_THAT(two, HasSubstr("L448.0 "));
  EXPECT_THAT(two, HasSubstr("L908.0 "));
  EXPECT_THAT(two, HasSubstr("M522.0 "));
}

} // namespace
