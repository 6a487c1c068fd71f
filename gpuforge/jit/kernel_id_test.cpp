#include "gpuforge/jit/kernel_id.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gpuforge/jit/fake_device_for_tests.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

constexpr FixedText kFile = "gpuforge/array/array.cu";

TEST(KernelId, WritesItsText) {
  EXPECT_EQ(KernelId(kFile, "gpuforge::spin").expression(), "gpuforge::spin");
  EXPECT_EQ(KernelId(kFile, "gpuforge::spin").file(), "gpuforge/array/array.cu");
  EXPECT_EQ(
      KernelId(kFile, "gpuforge::f", DType::f16, 8, -1, true, false, FixedText("gpuforge::Sum")).expression(),
      "gpuforge::f<gpuforge::half_t, 8, -1, true, false, gpuforge::Sum>");
  EXPECT_EQ(KernelId(kFile, "g", BitsType{1}, BitsType{4}, OneOf{"Elements", DType::bf16}).expression(),
            "g<unsigned char, unsigned int, Elements<gpuforge::bfloat16_t>>");
  KernelId nested(kFile, "h");
  nested.open("Call");
  nested.add_member("fn", FixedText::of("add"));
  nested.add(DType::f32);
  nested.close();
  nested.add(std::int64_t{1} << 40);
  EXPECT_EQ(nested.expression(), "h<Call<fn::add, float>, 1099511627776>");
}

// The same characters at another address are the same id.
TEST(KernelId, IsOfCharactersNotOfPlaces) {
  static const std::string file = "gpuforge/array/array.cu", kernel = "f", word = "Sum";
  const KernelId there(FixedText::of(file), FixedText::of(kernel), FixedText::of(word), 3);
  const KernelId here(kFile, "f", FixedText("Sum"), 3);
  EXPECT_TRUE(there == here);
  EXPECT_EQ(there.hash(), here.hash());
  EXPECT_FALSE(here == KernelId(kFile, "f", FixedText("Sun"), 3));
  EXPECT_FALSE(here == KernelId("gpuforge/array/other.cu", "f", FixedText("Sum"), 3));
}

TEST(KernelId, CopiesAreEqual) {
  const KernelId id(kFile, "f", DType::f32, 1, 2, 3, OneOf{"Elements", DType::i8});
  const KernelId copy = id;
  EXPECT_TRUE(copy == id);
  EXPECT_EQ(copy.expression(), id.expression());
  KernelId assigned(kFile, "g", 1);
  assigned = id;
  EXPECT_TRUE(assigned == id);
}

// Ids at random from a small alphabet, so that many differ in one place: they are equal where their file and
// text are, and nowhere else. A number in place of a word, or an argument inside of a template instead of
// behind it, is another kernel.
TEST(KernelId, IsEqualWhereTheTextIs) {
  std::mt19937 random(7);
  const auto any = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  std::map<std::string, KernelId> by_text;
  std::vector<KernelId> all;
  std::set<std::size_t> hashes;
  for (int i = 0; i < 3000; ++i) {
    KernelId id(any(2) == 0 ? kFile : FixedText("other.cu"), any(2) == 0 ? FixedText("f") : FixedText("ff"));
    int open = 0;
    for (int parts = any(5); parts > 0; --parts) {
      switch (any(8)) {
        case 0:
          id.add(any(2) == 0 ? DType::f32 : DType::u8);
          break;
        case 1:
          id.add(any(3));
          break;
        case 2:
          id.add(any(2) == 0);
          break;
        case 3:
          id.add(BitsType{any(2) == 0 ? 1u : 4u});
          break;
        case 4:
          id.add(any(2) == 0 ? FixedText("Sum") : FixedText("Su"));
          break;
        case 5:
          id.add_member("fn", any(2) == 0 ? FixedText("add") : FixedText("sub"));
          break;
        case 6:
          id.open("Call");
          id.add(any(2));
          ++open;
          break;
        default:
          id.add(OneOf{"One", any(2) == 0 ? DType::f32 : DType::i32});
      }
      if (open > 0 && any(2) == 0) {
        id.close();
        --open;
      }
    }
    while (open-- > 0) id.close();
    const auto [known, is_new] = by_text.emplace(std::string(id.file()) + " " + id.expression(), id);
    EXPECT_TRUE(known->second == id) << id.expression();
    EXPECT_EQ(known->second.hash(), id.hash());
    if (is_new) {
      for (const KernelId& other : all)
        EXPECT_FALSE(other == id) << other.expression() << " " << id.expression();
      all.push_back(id);
      hashes.insert(id.hash());
    }
  }
  EXPECT_GT(all.size(), 500u);
  EXPECT_EQ(hashes.size(), all.size());
}

TEST(KernelId, HasRoomForSoManyArguments) {
  KernelId id(kFile, "f");
  for (int i = 0; i < 40; ++i) id.add(i);
  EXPECT_THROW(id.add(40), Error);
}

// By text and by id it is one kernel, compiled once, on each device its own.
TEST(KernelId, FindsTheKernelThatItsTextDoes) {
  JitOptions options;
  options.search = cuda::search_options(read_environment());
  Jit jit(options, nullptr);
  try {
    jit.compiler().version();
  } catch (const Error& error) {
    GTEST_SKIP() << "no compiler here: " << error.what();
  }
  const auto device = std::make_shared<FakeDevice>();
  const auto other = std::make_shared<FakeDevice>();
  const auto id = [](DType dtype) { return KernelId(kFile, "gpuforge::fill_range", dtype); };
  std::vector<std::shared_ptr<const Kernel>> found(8);
  std::vector<std::thread> threads;
  for (auto& kernel : found) {
    threads.emplace_back([&] { kernel = jit.embedded_kernel(id(DType::f32), *device); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& kernel : found) EXPECT_EQ(kernel, found[0]);
  EXPECT_EQ(jit.counters().compiles, 1u);
  EXPECT_EQ(found[0]->entry().expression, "gpuforge::fill_range<float>");
  EXPECT_EQ(jit.embedded_kernel(kFile.text(), "gpuforge::fill_range<float>", *device), found[0]);
  EXPECT_NE(jit.embedded_kernel(id(DType::f32), *other), found[0]);
  EXPECT_NE(jit.embedded_kernel(id(DType::f64), *device), found[0]);
  EXPECT_EQ(jit.counters().compiles, 2u);
  const std::uint64_t hits = jit.counters().memory_hits;
  EXPECT_EQ(jit.embedded_kernel(id(DType::f32), *device), found[0]);
  EXPECT_EQ(jit.counters().memory_hits, hits + 1);
  EXPECT_THROW(jit.embedded_kernel(KernelId("gpuforge/none.cu", "f"), *device), Error);
}

}  // namespace
}  // namespace gpuforge::jit
