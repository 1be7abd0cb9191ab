// Texture and surface accesses of kernels: functions written in C++ (texture.cc), compiled to bitcode when Tutti is
// built, carried inside the compiler and linked with the scalar IR of a kernel that calls them.
//
//   {i64, i64} tutti_texture_1d(i64 handle, i32 layer, float)
//     four results of 32 bits, the first lowest
//   {i64, i64} tutti_texture_2d(i64 handle, i32 layer, float, float)
//   {i64, i64} tutti_texture_3d(i64 handle, i32 0, float, float, float)
//   {i64, i64} tutti_texture_cube(i64 handle, i32 layer, float, float, float)
//   {i64, i64} tutti_texture_level_{1d,2d,3d,cube}(as above, float level)
//   {i64, i64} tutti_texture_grad_{1d,2d,3d,cube}(as above, float... by x, float... by y)
//   {i64, i64} tutti_texel(i64 handle, i32 layer, i32, i32, i32, i32 layered)
//   {i64, i64} tutti_texture_gather(i64 handle, i32 layer, float, float, i32 channel)
//   i64 tutti_surface(i64 handle, i32 layer, i32 x, i32 y, i32 z, i32 layered, i32 bytes, i32 clamp)
//     an address or 0
//   i64 tutti_surface_texel(i64 handle, i32 layer, i32 x, i32 y, i32 z, i32 layered, i32 clamp)
//   void tutti_surface_put(i64 handle, i32 layer, i32 x, i32 y, i32 z, i32 layered, i32 outside, i32 count, i32... 4)
//     `outside`: 0 faults, 1 clamps, 2 stores nothing
//   i32 tutti_texture_query(i64 handle, i32 what, i32 level)
//     `what`: a guest::TextureQuery
#pragma once

#include "base/error.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace tutti::compiler {

// Adds the functions above that `module` declares, as internal ones, inlined unless there are too many calls. Fails if
// a declaration has another type. Thread-safe on different modules.
Status LinkSampling(llvm::Module& module);

}  // namespace tutti::compiler
