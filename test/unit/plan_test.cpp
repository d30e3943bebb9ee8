// SPDX-License-Identifier: Apache-2.0
// runtime/plan: artifacts with any damage are refused before they are used, and
// plans that contradict themselves too.
#include "runtime/base/files/CheckedFiles.h"
#include "runtime/plan/Model.h"
#include "runtime/plan/parts/RankItems.h"
#include "test/unit/TempFolder.h"
#include "test/unit/TinyModel.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

using namespace dlc;
using namespace dlc::test;

namespace {

TEST(Verifier, AcceptsTheTinyPlan) {
  Status status = verifyPlan(tinyPlan());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(verifyPlan(tinyPlan(2)).ok());
}

TEST(Verifier, RefusesContradictions) {
  using Edit = std::function<void(plan::Plan &)>;
  auto train = [](plan::Plan &p) { return p.mutable_programs(0); };
  const std::vector<std::pair<std::string, Edit>> edits = {
      {"world", [](auto &p) { p.set_world_size(0); }},
      {"batch", [](auto &p) { p.set_batch(0); }},
      {"accumulates -1", [](auto &p) { p.set_accumulate(-1); }},
      {"accumulates", [](auto &p) { p.set_accumulate(int64_t(1) << 40); }},
      {"schedule has -1", [](auto &p) { p.set_schedule_steps(-1); }},
      {"schedule", [](auto &p) { p.set_schedule_steps(int64_t(1) << 62); }},
      {"validations has no state",
       [](auto &p) { p.mutable_plateau()->set_factor(0.5); }},
      {"validations has the number nan",
       [](auto &p) { p.mutable_plateau()->set_lr(NAN); }},
      {"batch", [](auto &p) { p.set_batch(-3); }},
      {"region", [](auto &p) { p.mutable_regions(0)->set_bytes(8); }},
      {"region", [](auto &p) { p.mutable_regions(0)->set_bytes(~0ull); }},
      {"region 9", [](auto &p) { p.mutable_states(0)->set_region(9); }},
      {"state region", [](auto &p) { p.mutable_states(0)->set_region(2); }},
      {"'w'", [](auto &p) { p.mutable_states(1)->set_name("w"); }},
      {"role", [](auto &p) { p.mutable_states(0)->set_role("thing"); }},
      {"not of f32",
       [](auto &p) {
         p.mutable_states(0)->set_role("error");
         p.mutable_states(0)->mutable_type()->set_dtype(plan::BF16);
       }},
      {"overlap", [](auto &p) { p.mutable_states(0)->set_offset(1024); }},
      {"outside", [](auto &p) { p.mutable_states(0)->set_offset(~0ull - 7); }},
      {"aligned", [](auto &p) { p.mutable_states(0)->set_offset(2); }},
      {"type",
       [](auto &p) {
         p.mutable_states(0)->mutable_type()->set_dtype(plan::DTYPE_INVALID);
       }},
      {"type",
       [](auto &p) {
         p.mutable_states(0)->mutable_type()->set_shape(0, int64_t(1) << 62);
       }},
      {"type",
       [](auto &p) { p.mutable_states(0)->mutable_type()->set_shape(0, -4); }},
      {"belongs", [](auto &p) { p.mutable_states(1)->set_of("none"); }},
      {"another type",
       [](auto &p) { p.mutable_states(1)->mutable_type()->set_shape(0, 3); }},
      {"program", [](auto &p) { p.mutable_programs(1)->set_name("predict"); }},
      {"buffer 0",
       [=](auto &p) { train(p)->mutable_buffers(0)->set_region(77); }},
      {"outside",
       [=](auto &p) { train(p)->mutable_buffers(0)->set_offset(1 << 20); }},
      {"port", [=](auto &p) { train(p)->mutable_inputs(0)->set_buffer(99); }},
      {"port", [=](auto &p) { train(p)->mutable_inputs(0)->set_name("y"); }},
      {"limit", [=](auto &p) { train(p)->mutable_inputs(1)->set_limit(-1); }},
      {"limit",
       [=](auto &p) { train(p)->mutable_inputs(0)->set_from_end(true); }},
      {"buffer 99",
       [=](auto &p) { train(p)->mutable_commands(0)->set_inputs(0, 99); }},
      {"kind", [=](auto &p) { train(p)->mutable_commands(0)->set_kind(""); }},
      {"symbol",
       [=](auto &p) { train(p)->mutable_commands(0)->set_kind("kernel"); }},
      {"not started",
       [=](auto &p) { train(p)->mutable_commands(0)->set_kind("wait"); }},
      {"no program that is run",
       [=](auto &p) { train(p)->set_after("nothing"); }},
      {"no program that is run",
       [=](auto &p) { train(p)->set_after(train(p)->name()); }},
      {"of size 1 of 1", [=](auto &p) { train(p)->set_size(1); }},
      {"expected 'train_step@batch=1,time=3'",
       [=](auto &p) {
         p.add_sizes()->set_batch(p.batch());
         p.add_sizes()->set_batch(1);
         auto *dim = p.mutable_sizes(1)->add_dims();
         dim->set_name("time");
         dim->set_size(3);
         train(p)->set_size(1);
       }},
      {"a size has the batch 0", [=](auto &p) { p.add_sizes(); }},
      {"in the first size",
       [=](auto &p) { p.add_sizes()->set_batch(p.batch() + 1); }},
      {"dimension 'd' of a size is -1",
       [=](auto &p) {
         p.add_sizes()->set_batch(p.batch());
         auto *dim = p.mutable_sizes(0)->add_dims();
         dim->set_name("d");
         dim->set_size(-1);
       }},
      {"has ports", [=](auto &p) { train(p)->set_after("predict"); }},
      {"reduces",
       [=](auto &p) { train(p)->mutable_commands(0)->set_kind("all_reduce"); }},
  };
  for (const auto &[word, edit] : edits) {
    plan::Plan plan = tinyPlan();
    edit(plan);
    Status status = verifyPlan(plan);
    EXPECT_EQ(status.code(), Code::Corrupt) << word;
    EXPECT_NE(status.message().find(word), std::string::npos)
        << word << ": " << status.message();
  }
  plan::Plan unwaited = tinyPlan(2);
  unwaited.mutable_programs(0)->mutable_commands()->DeleteSubrange(2, 1);
  EXPECT_NE(verifyPlan(unwaited).message().find("never waited"),
            std::string::npos);
  plan::Plan other = tinyPlan();
  other.set_version(kPlanVersion + 1);
  EXPECT_EQ(verifyPlan(other).code(), Code::Incompatible);
}

// A tensor that is copied to the host and back.
plan::Plan offloading() {
  PlanBuilder b;
  plan::Region &host = *b.plan.add_regions();
  host.set_name("host");
  host.set_kind(plan::Region::HOST);
  host.set_bytes(16);
  plan::Program &train = b.program("train_step");
  const uint32_t x = b.scratch(train, plan::F32, {4}),
                 there = b.buffer(train, 3, 0, plan::F32, {4});
  b.set(b.command(train, "offload", {x}, {there}), "copy", 0);
  b.set(b.command(train, "wait_copy", {x}, {x}), "copy", 0);
  b.set(b.command(train, "fetch", {there}, {x}), "copy", 1);
  b.set(b.command(train, "wait_copy", {x}, {x}), "copy", 1);
  return b.plan;
}

TEST(Verifier, OnlyCopiesAccessTheHost) {
  EXPECT_TRUE(verifyPlan(offloading()).ok());
  using Edit = std::function<void(plan::Program &)>;
  const auto command = [](auto &p, int i) { return p.mutable_commands(i); };
  const std::vector<std::pair<std::string, Edit>> edits = {
      {"reads the memory of the host",
       [=](auto &p) { command(p, 0)->set_inputs(0, 1); }},
      {"writes the memory of the device",
       [=](auto &p) { command(p, 0)->set_outputs(0, 0); }},
      {"reads the memory of the device",
       [=](auto &p) { command(p, 2)->set_inputs(0, 0); }},
      {"writes the memory of the host",
       [=](auto &p) { command(p, 2)->set_outputs(0, 1); }},
      {"reads the memory of the host",
       [=](auto &p) { command(p, 2)->set_kind("copy"); }},
      {"writes the memory of the host",
       [=](auto &p) { command(p, 0)->set_kind("copy"); }},
      {"has 1 inputs and 0 outputs",
       [=](auto &p) { command(p, 0)->clear_outputs(); }},
      {"copy 0 is under way already",
       [=](auto &p) {
         p.mutable_commands()->SwapElements(1, 2);
         command(p, 1)->mutable_attributes(0)->set_i(0);
       }},
      {"copy 5 was not started",
       [=](auto &p) { command(p, 1)->mutable_attributes(0)->set_i(5); }},
      {"copy 1 is never waited for",
       [](auto &p) { p.mutable_commands()->RemoveLast(); }},
      {"port 'y' is in the memory of the host",
       [](auto &p) { PlanParts::port(*p.mutable_outputs(), "y", 1); }},
  };
  for (const auto &[text, edit] : edits) {
    plan::Plan plan = offloading();
    edit(*plan.mutable_programs(0));
    const Status status = verifyPlan(plan);
    EXPECT_EQ(status.code(), Code::Corrupt) << text;
    EXPECT_NE(status.message().find(text), std::string::npos)
        << text << ": " << status.message();
  }
}

// A kernel that updates a moment of 10 elements in items of 4; a copy of
// another moment.
plan::Plan sharded(const std::function<void(plan::Plan &)> &edit = {}) {
  PlanBuilder b;
  b.state("w", "param", {10});
  const uint64_t m = b.state("w.m", "moment", {10}, "w");
  const uint64_t n = b.state("w.n", "moment", {10}, "w");
  plan::Program &train = b.program("train_step");
  const uint32_t whole = b.buffer(train, 0, m, plan::F32, {10});
  auto &update = b.command(train, "kernel", {whole}, {whole});
  plan::Attribute &symbol = *update.add_attributes();
  symbol.set_name("symbol");
  symbol.set_s("k");
  b.set(update, "extent", 3);
  b.set(update, "shard", 4);
  b.part(b.plan, 0, m, 40, 16, 3);
  const uint32_t other = b.buffer(train, 0, n, plan::F32, {10});
  b.command(train, "copy", {other}, {other});
  if (edit)
    edit(b.plan);
  return b.plan;
}

TEST(Shards, EachRankHasItsItems) {
  const plan::Plan plan = sharded();
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan).message();
  EXPECT_EQ(plan::piecesOf(40, 3, 16, 2), (std::vector<size_t>{16, 24}));
  EXPECT_EQ(plan::piecesOf(40, 3, 16, 3), (std::vector<size_t>{16, 16, 8}));
  EXPECT_EQ(plan::piecesOf(40, 3, 16, 5),
            (std::vector<size_t>{0, 16, 0, 16, 8}));
  const int64_t many = int64_t(1) << 60;
  EXPECT_EQ(plan::itemsOf(many, 65535, 65536).last, many);
}

