// SPDX-License-Identifier: Apache-2.0
// Runs that dlc.hpp starts and resumes: callbacks, options, signals, messages.
#include "test/unit/ApiFixture.h"

#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

namespace {

TEST_F(Api, CallbacksSeeStepsAndEpochs) {
  Longs steps, epochs;
  Callbacks callbacks;
  callbacks.step = [&](const dlc_step &s) {
    steps.push_back(s.step);
    EXPECT_EQ(s.steps, 10);
    EXPECT_EQ(s.epoch, (s.step - 1) / 5);
    EXPECT_TRUE(valueOf(s, "loss"));
    EXPECT_FALSE(valueOf(s, "nothing"));
    return true;
  };
  callbacks.epoch = [&](const dlc_epoch &e) {
    epochs.push_back(e.epoch);
    EXPECT_EQ(valueOf(e, "val_accuracy"), 1.0);
    return true;
  };
  const Dataset data = samples(10);
  auto trainer = Trainer::open(path("m.dlc"), data, data,
                               options({{"run", path("run")}, {"epochs", "2"}}),
                               callbacks);
  const auto run = trainer.run();
  EXPECT_EQ(run.steps, 10);
  EXPECT_FALSE(run.stopped);
  EXPECT_EQ(steps.size(), 10u);
  EXPECT_EQ(epochs, (Longs{1, 2}));
  expectError(DLC_USAGE, "runs once", [&] { trainer.run(); });
  // It holds the run no longer.
  const auto more = options({{"epochs", "3"}});
  expectError(DLC_FAILED, "samples of a program: pass them again",
              [&] { Trainer::resume(run.folder, more); });
  EXPECT_EQ(Trainer::resume(run.folder, more, {}, &data, &data).run().steps,
            15);
}

TEST_F(Api, ASessionMakesSamplesAsItsRunDid) {
  double loss = 0;
  Callbacks callbacks;
  callbacks.epoch = [&](const dlc_epoch &e) {
    loss = *valueOf(e, "val_loss");
    return true;
  };
  const Dataset data = samples(10);
  const auto train = [&](const std::string &name, Options more) {
    more.insert(more.end(), {{"run", path(name)}, {"epochs", "1"}});
    return Trainer::open(path("m.dlc"), data, data, options(more), callbacks)
        .run()
        .folder;
  };
  const auto run = train("run", {{"mean", "0.75"}, {"std", "0.125"}});
  EXPECT_EQ(Session::open(run).evaluate(data).loss, loss);
  const double normalized = loss;
  train("plain", {});
  EXPECT_NE(loss, normalized);
}

TEST_F(Api, AFileOpenedWithOptions) {
  std::ofstream(path("a.csv")) << "id,a,b,c,d,kind\n7,1,2,3,4,u\n8,5,6,7,8,v\n"
                                  "9,1,1,1,1,v\n1,2,2,2,2,u\n";
  const Options columns = {{"columns", "x:a..d;y:kind"}};
  const Dataset table = Dataset::open(path("a.csv"), columns);
  EXPECT_EQ(session().evaluate(table).loss, (10 + 26 + 4 + 8) / 4.0);
  const auto halved = Dataset::open(
      path("a.csv"), {{"columns", "x:a..d;y:kind"}, {"scale", "0.5"}});
  EXPECT_EQ(session().evaluate(halved).loss, (10 + 26 + 4 + 8) / 8.0);
  expectError(DLC_USAGE, "no option 'colums'; did you mean 'columns'?", [&] {
    Dataset::open(path("a.csv"), {{"colums", "x:a"}});
  });
  expectError(DLC_FAILED, "no column 'e'", [&] {
    Dataset::open(path("a.csv"), {{"columns", "x:a..e"}});
  });
  expectError(DLC_USAGE, "names 2 sources of samples, expected one", [&] {
    Dataset::open(path("a.csv") + "," + path("m.dlc/state.safetensors"));
  });

  // A run takes them as its own, and goes on with them.
  const auto train = [&](const std::string &name, Options more) {
    more.insert(more.end(), {{"run", path(name)}, {"steps", "4"}});
    return Trainer::open(path("m.dlc"), halved, halved, options(more)).run();
  };
  const auto run = train("run", {});
  EXPECT_EQ(
      Session::open(run.folder).evaluate(Dataset::open(path("a.csv"))).loss,
      (10 + 26 + 4 + 8) / 8.0);
  Trainer::resume(run.folder, options({{"steps", "6"}}), {}, &halved).run();
  expectError(DLC_USAGE,
              "option 'scale' is given to the data set and to the "
              "trainer, expected one",
              [&] {
                train("twice", {{"scale", "1"}});
              });
  const auto whole = Dataset::open(
      path("a.csv"), {{"columns", "x:a..d;y:kind"}, {"scale", "1"}});
  expectError(DLC_USAGE, "that make other samples than the run has", [&] {
    Trainer::open(path("m.dlc"), halved, whole,
                  options({{"run", path("val")}, {"steps", "4"}}));
  });
  expectError(DLC_USAGE, "that make other samples than the run has", [&] {
    Trainer::resume(run.folder, options({{"steps", "8"}}), {}, &whole);
  });
}

TEST_F(Api, ACallbackEndsARunThatGoesOnLater) {
  const Dataset data = samples(10);
  const auto train = [&](const std::string &name, int64_t last) {
    Callbacks callbacks;
    callbacks.step = [last](const dlc_step &s) { return s.step < last; };
    return Trainer::open(path("m.dlc"), data,
                         options({{"run", path(name)}, {"steps", "20"}}),
                         callbacks)
        .run();
  };
  const auto whole = train("whole", 100), part = train("part", 7);
  EXPECT_TRUE(part.stopped);
  EXPECT_EQ(part.steps, 7);
  expectError(DLC_FAILED, "not the data", [&] {
    const Dataset other = samples(12);
    Trainer::resume(part.folder, options({{"steps", "30"}}), {}, &other);
  });
  const auto rest = Trainer::resume(part.folder, options({}), {}, &data).run();
  EXPECT_EQ(rest.steps, 20);
  Floats a(4), b(4);
  Session::open(whole.folder).read("w", a.data(), 16);
  Session::open(rest.folder).read("w", b.data(), 16);
  EXPECT_EQ(a, b);
}

TEST_F(Api, WhatACallbackThrowsComesOut) {
  Callbacks callbacks;
  callbacks.step = [](const dlc_step &) -> bool {
    throw std::logic_error("mine");
  };
  auto trainer = Trainer::open(path("m.dlc"), samples(10),
                               options({{"run", path("run")}}), callbacks);
  EXPECT_THROW(trainer.run(), std::logic_error);
}

TEST_F(Api, PlacesOfARun) {
  const Dataset data = samples(10);
  expectError(DLC_USAGE, "expected samples to train on",
              [&] { Trainer::open(path("m.dlc"), Options{}); });
  expectError(DLC_USAGE, "no option 'epoch'; did you mean 'epochs'?", [&] {
    Trainer::open(path("m.dlc"), data, {{"epoch", "1"}});
  });
  expectError(DLC_FAILED, "none", [&] { Trainer::resume(path("none")); });
  expectError(DLC_USAGE, "--seed cannot change", [&] {
    Trainer::resume(path("none"), {{"seed", "1"}});
  });
  dlc_trainer *made = nullptr;
  EXPECT_EQ(
      dlc_trainer_open(nullptr, nullptr, nullptr, nullptr, 0, nullptr, &made),
      DLC_USAGE);
  EXPECT_NE(std::string(dlc_message()).find("expected a model"),
            std::string::npos);
}

// Two processes would write one run folder under one lock.
TEST_F(Api, AForkedProcessDoesNotRunItsParentsTrainer) {
  std::optional<Trainer> trainer =
      Trainer::open(path("m.dlc"), samples(10),
                    options({{"run", path("run")}, {"steps", "3"}}));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    int code = DLC_OK;
    try {
      trainer->run();
    } catch (const Error &error) {
      code = error.code();
    }
    trainer.reset(); // without an effect
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), DLC_USAGE);
  EXPECT_EQ(trainer->run().steps, 3);
}

