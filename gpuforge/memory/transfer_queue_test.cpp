#include "gpuforge/memory/transfer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace gpuforge::memory {
namespace {

using enum TransferDirection;
using State = TransferState;

TransferLimits small_limits() {
  const LaneLimits lane{10, 3, 25, 2};
  return {lane, lane, lane};
}

TransferQueue::Request request(std::size_t bytes, int priority = 0, bool ready = true) {
  return {.direction = to_device, .bytes = bytes, .priority = priority, .ready = ready, .label = "x"};
}

TEST(TransferQueue, CutsIntoPiecesAndFinishes) {
  TransferQueue queue(small_limits());
  const TransferId id = queue.add(request(25), 100);
  EXPECT_EQ(queue.status(id).state, State::queued);
  std::vector<TransferPiece> pieces;
  while (const auto piece = queue.start(to_device, 200)) pieces.push_back(*piece);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[1].offset, 10u);
  EXPECT_EQ(pieces[2].bytes, 5u);
  EXPECT_TRUE(pieces[2].last && !pieces[1].last);
  EXPECT_TRUE(queue.handed_over(id));
  EXPECT_FALSE(queue.finish(pieces[0], 300));
  EXPECT_EQ(queue.status(id).bytes_done, 10u);
  EXPECT_DOUBLE_EQ(queue.status(id).progress(), 0.4);
  EXPECT_DOUBLE_EQ(queue.status(id).bandwidth_gbps(), 10.0 / 100 / 1e3);
  EXPECT_FALSE(queue.finish(pieces[2], 300));
  EXPECT_TRUE(queue.finish(pieces[1], 400));
  EXPECT_EQ(queue.status(id).state, State::completed);
  EXPECT_EQ(queue.reason(id), "completed");
  EXPECT_EQ(to_text(queue.status(id)), "transfer 1 'x' to the device: completed, 25 of 25 bytes, 0.0 GB/s");
  queue.forget(id);
  EXPECT_TRUE(queue.ids().empty());
}

TEST(TransferQueue, AnUrgentOneGoesBeforeTheRestOfAHugeOne) {
  TransferQueue queue(small_limits());
  const TransferId huge = queue.add(request(1000), 0);
  const auto first = queue.start(to_device, 0);
  const auto second = queue.start(to_device, 0);
  EXPECT_EQ(queue.start(to_device, 0), std::nullopt) << "30 bytes would be in flight, of 25";
  const TransferId urgent = queue.add(request(5, 7), 1);
  const auto third = queue.start(to_device, 1);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->id, urgent);
  EXPECT_EQ(queue.start(to_device, 1), std::nullopt);
  EXPECT_EQ(queue.reason(huge), "3 pieces of 25 bytes are in flight, of 3 pieces and 25 bytes at most");
  EXPECT_FALSE(queue.finish(*first, 2));
  EXPECT_EQ(queue.start(to_device, 2)->id, huge);
  EXPECT_FALSE(queue.finish(*second, 2));
}

TEST(TransferQueue, DirectionsDoNotHoldEachOtherUp) {
  TransferQueue queue(small_limits());
  queue.add(request(1000), 0);
  while (queue.start(to_device, 0)) {
  }
  auto back = request(10);
  back.direction = to_host;
  const TransferId id = queue.add(back, 0);
  EXPECT_EQ(queue.start(to_host, 0)->id, id);
}

TEST(TransferQueue, APieceBiggerThanTheLimitGoesAlone) {
  TransferLimits limits = small_limits();
  limits.to_device.bytes = 4;
  TransferQueue queue(limits);
  queue.add(request(20), 0);
  const auto piece = queue.start(to_device, 0);
  ASSERT_TRUE(piece);
  EXPECT_EQ(queue.start(to_device, 0), std::nullopt);
  EXPECT_FALSE(queue.finish(*piece, 1));
  EXPECT_TRUE(queue.start(to_device, 1));
}

TEST(TransferQueue, OneThatWaitsForItsEventHoldsNoneUp) {
  TransferQueue queue(small_limits());
  const TransferId waiting = queue.add(request(5, 9, false), 0);
  const TransferId other = queue.add(request(5), 0);
  EXPECT_EQ(queue.reason(waiting), "waits for its event");
  EXPECT_EQ(queue.totals(to_device).waiting, 1u);
  EXPECT_EQ(queue.start(to_device, 0)->id, other);
  queue.make_ready(waiting);
  EXPECT_EQ(queue.reason(waiting), "next");
  EXPECT_EQ(queue.start(to_device, 0)->id, waiting);
  EXPECT_EQ(queue.totals(to_device).waiting, 0u);
  EXPECT_EQ(
      to_text(to_device, queue.totals(to_device)),
      "to the device: 2 pieces of 10 bytes in flight (0 staged), 0 transfers ready, 0 waiting for events; "
      "so far 0 completed, 0 failed, 0 cancelled, 0 bytes");
}