TEST(Shards, RefusesContradictions) {
  using Edit = std::function<void(plan::Plan &)>;
  const auto command = [](plan::Plan &p, int i) {
    return p.mutable_programs(0)->mutable_commands(i);
  };
  const std::vector<std::pair<std::string, Edit>> edits = {
      {"each rank has a part",
       [&](auto &p) { command(p, 1)->set_inputs(0, 0); }},
      {"a part is in region 9",
       [](auto &p) { p.mutable_parts(0)->set_region(9); }},
      {"is outside of it",
       [](auto &p) { p.mutable_parts(0)->set_bytes(1u << 20); }},
      {"not behind the one before",
       [](auto &p) { *p.add_parts() = p.parts(0); }},
      {"are not all of it", [](auto &p) { p.mutable_parts(0)->set_extent(2); }},
      {"are not all of it",
       [](auto &p) { p.mutable_parts(0)->set_item_bytes(0); }},
      {"in another way",
       [&](auto &p) { command(p, 0)->mutable_attributes(2)->set_i(5); }},
      {"in another way",
       [&](auto &p) { command(p, 0)->mutable_attributes(1)->set_i(4); }},
      {"in another way",
       [&](auto &p) {
         p.mutable_programs(0)->mutable_buffers(0)->mutable_type()->set_shape(
             0, 9);
       }},
      {"shared out in part",
       [](auto &p) { p.mutable_parts(0)->set_bytes(36); }},
  };
  for (const auto &[word, edit] : edits) {
    const Status status = verifyPlan(sharded(edit));
    EXPECT_EQ(status.code(), Code::Corrupt) << word;
    EXPECT_NE(status.message().find(word), std::string::npos)
        << word << ": " << status.message();
  }
}

