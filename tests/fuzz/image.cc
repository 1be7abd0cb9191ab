// Any bytes as an image: the PTX in it, or a reason why there is none.
#include <cstdint>
#include <span>

#include "image/ptx_selection.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto texts = tutti::image::SelectPtx(std::span(data, size));
  if (texts ? texts->empty() : texts.error().text.empty()) __builtin_trap();
  return 0;
}
