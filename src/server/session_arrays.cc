// Arrays and textures that the device makes (wire/arrays.h).
#include "cuda/array_format.h"
#include "server/session.h"
#include "wire/validate.h"

namespace tutti::server {

using wire::RecordKind;

Status Session::HandleArrays(const wire::Untrusted<wire::RawRecord>& untrusted) {
  const wire::RawRecord& head = untrusted.Unchecked();
  const auto devices = static_cast<uint32_t>(services_.backend->devices().size());
  switch (head.kind) {
    case RecordKind::kArrayCreate: {
      TUTTI_ASSIGN(const wire::ArrayCreateBody array, wire::ValidateArrayCreate(untrusted, devices));
      TUTTI_TRY(MayUse(array.device));
      devices_used_.fetch_or(1u << array.device, std::memory_order_relaxed);
      const auto layout =
          wire::ArrayLayout::Of(array.shape, cuda::TexelBytes(array.shape.format, array.shape.channels));
      Allocate([this, array] { return space_->CreateArray(array); }, head.reply, array.device,
               layout ? layout->bytes() : 0, true);
      return {};
    }
    case RecordKind::kTextureCreate: {
      TUTTI_ASSIGN(const wire::TextureCreateBody texture, wire::ValidateTextureCreate(untrusted, devices));
      TUTTI_TRY(MayUse(texture.device));
      sink_->ReplyWith(head.reply, space_->CreateTexture(texture));
      return {};
    }
    default: {
      TUTTI_ASSIGN(const wire::TextureDestroyBody texture, wire::ValidateTextureDestroy(untrusted));
      (void)space_->DestroyTexture(texture);
      return {};
    }
  }
}

}  // namespace tutti::server
