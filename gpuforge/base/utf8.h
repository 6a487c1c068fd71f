// UTF-8 as written text needs it.
#pragma once

#include <string>
#include <string_view>

namespace gpuforge {

// The text with every byte sequence that is not UTF-8 (surrogates and overlong forms included) replaced by
// U+FFFD, one for each longest broken prefix as the Unicode standard advises.
std::string repair_utf8(std::string_view text);

}  // namespace gpuforge
