// Arrays and textures that are not the attacker's, or that there cannot be. A device that makes none refuses all; then
// copies have no addresses to go to.
#include <algorithm>
#include <cstring>
#include <random>

#include "raw_attack.h"
#include "wire/arrays.h"

namespace tutti::fault {
namespace {

using wire::RecordKind;

constexpr int32_t kUint32 = 3;  // CU_AD_FORMAT_UNSIGNED_INT32

wire::ArrayCreateBody ArrayOf(uint64_t width, uint64_t height) {
  wire::ArrayCreateBody body{};
  body.shape = {.width = width, .height = height, .format = kUint32, .channels = 1, .levels = 1};
  return body;
}
// Its address; 0 if it is refused.
uint64_t Create(Attacker& a, const wire::ArrayCreateBody& body) {
  return a.connection().replies().Call(RecordKind::kArrayCreate, body).value[0];
}
int CreateTexture(Attacker& a, const wire::TextureCreateBody& body) {
  return a.connection().replies().Call(RecordKind::kTextureCreate, body).status;
}
// A row of 8 texels, where arrays have 4 x 4.
wire::CopyBody LongRow(uint64_t destination, uint64_t source) {
  return {.destination = destination, .source = source, .row_bytes = 32, .rows = 1, .planes = 1};
}

constexpr RawAttack kAttacks[] = {
    {"copies_across_the_end_of_its_arrays_rows", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kCopy, LongRow(Create(a, ArrayOf(4, 4)), a.Allocate(4096))); }},
    {"copies_from_behind_its_array", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kCopy, LongRow(a.Allocate(4096), Create(a, ArrayOf(8, 1)) + 32)); }},
    {"copies_from_an_array_that_it_has_freed", End::kFault,
     [](Attacker& a) {
       const uint64_t array = Create(a, ArrayOf(8, 1));
       a.Submit(RecordKind::kFree, wire::FreeBody{.address = array}, 0);
       a.Submit(RecordKind::kCopy, LongRow(a.Allocate(4096), array));
     }},
    {"fills_an_array", End::kFault,
     [](Attacker& a) {
       a.Submit(RecordKind::kFill,
                wire::FillBody{
                    .destination = Create(a, ArrayOf(8, 1)), .width = 1, .height = 1, .value = 1, .element_bytes = 4});
     }},
    // Shapes of noise, of which some exist.
    {"creates_arrays_of_every_shape", End::kNothing,
     [](Attacker& a) {
       std::mt19937_64 random(1);
       for (int i = 0; i < 300; ++i) {
         wire::ArrayCreateBody body = ArrayOf(random() >> (random() % 64), random() >> (random() % 64));
         body.shape.depth = random() >> (random() % 64);
         body.shape.format = static_cast<int32_t>(random() % 3 == 0 ? random() : random() % 0x21);
         body.shape.channels = static_cast<uint32_t>(random() % 5);
         body.shape.flags = static_cast<uint32_t>(random() % 8);
         body.shape.levels = static_cast<uint32_t>(random() % 40);
         body.shape.mipmapped = static_cast<uint32_t>(random() % 3);
         const uint64_t array = Create(a, body);
         if (array != 0) a.Submit(RecordKind::kFree, wire::FreeBody{.address = array}, 0);
       }
     }},
    // Where each client has an executor of its own, its own memory may have the same addresses.
    {"makes_textures_of_the_victims_memory", End::kNothing,
     [](Attacker& a) {
       for (const wire::TextureKind kind :
            {wire::TextureKind::kSurface, wire::TextureKind::kArray, wire::TextureKind::kLevels,
             wire::TextureKind::kLinear, wire::TextureKind::kPitched}) {
         wire::TextureCreateBody body{};
         body.address = a.targets().victim;
         body.kind = kind;
         body.format = kUint32;
         body.channels = 1;
         body.width = 16;
         body.height = 1;
         body.pitch = 64;
         (void)CreateTexture(a, body);
       }
     }},
    // Descriptions of noise, of its own array and memory.
    {"makes_textures_of_every_description", End::kNothing,
     [](Attacker& a) {
       std::mt19937_64 random(2);
       const uint64_t places[] = {Create(a, ArrayOf(4, 4)), a.Allocate(4096), random()};
       for (int i = 0; i < 300; ++i) {
         wire::TextureCreateBody body{};
         uint8_t noise[sizeof body];
         std::ranges::generate(noise,
                               [&] { return static_cast<uint8_t>(random() % 4 == 0 ? random() : random() % 3); });
         std::memcpy(&body, noise, sizeof body);
         body.address = places[random() % std::size(places)];
         body.kind = static_cast<wire::TextureKind>(random() % 5);
         body.device = 0;
         (void)CreateTexture(a, body);
       }
     }},
    {"destroys_every_texture_there_could_be", End::kNothing,
     [](Attacker& a) {
       for (uint64_t number = 0; number < 2048; ++number)
         a.Submit(RecordKind::kTextureDestroy,
                  wire::TextureDestroyBody{.texture = number / 2, .is_surface = static_cast<uint32_t>(number % 2)}, 0);
     }},
    {"makes_a_texture_of_a_kind_that_there_is_not", End::kSession,
     [](Attacker& a) {
       wire::TextureCreateBody body{};
       body.kind = static_cast<wire::TextureKind>(99);
       (void)CreateTexture(a, body);
     }},
    {"makes_an_array_on_a_device_that_there_is_not", End::kSession,
     [](Attacker& a) {
       wire::ArrayCreateBody body = ArrayOf(4, 4);
       body.device = 31;
       (void)Create(a, body);
     }},
};

}  // namespace

std::span<const RawAttack> ArrayAttacks() { return kAttacks; }

}  // namespace tutti::fault
