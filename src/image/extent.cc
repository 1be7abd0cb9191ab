#include "image/extent.h"

#include <cstring>

#include "cuda/result.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "image/image_list.h"

namespace tutti::image {
namespace {

// Section .nvFatBinSegment.
struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const uint8_t* data;  // fat binary
  // Version 1: a file name or null. Version 2 (made for separate compilation): a null-terminated list of the fat
  // binaries of all translation units; `data` then holds the result of linking them, which has no PTX.
  const void* extra;
};

using Images = std::vector<std::span<const uint8_t>>;

std::unexpected<Error> Invalid(const char* text) { return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, text); }

Status AddFatbin(const uint8_t* fatbin, Images* images) {
  const uint64_t bytes = FatbinBytes(fatbin);
  if (bytes == 0) return Invalid("no fatbin where the image says there is one");
  images->emplace_back(fatbin, bytes);
  return {};
}

Result<Images> FindWrapped(const void* image) {
  Wrapper wrapper;
  std::memcpy(&wrapper, image, sizeof wrapper);
  Images images;
  if (wrapper.version != 1 && wrapper.version != 2) return Invalid("a fatbin wrapper of a version that is not known");
  if (wrapper.version == 2 && wrapper.extra != nullptr) {
    const auto* units = static_cast<const uint8_t* const*>(wrapper.extra);
    for (; *units != nullptr; ++units) {
      if (images.size() == kMaxImages) return Invalid("a fatbin wrapper with too many translation units");
      TUTTI_TRY(AddFatbin(*units, &images));
    }
  }
  if (images.empty()) {
    if (wrapper.data == nullptr) return Invalid("a fatbin wrapper with nothing in it");
    TUTTI_TRY(AddFatbin(wrapper.data, &images));
  }
  return images;
}

}  // namespace

Result<Images> FindImages(const void* image) {
  if (image == nullptr) return Invalid("the image is a null pointer");
  const auto* bytes = static_cast<const uint8_t*>(image);
  // The text may be a single NUL: reads no further than its end.
  const size_t start = strnlen(static_cast<const char*>(image), sizeof(uint32_t));
  switch (KindOf({bytes, start})) {
    case ImageKind::kWrapper: return FindWrapped(image);
    case ImageKind::kFatbin: {
      Images images;
      TUTTI_TRY(AddFatbin(bytes, &images));
      return images;
    }
    case ImageKind::kElf: {
      const uint64_t size = ElfBytes(bytes);
      if (size == 0) return Invalid("an ELF file whose headers make no sense");
      return Images{{bytes, size}};
    }
    case ImageKind::kArchive:
    case ImageKind::kImageList: return Invalid("an archive or a list has no size of its own");
    case ImageKind::kPtx:
    case ImageKind::kUnknown: break;
  }
  const size_t length = std::strlen(static_cast<const char*>(image));
  if (KindOf({bytes, length}) != ImageKind::kPtx) return Invalid("neither a fatbin, nor a cubin, nor PTX text");
  return Images{{bytes, length}};
}

}  // namespace tutti::image
