// Texture and surface references: variables of a module that name a texture in PTX. Such a variable holds the
// description (guest/texture.h) that an object's handle points to; what the program sets on the reference is kept here,
// and the description made from it.
#pragma once

#include <cstdint>
#include <mutex>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "cuda/types.h"
#include "guest/texture.h"

namespace tutti::client {

class Context;

// What a program has set.
struct TextureBinding {
  static constexpr int kNothing = -1;  // resource.resType: nothing is bound

  cuda::CUDA_RESOURCE_DESC resource{.resType = kNothing, .res = {}, .flags = 0};
  cuda::CUDA_TEXTURE_DESC sampling{};
  cuda::CUarray_format format = cuda::CU_AD_FORMAT_FLOAT;  // of linear memory
  unsigned channels = 1;

  TextureBinding();
};

// Thread-safe.
class TextureReference {
 public:
  enum class Kind : uint8_t { kTexture, kSurface };

  TextureReference(Context* context, uint64_t variable, Kind kind)
      : context_(context), variable_(variable), kind_(kind) {}

  // Null unless it is a handle of that kind.
  static TextureReference* Find(const void* handle, Kind kind);
  // The reference of a variable, the same for each call until its module is unloaded. OUT_OF_MEMORY.
  static Answer<TextureReference*> Of(Context& context, uint64_t variable, Kind kind);
  // One that belongs to no module (cuTexRefCreate), and its end: INVALID_VALUE for those of modules.
  static Answer<TextureReference*> Create();
  static int Destroy(TextureReference* reference);
  // Ends those of variables in this range, whose module is unloaded.
  static void Forget(uint64_t address, uint64_t bytes);

  // Null without a module.
  Context* context() const { return context_; }
  uint64_t variable() const { return variable_; }
  TextureBinding binding() const;
  void Set(const TextureBinding& binding);

 private:
  static constinit Pool<TextureReference, 1 << 16> pool_;

  Context* const context_;
  const uint64_t variable_;
  const Kind kind_;
  mutable std::mutex mutex_;
  TextureBinding binding_;
};

// What a kernel reads for such a binding. One that says nothing yet, or what cannot be, is all zero: it has no texels,
// and all of them read as 0.
guest::Texture DescriptionOf(const TextureBinding& binding, TextureReference::Kind kind);

}  // namespace tutti::client
