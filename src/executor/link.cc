#include "executor/link.h"

#include <iterator>

namespace tutti::executor {

using namespace cuda;

tutti::Result<std::vector<uint8_t>> Link(const Vendor& vendor, std::span<const uint8_t> text) {
  constexpr size_t kLogBytes = 16 << 10;
  std::vector<uint8_t> ended(text.begin(), text.end());
  ended.push_back(0);  // the driver reads text to its end
  std::string log(kLogBytes, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes - 1)};
  CUlinkState state = nullptr;
  TUTTI_TRY(vendor.Check(vendor.cuLinkCreate_v2(std::size(options), options, values, &state), "cuLinkCreate"));
  void* code = nullptr;
  size_t bytes = 0;
  Status linked = vendor.Check(
      vendor.cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, ended.data(), ended.size(), "module", 0, nullptr, nullptr),
      "cuLinkAddData");
  if (linked) linked = vendor.Check(vendor.cuLinkComplete(state, &code, &bytes), "cuLinkComplete");
  std::vector<uint8_t> copy;
  if (linked) copy.assign(static_cast<const uint8_t*>(code), static_cast<const uint8_t*>(code) + bytes);
  vendor.cuLinkDestroy(state);  // `code` is its
  if (linked) return copy;
  log.resize(log.find('\0'));
  return Fail(linked.error().code, log.empty() ? linked.error().text : log);
}

}  // namespace tutti::executor