TEST(TransferQueue, WithoutStagingBuffersTheOthersGo) {
  TransferQueue queue(small_limits());
  auto staged = request(15, 5);
  staged.staged = true;
  const TransferId first = queue.add(staged, 0);
  const TransferId second = queue.add(staged, 0);
  const TransferId direct = queue.add(request(1), 0);
  EXPECT_EQ(queue.start(to_device, 0)->id, first);
  EXPECT_EQ(queue.start(to_device, 0)->id, first);
  EXPECT_EQ(queue.reason(second), "all 2 staging buffers are in use");
  EXPECT_EQ(queue.reason(direct), "1 transfers of higher rank go first");
  EXPECT_EQ(queue.start(to_device, 0)->id, direct);
}

TEST(TransferQueue, CancelIsAtOnceWhileQueuedAndAfterThePiecesInFlight) {
  TransferQueue queue(small_limits());
  const TransferId huge = queue.add(request(1000), 0);
  const TransferId queued = queue.add(request(10), 0);
  auto answer = queue.cancel(queued, 5);
  EXPECT_TRUE(answer.will_cancel && answer.over);
  EXPECT_EQ(queue.status(queued).state, State::cancelled);
  answer = queue.cancel(queued, 6);
  EXPECT_FALSE(answer.will_cancel || answer.over) << "it is over";

  const auto one = queue.start(to_device, 6);
  const auto two = queue.start(to_device, 6);
  answer = queue.cancel(huge, 7);
  EXPECT_TRUE(answer.will_cancel && !answer.over);
  EXPECT_EQ(queue.start(to_device, 7), std::nullopt);
  EXPECT_EQ(queue.reason(huge), "stopped; 2 pieces in flight end first");
  EXPECT_FALSE(queue.finish(*one, 8));
  EXPECT_TRUE(queue.finish(*two, 8));
  EXPECT_EQ(queue.status(huge).state, State::cancelled);
  EXPECT_EQ(queue.status(huge).bytes_done, 20u);

  const TransferId late = queue.add(request(5), 9);
  const auto last = queue.start(to_device, 9);
  EXPECT_FALSE(queue.cancel(late, 9).will_cancel) << "all of it is in flight";
  EXPECT_TRUE(queue.finish(*last, 9));
  EXPECT_EQ(queue.status(late).state, State::completed);
}

TEST(TransferQueue, AFailureStopsTheRestAndKeepsTheFirstReason) {
  TransferQueue queue(small_limits());
  const TransferId id = queue.add(request(1000), 0);
  const auto one = queue.start(to_device, 0);
  const auto two = queue.start(to_device, 0);
  EXPECT_FALSE(queue.fail(*one, Error(ErrorCode::cuda, "first"), 1));
  EXPECT_EQ(queue.start(to_device, 1), std::nullopt);
  EXPECT_FALSE(queue.cancel(id, 1).will_cancel) << "it failed already";
  EXPECT_TRUE(queue.fail(*two, Error(ErrorCode::cuda, "second"), 1));
  EXPECT_EQ(queue.status(id).state, State::failed);
  EXPECT_EQ(queue.status(id).failure->message(), "first");
  EXPECT_EQ(queue.totals(to_device).pieces, 0u);
}

TEST(TransferQueue, NothingIsOnePieceThatKeepsItsPlace) {
  TransferQueue queue(small_limits());
  const TransferId id = queue.add(request(0), 0);
  const auto piece = queue.start(to_device, 0);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->bytes, 0u);
  EXPECT_TRUE(queue.finish(*piece, 1));
  EXPECT_EQ(queue.status(id).state, State::completed);
  EXPECT_DOUBLE_EQ(queue.status(id).progress(), 1);
}

TEST(TransferQueue, RefusesNonsense) {
  TransferLimits limits;
  limits.to_host.pieces = 0;
  EXPECT_THROW(TransferQueue{limits}, Error);
  TransferQueue queue;
  EXPECT_THROW(static_cast<void>(queue.status(1)), Error);
  const TransferId id = queue.add(request(1), 0);
  EXPECT_THROW(queue.forget(id), Error) << "it is not over";
}

// The same rules written down as plainly as possible.
struct Model {
  struct Item {
    TransferId id;
    TransferQueue::Request request;
    std::size_t started = 0, flying = 0, done = 0;
    bool all_started = false, stopped = false, failed = false, over = false;
  };
  std::vector<Item> items;
  std::vector<TransferPiece> flying;

