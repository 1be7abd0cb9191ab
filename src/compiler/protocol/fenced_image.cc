#include "compiler/protocol/fenced_image.h"

#include "base/bytes.h"

namespace tutti::compiler {
namespace {

constexpr size_t kLeastStringBytes = sizeof(uint32_t);

}  // namespace

std::vector<uint8_t> Serialize(const FencedImage& image) {
  ByteWriter out;
  out.PutString(image.ptx);
  out.Put(static_cast<uint32_t>(image.functions.size()));
  for (const std::string& name : image.functions) out.PutString(name);
  out.Put(static_cast<uint32_t>(image.refused.size()));
  for (const auto& [function, why] : image.refused) {
    out.PutString(function);
    out.PutString(why);
  }
  return out.Take();
}

Result<FencedImage> ParseFencedImage(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  FencedImage image;
  image.ptx = in.GetString();
  image.functions.resize(in.GetCount(kLeastStringBytes));
  for (std::string& name : image.functions) name = in.GetString();
  const uint32_t refused = in.GetCount(2 * kLeastStringBytes);
  for (uint32_t i = 0; i < refused; ++i) {
    std::string function = in.GetString();
    image.refused.insert_or_assign(std::move(function), in.GetString());
  }
  if (!in.ok()) return Fail("a fenced image is cut short");
  return image;
}

}  // namespace tutti::compiler