TEST_F(Api, LeavesSignalsAlone) {
  static int caught = 0;
  std::signal(SIGTERM, [](int) { ++caught; });
  Callbacks callbacks;
  callbacks.step = [](const dlc_step &s) {
    if (s.step == 2)
      std::raise(SIGTERM);
    return true;
  };
  const auto run =
      Trainer::open(path("m.dlc"), samples(10),
                    options({{"run", path("run")}, {"steps", "4"}}), callbacks)
          .run();
  std::signal(SIGTERM, SIG_DFL);
  EXPECT_EQ(caught, 1);
  EXPECT_EQ(run.steps, 4);
  EXPECT_EQ(run.signal, 0);
}

TEST_F(Api, MessagesGoToTheProgramsLog) {
  std::map<dlc_level, std::vector<std::string>> said;
  dlc_set_log(
      [](void *user, dlc_level level, const char *line) {
        (*static_cast<decltype(said) *>(user))[level].emplace_back(line);
      },
      &said);
  Trainer::open(path("m.dlc"), samples(10),
                {{"run", path("run")}, {"steps", "4"}, {"threads", "1"}})
      .run();
  ASSERT_FALSE(said[DLC_INFO].empty());
  EXPECT_NE(said[DLC_INFO][0].find("4 steps of 2 samples"), std::string::npos)
      << said[DLC_INFO][0];
  ASSERT_FALSE(said[DLC_PROGRESS].empty());
  EXPECT_NE(said[DLC_PROGRESS].back().find("step 4/4"), std::string::npos)
      << said[DLC_PROGRESS].back();
}

} // namespace
