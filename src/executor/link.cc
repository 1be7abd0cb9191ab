#include "executor/link.h"

#include <fmt/format.h>

#include <iterator>

#include "image/image_kind.h"
#include "image/image_list.h"

namespace tutti::executor {

using namespace cuda;

namespace {

struct Input {
  CUjitInputType type;
  std::vector<uint8_t> bytes;
};

// The driver reads text to its end.
std::vector<uint8_t> Ended(std::span<const uint8_t> text) {
  std::vector<uint8_t> ended(text.begin(), text.end());
  ended.push_back(0);
  return ended;
}

tutti::Result<Input> InputOf(std::span<const uint8_t> image) {
  switch (image::KindOf(image)) {
    case image::ImageKind::kPtx: return Input{CU_JIT_INPUT_PTX, Ended(image)};
    case image::ImageKind::kFatbin: return Input{CU_JIT_INPUT_FATBINARY, {image.begin(), image.end()}};
    case image::ImageKind::kElf: return Input{CU_JIT_INPUT_CUBIN, {image.begin(), image.end()}};
    default:
      return Fail(CUDA_ERROR_INVALID_IMAGE,
                  fmt::format("{} among images that are to be linked", image::NameOf(image::KindOf(image))));
  }
}

tutti::Result<std::vector<uint8_t>> LinkAll(const Vendor& vendor, std::span<Input> inputs) {
  constexpr size_t kLogBytes = 16 << 10;
  std::string log(kLogBytes, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes - 1)};
  CUlinkState state = nullptr;
  TUTTI_TRY(vendor.Check(vendor.cuLinkCreate_v2(std::size(options), options, values, &state), "cuLinkCreate"));
  void* code = nullptr;
  size_t bytes = 0;
  Status linked;
  for (size_t i = 0; i < inputs.size() && linked; ++i) {
    const std::string name = inputs.size() == 1 ? "module" : fmt::format("unit {}", i + 1);
    linked = vendor.Check(vendor.cuLinkAddData_v2(state, inputs[i].type, inputs[i].bytes.data(), inputs[i].bytes.size(),
                                                  name.c_str(), 0, nullptr, nullptr),
                          "cuLinkAddData");
  }
  if (linked) linked = vendor.Check(vendor.cuLinkComplete(state, &code, &bytes), "cuLinkComplete");
  std::vector<uint8_t> copy;
  if (linked) copy.assign(static_cast<const uint8_t*>(code), static_cast<const uint8_t*>(code) + bytes);
  vendor.cuLinkDestroy(state);  // `code` is its
  if (linked) return copy;
  log.resize(log.find('\0'));
  return Fail(linked.error().code, log.empty() ? linked.error().text : log);
}

}  // namespace

tutti::Result<std::vector<uint8_t>> Link(const Vendor& vendor, std::span<const uint8_t> text) {
  Input input{CU_JIT_INPUT_PTX, Ended(text)};
  return LinkAll(vendor, {&input, 1});
}

tutti::Result<std::vector<uint8_t>> LinkList(const Vendor& vendor, std::span<const uint8_t> list) {
  TUTTI_ASSIGN(const auto images, image::ReadImageList(list));
  std::vector<Input> inputs;
  for (const auto& image : images) {
    TUTTI_ASSIGN(Input input, InputOf(image));
    inputs.push_back(std::move(input));
  }
  return LinkAll(vendor, inputs);
}

}  // namespace tutti::executor
