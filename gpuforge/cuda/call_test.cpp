#include "gpuforge/cuda/call.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace gpuforge::cuda {
namespace {

int add(int a, int b) {
  return a + b;
}

class Table final : public CallTable {
 public:
  explicit Table(bool found = true) {
    bind_calls([&](const char* symbol) {
      return found && std::string(symbol) == "add" ? reinterpret_cast<void*>(&add) : nullptr;
    });
  }
  Call<int(int, int)> add_numbers{*this, "add"};
  Call<int()> absent{*this, "absent"};

 private:
  void fail(const CallBase& call, int result, std::string object) const override {
    throw std::runtime_error(std::string(call.symbol()) + " " + std::to_string(result) + " " + object);
  }
  void fail_missing(const CallBase& call) const override { throw std::logic_error(call.symbol()); }
};

TEST(Call, OneLineDeclaresAndLoads) {
  const Table table;
  ASSERT_EQ(table.calls().size(), 2u);
  EXPECT_STREQ(table.calls()[0]->symbol(), "add");
  EXPECT_TRUE(table.add_numbers.available());
  EXPECT_FALSE(table.absent.available());
}

TEST(Call, RawGivesTheResult) {
  const Table table;
  EXPECT_EQ(table.add_numbers.raw(2, 3), 5);
}

TEST(Call, CheckedRaisesEveryNonZeroResult) {
  const Table table;
  EXPECT_NO_THROW(table.add_numbers("object", 1, -1));
  try {
    table.add_numbers("object", 40, 2);
    FAIL() << "a result of 42 was taken for success";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "add 42 object");
  }
}

TEST(Call, TheObjectsTextIsMadeOnlyOnFailure) {
  const Table table;
  int made = 0;
  const auto object = [&] {
    ++made;
    return "made";
  };
  table.add_numbers(object, 0, 0);
  EXPECT_EQ(made, 0);
  EXPECT_THROW(table.add_numbers(object, 0, 1), std::runtime_error);
  EXPECT_EQ(made, 1);
}

TEST(Call, MissingFunctionsFailOnlyWhenCalled) {
  const Table table;
  EXPECT_THROW(table.absent.raw(), std::logic_error);
  EXPECT_THROW(table.absent("object"), std::logic_error);
  const Table empty(false);
  EXPECT_THROW(empty.add_numbers.raw(1, 1), std::logic_error);
}

}  // namespace
}  // namespace gpuforge::cuda
