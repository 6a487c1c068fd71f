#include "gpuforge/base/demangle.h"

#include <gtest/gtest.h>

namespace gpuforge {
namespace {

TEST(Demangle, NamesAreReadable) {
  EXPECT_EQ(readable_name("_Z4tileIfLi3EEvPT_4Walk"), "tile<float, 3>");
  EXPECT_EQ(readable_name("_ZN2ns2goIfEEvPT_NS_1VIPKS1_EEi"), "ns::go<float>");
  EXPECT_EQ(readable_name("_Z5innerPKfi"), "inner");
  EXPECT_EQ(readable_name("_Z4loadIjET_PKS0_"), "load<unsigned int>") << "without 'unsigned int'";
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_14anonEPi"), "(anonymous namespace)::anon");
  EXPECT_EQ(readable_name("_ZNK3VecIfEixEi"), "Vec<float>::operator[]");
}

TEST(Demangle, OtherNamesStay) {
  for (const char* const name : {"", "saxpy", "_Z", "_Zzz", "_Z4ti", "_ZTV3Vec", "_ZN2ns5valueE"})
    EXPECT_EQ(readable_name(name), name);
  const std::string endless = "_Z" + std::string(100'000, 'P');
  EXPECT_EQ(readable_name(endless), endless);
}

TEST(Demangle, ParametersStandApart) {
  EXPECT_EQ(demangle_function("_Z5innerPKfi")->parameters, "float const*, int");
  EXPECT_FALSE(demangle_function("saxpy").has_value());
}

}  // namespace
}  // namespace gpuforge
