#include "gpuforge/sched/dispatch_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "gpuforge/context/device_clock.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/device_testing.h"

namespace gpuforge::sched {
namespace {

using device::Gate;
using State = DispatchState;
using testing::HasSubstr;

// A stand-in for a kernel on the cpu device.
DispatchRequest host_work(std::string name, std::function<void()> work, int priority = 0,
                          std::string task = "t") {
  DispatchRequest request;
  request.kernel = std::move(name);
  request.launch = [work = std::move(work)](device::Stream& stream) { stream.enqueue(work); };
  request.priority = priority;
  request.task = std::move(task);
  return request;
}

class DispatchControllerTest : public testing::Test {
 protected:
  std::shared_ptr<device::Device> device_ = device::make_cpu_device();
};

TEST_F(DispatchControllerTest, RunsInOrderOfPriorityAndAccountsForTheTime) {
  DispatchController controller(device_);
  Gate gate;
  std::vector<std::string> order;  // written on the one stream's thread
  std::vector<Dispatch> all;
  all.push_back(controller.submit(host_work("hold", gate.work())));
  for (const auto& [name, priority] :
       {std::pair("low", -1), std::pair("first", 0), std::pair("second", 0), std::pair("urgent", 9)}) {
    all.push_back(controller.submit(host_work(
        name,
        [&order, name = std::string(name)] {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          order.push_back(name);
        },
        priority, "work")));
  }
  EXPECT_EQ(all[4].status().state, State::queued);
  EXPECT_EQ(controller.reason(all[4]), "1 launches are in flight on stream 0, of 1 at most");
  EXPECT_EQ(controller.reason(all[1]), "3 launches of higher rank on stream 0 go first");
  gate.open();
  controller.wait_all();
  EXPECT_EQ(order, (std::vector<std::string>{"urgent", "first", "second", "low"}));
  const TaskAccount account = controller.accounts().at("work");
  EXPECT_EQ(account.completed, 4u);
  EXPECT_GE(account.gpu_us, 4 * 2000);
  EXPECT_GE(all[1].status().gpu_us, 2000);
  EXPECT_GT(all[1].status().started_us, all[4].status().started_us);
  EXPECT_LT(all[1].status().started_us, host_clock_us());
  EXPECT_EQ(controller.reason(all[1]), "completed");
  const ProfileSpan span = profile_span(all[1].status());
  EXPECT_EQ(span.name, "low");
  EXPECT_EQ(span.track, "dispatch stream 0");
  EXPECT_EQ(span.start_us, all[1].status().started_us);
  EXPECT_GE(span.duration_us, 2000);
}

TEST_F(DispatchControllerTest, CancelledWorkNeverRuns) {
  DispatchController controller(device_);
  Gate gate;
  std::atomic<int> ran = 0;
  const Dispatch held = controller.submit(host_work("hold", gate.work()));
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  DispatchRequest request = host_work("never", [&] { ++ran; });
  request.keep = std::move(kept);
  const Dispatch never = controller.submit(std::move(request));
  EXPECT_TRUE(never.cancel());
  EXPECT_EQ(never.wait(), State::cancelled);
  EXPECT_EQ(profile_span(never.status()).name, "never (cancelled)");
  EXPECT_EQ(profile_span(never.status()).start_us, never.status().over_us);
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(held.cancel());
  gate.open();
  EXPECT_EQ(held.wait(), State::completed);
  EXPECT_EQ(ran, 0);
}

TEST_F(DispatchControllerTest, AFailureIsItsOwnAndTheRestGoesOn) {
  std::atomic<int> faults = 0;
  DispatchOptions options;
  options.on_fault = [&](const FaultReport&) { ++faults; };
  DispatchController controller(device_, options);
  const Dispatch bad =
      controller.submit(host_work("bad", [] { throw Error(ErrorCode::invalid_argument, "no such row"); }));
  const Dispatch good = controller.submit(host_work("good", [] {}));
  DispatchRequest refused = host_work("refused", [] {});
  refused.launch = [](device::Stream&) { throw std::runtime_error("grid too big"); };
  const Dispatch not_launched = controller.submit(std::move(refused));
  std::string message;
  EXPECT_EQ(device::code_of([&] { bad.wait(); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, HasSubstr("launch 1: kernel bad with grid (1, 1, 1), block (1, 1, 1) of task 't'"));
  EXPECT_THAT(message, HasSubstr("no such row"));
  EXPECT_EQ(good.wait(), State::completed);
  EXPECT_EQ(device::code_of([&] { not_launched.wait(); }, &message), ErrorCode::internal);
  EXPECT_THAT(message, HasSubstr("grid too big"));
  EXPECT_EQ(faults, 2);
  EXPECT_EQ(controller.faults().size(), 2u);
  EXPECT_FALSE(controller.faults()[0].context_lost);
  EXPECT_EQ(controller.accounts().at("t").failed, 2u);
}

TEST_F(DispatchControllerTest, DestructionWaitsForWhatIsInFlightAndCancelsTheRest) {
  std::atomic<int> ran = 0;
  Dispatch first, last;
  {
    DispatchController controller(device_);
    first = controller.submit(host_work("slow", [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++ran;
    }));
    last = controller.submit(host_work("never", [&] { ran += 100; }));
  }
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(first.wait(), State::completed);
  EXPECT_EQ(last.wait(), State::cancelled);
  EXPECT_FALSE(last.cancel());
}

TEST_F(DispatchControllerTest, ManyThreadsSubmit) {
  DispatchOptions options;
  options.stream_priorities = {0, 1, 2};
  std::atomic<int> over = 0;
  options.on_over = [&](const DispatchStatus&) { ++over; };
  DispatchController controller(device_, options);
  std::atomic<int> ran = 0, cancelled = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 100; ++i) {
        DispatchRequest request = host_work(
            "k", [&] { ++ran; }, static_cast<int>(i % 4), std::to_string(t));
        request.stream = (t + i) % 3;
        const Dispatch made = controller.submit(std::move(request));
        if (i % 7 == 0 && made.cancel()) ++cancelled;
        if (i % 10 == 0) made.wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  controller.wait_all();
  EXPECT_EQ(ran + cancelled, 800);
  EXPECT_EQ(over, 800);
  std::uint64_t completed = 0;
  for (const auto& [task, account] : controller.accounts()) completed += account.completed;
  EXPECT_EQ(completed, static_cast<std::uint64_t>(ran.load()));
}

TEST_F(DispatchControllerTest, RefusesBadInput) {
  EXPECT_THROW(DispatchController{nullptr}, Error);
  EXPECT_THROW(DispatchController(device_, {.stream_priorities = {}}), Error);
  EXPECT_THROW(DispatchController(device_, {.in_flight_per_stream = 0}), Error);
  DispatchController controller(device_);
  EXPECT_THROW(controller.submit({}), Error) << "nothing to launch";
  DispatchRequest elsewhere = host_work("k", [] {});
  elsewhere.stream = 1;
  EXPECT_THROW(controller.submit(std::move(elsewhere)), Error);
  EXPECT_THROW(Dispatch().wait(), Error);
}

}  // namespace
}  // namespace gpuforge::sched
