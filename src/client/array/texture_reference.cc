#include "client/array/texture_reference.h"

#include <map>

#include "client/array/texture.h"

namespace tutti::client {
namespace {

// By the address of the variable.
struct Known {
  std::mutex mutex;
  std::map<uint64_t, TextureReference*> references;
};
Known& known() {
  static auto* const all = new Known;
  return *all;
}

}  // namespace

constinit Pool<TextureReference, 1 << 16> TextureReference::pool_;

TextureBinding::TextureBinding() {
  for (int& mode : sampling.addressMode) mode = cuda::CU_TR_ADDRESS_MODE_CLAMP;
}

TextureReference* TextureReference::Find(const void* handle, Kind kind) {
  TextureReference* const found = pool_.Find(handle);
  return found != nullptr && found->kind_ == kind ? found : nullptr;
}

Answer<TextureReference*> TextureReference::Of(Context& context, uint64_t variable, Kind kind) {
  Known& all = known();
  std::lock_guard lock(all.mutex);
  TextureReference*& reference = all.references[variable];
  if (reference == nullptr) reference = pool_.Create(&context, variable, kind);
  if (reference != nullptr) return reference;
  all.references.erase(variable);
  return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
}

Answer<TextureReference*> TextureReference::Create() {
  TextureReference* const reference = pool_.Create(nullptr, uint64_t{0}, Kind::kTexture);
  if (reference == nullptr) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  return reference;
}

int TextureReference::Destroy(TextureReference* reference) {
  if (reference->variable_ != 0) return cuda::CUDA_ERROR_INVALID_VALUE;
  if (!pool_.Retire(reference)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  pool_.Delete(reference);
  return cuda::CUDA_SUCCESS;
}

void TextureReference::Forget(uint64_t address, uint64_t bytes) {
  Known& all = known();
  std::lock_guard lock(all.mutex);
  auto it = all.references.lower_bound(address);
  while (it != all.references.end() && it->first - address < bytes) {
    if (pool_.Retire(it->second)) pool_.Delete(it->second);
    it = all.references.erase(it);
  }
}

TextureBinding TextureReference::binding() const {
  std::lock_guard lock(mutex_);
  return binding_;
}

void TextureReference::Set(const TextureBinding& binding) {
  std::lock_guard lock(mutex_);
  binding_ = binding;
}

guest::Texture DescriptionOf(const TextureBinding& binding, TextureReference::Kind kind) {
  if (binding.resource.resType == TextureBinding::kNothing) return {};
  const Answer<guest::Texture> texture = kind == TextureReference::Kind::kTexture
                                             ? DescribeTexture(binding.resource, binding.sampling)
                                             : DescribeSurface(binding.resource);
  return texture ? *texture : guest::Texture{};
}

}  // namespace tutti::client
