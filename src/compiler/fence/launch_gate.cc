#include "compiler/fence/launch_gate.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/checked.h"
#include "compiler/fence/local_bounds.h"
#include "guest/gpu/fenced_ptx.h"

namespace tutti::compiler::fencing {
namespace {

// Of parameters: what every driver and assembler takes, and what new ones take of new code.
constexpr uint64_t kMostParameterBytes = 4096, kMostOfNewCode = 32764;

uint64_t ParameterBytes(const ptx::Prototype& prototype) {
  uint64_t end = 0;
  for (const ptx::LocalVariable& parameter : prototype.params)
    end = AlignUp(end, uint64_t{parameter.alignment}) + parameter.bytes();
  return end;
}

}  // namespace

void AddLaunchParameter(ptx::Function& function) {
  if (!function.is_entry || !function.has_body) return;
  const uint64_t before = ParameterBytes(function.prototype),
                 after = AlignUp(before, sizeof(uint64_t)) + sizeof(uint64_t);
  if (after > kMostOfNewCode || (before <= kMostParameterBytes && after > kMostParameterBytes)) return;
  AddParameters(function, {guest::kLaunchParameter});
}

bool HasLaunchParameter(const ptx::Function& function) {
  const auto& parameters = function.prototype.params;
  return function.is_entry && !parameters.empty() && parameters.back().name == guest::kLaunchParameter;
}

size_t OwnParameters(const ptx::Function& function) {
  return function.prototype.params.size() - (HasLaunchParameter(function) ? 1 : 0);
}

// What others of its threads have found out is enough: most blocks of a large launch look once. %rd4: threads of it
// have come, %rd5: and go on.
std::string BeginFunction() {
  return fmt::format(R"(.func {0}(.param .b64 launch)
{{
	.reg .pred %p<2>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [launch];
	setp.eq.u64 %p1, %rd1, 0;
	@%p1 bra GOES_ON;
	ld.OWN.u64 %rd2, [__tutti_fence+{1}];
	setp.eq.u64 %p1, %rd2, 0;
	@%p1 bra GOES_ON;
	and.b64 %rd3, %rd1, {2};
	shl.b64 %rd3, %rd3, 3;
	add.u64 %rd3, %rd3, %rd2;
	shl.b64 %rd4, %rd1, 1;
	add.u64 %rd5, %rd4, 1;
	ld.volatile.global.u64 %rd6, [%rd3+{3}];
	setp.eq.u64 %p1, %rd6, %rd5;
	@%p1 bra GOES_ON;
	st.volatile.global.u64 [%rd3+{3}], %rd4;
	membar.sys;
WAITS:
	ld.volatile.global.u64 %rd7, [%rd2];
	setp.eq.u64 %p1, %rd7, {4};
	@%p1 bra WAITS;
	setp.ne.u64 %p1, %rd7, {5};
	@%p1 bra ENDS;
	st.volatile.global.u64 [%rd3+{3}], %rd5;
GOES_ON:
	ret;
ENDS:
	exit;
}}
)",
                     kBeginFunction, offsetof(guest::FenceWords, gates), guest::kLaunchGates - 1,
                     offsetof(guest::LaunchGates, begun), static_cast<uint64_t>(guest::LaunchVerdict::kWait),
                     static_cast<uint64_t>(guest::LaunchVerdict::kGoOn));
}

}  // namespace tutti::compiler::fencing
