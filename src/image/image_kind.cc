#include "image/image_kind.h"

#include <cstring>

#include "image/image_list.h"

namespace tutti::image {
namespace {

constexpr std::string_view kArchiveMagic = "!<arch>\n";
constexpr size_t kLongestPreamble = 4096;  // white space looked through before the first word

bool CanBeginPtx(std::span<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size() && i < kLongestPreamble; ++i) {
    const uint8_t c = bytes[i];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    return c == '.' || c == '/';
  }
  return false;
}

}  // namespace

ImageKind KindOf(std::span<const uint8_t> bytes) {
  uint32_t magic = 0;
  if (bytes.size() >= sizeof magic) std::memcpy(&magic, bytes.data(), sizeof magic);
  if (magic == kWrapperMagic) return ImageKind::kWrapper;
  if (magic == kFatbinMagic) return ImageKind::kFatbin;
  if (magic == kElfMagic) return ImageKind::kElf;
  if (magic == kImageListMagic) return ImageKind::kImageList;
  if (bytes.size() >= kArchiveMagic.size() &&
      std::memcmp(bytes.data(), kArchiveMagic.data(), kArchiveMagic.size()) == 0) {
    return ImageKind::kArchive;
  }
  return CanBeginPtx(bytes) ? ImageKind::kPtx : ImageKind::kUnknown;
}

std::string_view NameOf(ImageKind kind) {
  switch (kind) {
    case ImageKind::kWrapper: return "a fatbin wrapper";
    case ImageKind::kFatbin: return "a fatbin";
    case ImageKind::kElf: return "a cubin";
    case ImageKind::kArchive: return "an archive";
    case ImageKind::kImageList: return "a list of images";
    case ImageKind::kPtx: return "PTX";
    case ImageKind::kUnknown: break;
  }
  return "no known image";
}

}  // namespace tutti::image