// Early versions did not tell the parts.
TEST(Shards, RefusesPlansOfEarlyVersions) {
  const Status status = verifyPlan(sharded([](auto &p) { p.clear_parts(); }));
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_NE(status.message().find("compile the model again"),
            std::string::npos);
}

class Artifacts : public TempFolder {
protected:
  void SetUp() override { ASSERT_TRUE(writeTinyModel(path("m.dlc")).ok()); }
  Status open() { return Artifact::open(path("m.dlc")).status(); }
  // Rewrites a file of the artifact.
  void edit(const std::string &name,
            const std::function<void(std::string &)> &change) {
    std::string content = *readFile(path("m.dlc/" + name));
    change(content);
    std::ofstream(path("m.dlc/" + name), std::ios::binary) << content;
  }
  void rewritePlan(const std::function<void(plan::Plan &)> &change) {
    plan::Plan plan = tinyPlan();
    change(plan);
    auto writer = ArtifactWriter::create(path("m.dlc"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(
        writeTinyState(writer->folder() + "/state.safetensors", plan, 0, 0)
            .ok());
    Status status = writer->finish(plan, "dlc compile m.onnx --batch=2");
    ASSERT_TRUE(status.ok()) << status.message();
  }
};

TEST_F(Artifacts, Open) {
  auto artifact = Artifact::open(path("m.dlc"));
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->plan().batch(), 2);
  EXPECT_TRUE(artifact->kernels().empty());
  EXPECT_EQ(artifact->hash().size(), 64u);
}

TEST_F(Artifacts, SameContentSameHash) {
  std::string hash = Artifact::open(path("m.dlc"))->hash();
  ASSERT_TRUE(writeTinyModel(path("again.dlc")).ok());
  EXPECT_EQ(Artifact::open(path("again.dlc"))->hash(), hash);
}

TEST_F(Artifacts, EveryChangedByteIsFound) {
  for (std::string name : {"manifest.json", "plan.pb", "state.safetensors"}) {
    const std::string good = *readFile(path("m.dlc/" + name));
    for (size_t at = 0; at < good.size(); at += name == "plan.pb" ? 17 : 5) {
      edit(name, [&](std::string &content) { content[at] ^= 0x10; });
      Status status = open();
      EXPECT_EQ(status.code(), Code::Corrupt) << name << " " << at;
      EXPECT_NE(status.message().find(name), std::string::npos)
          << status.message();
      edit(name, [&](std::string &content) { content = good; });
    }
  }
  EXPECT_TRUE(open().ok());
}

// Also if the time of its last change is set back.
TEST_F(Artifacts, AHashedFileThatChangesIsHashedAgain) {
  const std::string file = path("m.dlc/state.safetensors");
  const std::string content = *readFile(file);
  const std::string hash = sha256(std::as_bytes(std::span(content)));
  const auto isKnown = [&] {
    struct stat found {};
    return ::stat(file.c_str(), &found) == 0 && isChecked(found, hash);
  };
  EXPECT_TRUE(open().ok());
  EXPECT_FALSE(isKnown()); // too new
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_TRUE(open().ok());
  EXPECT_TRUE(isKnown());
  const auto time = std::filesystem::last_write_time(file);
  edit("state.safetensors", [](std::string &content) { content[9] ^= 1; });
  std::filesystem::last_write_time(file, time);
  EXPECT_FALSE(isKnown());
  EXPECT_EQ(open().code(), Code::Corrupt);
}

TEST_F(Artifacts, MissingFilesAreNamed) {
  std::filesystem::remove(path("m.dlc/plan.pb"));
  EXPECT_EQ(open().code(), Code::Corrupt);
  EXPECT_NE(open().message().find("plan.pb"), std::string::npos);
  EXPECT_EQ(Artifact::open(path("none.dlc")).status().code(), Code::Failed);
}

TEST_F(Artifacts, OtherVersionsAreIncompatible) {
  edit("manifest.json", [](std::string &text) {
    size_t at = text.find("\"version\": 2");
    text.replace(at, 12, "\"version\": 1002");
  });
  EXPECT_EQ(open().code(), Code::Incompatible) << open().message();
  EXPECT_NE(open().message().find("version"), std::string::npos);
}

TEST_F(Artifacts, MissingCpuFeaturesSayHowToGoOn) {
  rewritePlan([](plan::Plan &plan) {
    plan.set_cpu("riverlake");
    plan.add_cpu_features("sse2");
  });
  EXPECT_TRUE(open().ok());
  ::setenv("DLC_HIDE_CPU_FEATURES", "avx2,sse2", 1);
  Status status = open();
  EXPECT_TRUE(Artifact::open(path("m.dlc"), Artifact::Use::Inspect).ok());
  ::unsetenv("DLC_HIDE_CPU_FEATURES");
  EXPECT_EQ(status.code(), Code::Incompatible);
  for (std::string word : {"riverlake", "sse2", "dlc compile m.onnx --batch=2"})
    EXPECT_NE(status.message().find(word), std::string::npos)
        << status.message();
}

// What is known of a file is listed as if it had been read: a checkpoint that
// is written must not be read again.
TEST_F(Artifacts, ManifestTakesWhatIsKnown) {
  const std::string content = "as long as it takes";
  const Json fields = {{"format", "dlc-checkpoint"}, {"version", 2}};
  const auto write = [&](const char *name, const std::string &of) {
    ASSERT_TRUE(makeFolder(path(name)).ok());
    ASSERT_TRUE(writeNewFile(path(name) + "/known", content).ok());
    ASSERT_TRUE(writeNewFile(path(name) + "/other", content).ok());
    const auto bytes = std::as_bytes(std::span(of));
    ASSERT_TRUE(writeManifest(path(name), fields,
                              {{"known", {bytes.size(), sha256(bytes)}}})
                    .ok());
  };
  write("right", content);
  EXPECT_TRUE(checkManifest(path("right"), "dlc-checkpoint", 2).ok());
  write("wrong", "as long as it was..");
  const Status status =
      checkManifest(path("wrong"), "dlc-checkpoint", 2).status();
  EXPECT_EQ(status.code(), Code::Corrupt);
  EXPECT_NE(status.message().find("known' has changed"), std::string::npos)
      << status.message();
}

// Folders that compile -o must not touch, and what is said of them.
TEST_F(Artifacts, WriterKeepsForeignFolders) {
  const auto file = [&](const std::string &name, const std::string &content) {
    ASSERT_TRUE(makeFolder(parentOf(path(name))).ok());
    ASSERT_TRUE(writeNewFile(path(name), content).ok());
  };
  const auto artifact = [&](const std::string &name) {
    ASSERT_TRUE(writeTinyModel(path(name)).ok());
  };
  file("mine/file", "keep me");
  file("web/manifest.json", R"({"name": "app", "icons": []})");
  artifact("checkpoint");
  std::filesystem::remove(path("checkpoint/manifest.json"));
  ASSERT_TRUE(writeManifest(path("checkpoint"),
                            {{"format", "dlc-checkpoint"}, {"version", 2}})
                  .ok());
  artifact("notes");
  file("notes/notes.txt", "keep me");
  artifact("inner");
  file("inner/more/file", "keep me");
  artifact("run/model.dlc");
  file("run/config.yaml", "");
  for (auto [name, what] :
       {std::pair("mine", "not an artifact: it has no manifest.json"),
        {"mine/", "not an artifact: it has no manifest.json"},
        {"web", "not an artifact: "},
        {"checkpoint", "format is 'dlc-checkpoint', expected 'dlc-artifact'"},
        {"notes", "an artifact, but 'notes.txt' in it was not written by dlc"},
        {"inner", "an artifact, but 'more' in it was not written by dlc"},
        {"run", "a run"},
        {"run/model.dlc", "the artifact of a run"}}) {
    const Status status = ArtifactWriter::create(path(name)).status();
    EXPECT_EQ(status.code(), Code::Failed) << name;
    EXPECT_NE(
        status.message().find(std::string("exists and is ") +
                              (what[0] == 'f' ? "not an artifact" : what)),
        std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find(what), std::string::npos);
  }
  EXPECT_EQ(*readFile(path("mine/file")), "keep me");
  EXPECT_TRUE(exists(path("inner/more/file")));
}

TEST_F(Artifacts, WriterLooksAgainBeforeItReplaces) {
  auto writer = ArtifactWriter::create(path("m.dlc"));
  ASSERT_TRUE(
      writeTinyState(writer->folder() + "/state.safetensors", tinyPlan(), 0, 0)
          .ok());
  ASSERT_TRUE(writeNewFile(path("m.dlc/mine"), "keep me").ok());
  EXPECT_FALSE(writer->finish(tinyPlan(), "").ok());
  EXPECT_EQ(*readFile(path("m.dlc/mine")), "keep me");
}

TEST_F(Artifacts, WriterReplacesADamagedArtifact) {
  std::filesystem::remove(path("m.dlc/plan.pb"));
  edit("state.safetensors", [](std::string &content) { content.clear(); });
  EXPECT_FALSE(open().ok());
  EXPECT_TRUE(writeTinyModel(path("m.dlc")).ok());
  EXPECT_TRUE(open().ok());
}

// Artifacts of version 1 have hashes of another kind.
TEST_F(Artifacts, TheOlderVersionIsRead) {
  Json manifest = *parseJson(*readFile(path("m.dlc/manifest.json")));
  std::filesystem::remove(path("m.dlc/manifest.json"));
  manifest.erase("hash");
  manifest["version"] = 1;
  ASSERT_TRUE(writeManifest(path("m.dlc"), manifest).ok());
  auto artifact = Artifact::open(path("m.dlc"));
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->hash().size(), 32u);
  EXPECT_EQ(artifact->manifest()["files"]["plan.pb"]["hash"]
                .get<std::string>()
                .size(),
            32u);
  edit("plan.pb", [](std::string &content) { content[0] ^= 1; });
  EXPECT_EQ(open().code(), Code::Corrupt);
}

TEST_F(Artifacts, ListedFilesAreReadByTheirHash) {
  const Json manifest =
      *readManifest(path("m.dlc"), kArtifactFormat, kArtifactVersion);
  EXPECT_TRUE(readListed(path("m.dlc"), manifest, "plan.pb").ok());
  EXPECT_EQ(readListed(path("m.dlc"), manifest, "kernels.so").status().code(),
            Code::Corrupt);
  edit("plan.pb", [](std::string &content) { content[0] ^= 1; });
  EXPECT_EQ(readListed(path("m.dlc"), manifest, "plan.pb").status().code(),
            Code::Corrupt);
}

TEST_F(Artifacts, BadPlansAreNotWritten) {
  plan::Plan plan = tinyPlan();
  plan.set_batch(0);
  auto writer = ArtifactWriter::create(path("bad.dlc"));
  EXPECT_EQ(writer->finish(plan, "").code(), Code::Corrupt);
  EXPECT_FALSE(exists(path("bad.dlc")));
}

} // namespace
