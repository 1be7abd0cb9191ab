#include "device/cts/images.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
#define PARAMETERS "(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)"

namespace tutti::device::cts {

const std::string_view kEmpty = HEAD ".visible .entry empty" PARAMETERS " { ret; }\n";

const std::string_view kAdd = HEAD ".visible .entry add" PARAMETERS R"( {
  .reg .b64 %counter, %value, %old;
  ld.param.u64 %counter, [a];
  ld.param.u64 %value, [b];
  atom.global.add.u64 %old, [%counter], %value;
  ret;
}
)";

const std::string_view kAwait = HEAD ".visible .entry await" PARAMETERS R"( {
  .reg .pred %waits;
  .reg .b64 %word, %value;
  ld.param.u64 %word, [a];
again:
  ld.volatile.global.u64 %value, [%word];
  setp.eq.u64 %waits, %value, 0;
  @%waits bra again;
  ret;
}
)";

const std::string_view kVariables = HEAD R"(
.visible .global .align 4 .u32 v = 0x600d;
.visible .global .align 8 .u64 p = generic(v);
.visible .const .align 4 .u32 k = 0xcafe;
.visible .entry read)" PARAMETERS R"( {
  .reg .b64 %out;
  .reg .b32 %value;
  ld.param.u64 %out, [a];
  ld.const.u32 %value, [k];
  st.global.u32 [%out], %value;
  ret;
}
)";

const std::string_view kManaged = HEAD R"(
.visible .global .align 4 .attribute(.managed) .u32 m[2] = {0xd00d};
.visible .entry count)" PARAMETERS R"( {
  .reg .b64 %at;
  .reg .b32 %value, %old;
  ld.param.u32 %value, [b];
  mov.u64 %at, m;
  cvta.global.u64 %at, %at;
  atom.add.u32 %old, [%at+4], %value;
  ret;
}
)";

const std::string_view kBroken = HEAD ".visible .entry broken( {\n  ret;\n}\n";

}  // namespace tutti::device::cts