  Item& at(TransferId id) { return *std::ranges::find(items, id, &Item::id); }
  std::optional<TransferId> next(TransferDirection direction, const LaneLimits& limits) const {
    std::size_t pieces = 0, bytes = 0, staged = 0;
    for (const TransferPiece& piece : flying) {
      if (piece.direction != direction) continue;
      ++pieces;
      bytes += piece.bytes;
      staged += piece.staged ? 1 : 0;
    }
    const Item* best = nullptr;
    for (const Item& item : items) {
      if (item.request.direction != direction || !item.request.ready || item.all_started || item.stopped)
        continue;
      if (item.request.staged && staged >= limits.staged_pieces) continue;
      if (best == nullptr || item.request.priority > best->request.priority) best = &item;
    }
    if (best == nullptr || pieces >= limits.pieces) return {};
    const std::size_t size = std::min(limits.piece_bytes, best->request.bytes - best->started);
    if (pieces > 0 && bytes + size > limits.bytes) return {};
    return best->id;
  }
  void settle(Item& item) {
    if (item.flying == 0 && (item.stopped || item.all_started)) item.over = true;
  }
  State state(const Item& item) const {
    if (!item.over) return item.started == 0 && !item.all_started ? State::queued : State::in_progress;
    return item.failed ? State::failed : item.stopped ? State::cancelled : State::completed;
  }
};

class RandomTransfers : public testing::TestWithParam<int> {};

TEST_P(RandomTransfers, FollowTheModel) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto upto = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  TransferLimits limits;
  for (LaneLimits* lane : {&limits.to_device, &limits.to_host, &limits.on_device}) {
    *lane = {1 + upto(20), 1 + upto(4), 1 + upto(60), 1 + upto(3)};
  }
  TransferQueue queue(limits);
  Model model;
  for (int step = 0; step < 400; ++step) {
    const double now = step;
    const auto direction = static_cast<TransferDirection>(upto(3));
    switch (upto(6)) {
      case 0: {
        TransferQueue::Request made{.direction = direction,
                                    .bytes = upto(5) == 0 ? 0 : upto(100),
                                    .priority = static_cast<int>(upto(3)) - 1,
                                    .staged = upto(2) == 0,
                                    .ready = upto(3) != 0};
        model.items.push_back({queue.add(made, now), made});
        break;
      }
      case 1:
      case 2: {
        const auto expected = model.next(direction, limits.of(direction));
        const auto piece = queue.start(direction, now);
        ASSERT_EQ(piece.has_value(), expected.has_value()) << "step " << step;
        if (!piece) break;
        ASSERT_EQ(piece->id, *expected) << "step " << step;
        Model::Item& item = model.at(piece->id);
        ASSERT_EQ(piece->offset, item.started);
        item.started += piece->bytes;
        ++item.flying;
        item.all_started = item.started == item.request.bytes;
        ASSERT_EQ(piece->last, item.all_started);
        model.flying.push_back(*piece);
        break;
      }
      case 3: {
        if (model.flying.empty()) break;
        const std::size_t which = upto(model.flying.size());
        const TransferPiece piece = model.flying[which];
        model.flying.erase(model.flying.begin() + static_cast<std::ptrdiff_t>(which));
        Model::Item& item = model.at(piece.id);
        --item.flying;
        bool over = false;
        if (upto(10) == 0) {
          item.failed = item.stopped = true;
          over = queue.fail(piece, Error(ErrorCode::cuda, "lost"), now);
        } else {
          item.done += piece.bytes;
          over = queue.finish(piece, now);
        }
        model.settle(item);
        ASSERT_EQ(over, item.over) << "step " << step;
        break;
      }
      default: {
        if (model.items.empty()) break;
        Model::Item& item = model.items[upto(model.items.size())];
        if (upto(2) == 0) {
          queue.make_ready(item.id);
          item.request.ready = true;
        } else {
          const bool can = !item.over && !item.all_started && !item.failed;
          const auto answer = queue.cancel(item.id, now);
          ASSERT_EQ(answer.will_cancel, can);
          if (can) item.stopped = true;
          if (can) model.settle(item);
          ASSERT_EQ(answer.over, can && item.over);
        }
      }
    }
    for (const Model::Item& item : model.items) {
      ASSERT_EQ(queue.status(item.id).state, model.state(item))
          << "transfer " << item.id << ", step " << step;
      ASSERT_EQ(queue.status(item.id).bytes_done, item.done);
    }
  }
  // All that is ready gets done.
  for (const Model::Item& item : model.items) queue.make_ready(item.id);
  for (bool moved = true; moved;) {
    moved = !model.flying.empty();
    for (const TransferPiece& piece : std::exchange(model.flying, {})) queue.finish(piece, 1000);
    for (const auto direction : {to_device, to_host, on_device}) {
      while (const auto piece = queue.start(direction, 1000)) model.flying.push_back(*piece);
    }
    moved = moved || !model.flying.empty();
  }
  for (const TransferId id : queue.ids()) EXPECT_TRUE(is_over(queue.status(id).state));
  for (const auto direction : {to_device, to_host, on_device}) {
    const LaneTotals totals = queue.totals(direction);
    EXPECT_EQ(totals.pieces + totals.bytes + totals.staged + totals.waiting + totals.ready, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTransfers, testing::Range(0, 300));

}  // namespace
}  // namespace gpuforge::memory
