#include "probes/device_code.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "image/testing_fatbin.h"

namespace tutti::gpu {
namespace {

using image::EntryKind;
using image::FatbinBuilder;
using image::Packing;

// A library that is nothing but a section of fat binaries.
std::string Library(const std::vector<uint8_t>& fatbins) {
  const std::string names = std::string("\0.nv_fatbin\0.names", 18) + '\0';
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 3;
  head.e_shstrndx = 2;
  head.e_shoff = sizeof head;
  Elf64_Shdr rows[3] = {};
  rows[1].sh_name = 1;
  rows[1].sh_type = SHT_PROGBITS;
  rows[1].sh_offset = sizeof head + sizeof rows;
  rows[1].sh_size = fatbins.size();
  rows[2].sh_name = 12;
  rows[2].sh_type = SHT_STRTAB;
  rows[2].sh_offset = rows[1].sh_offset + fatbins.size();
  rows[2].sh_size = names.size();
  const std::string path = testing::TempDir() + "/device_code." + std::to_string(getpid()) + ".so";
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&head), sizeof head);
  file.write(reinterpret_cast<const char*>(rows), sizeof rows);
  file.write(reinterpret_cast<const char*>(fatbins.data()), static_cast<std::streamsize>(fatbins.size()));
  file.write(names.data(), static_cast<std::streamsize>(names.size()));
  return path;
}

TEST(DeviceCode, CountsFatBinariesWithAndWithoutPtx) {
  const std::string ptx = ".version 8.0\n.visible .entry _Z3addPfi(.param .u64 a)\n{ ret; }\n.entry plain(\n) { ret; }";
  std::vector<uint8_t> both =
      FatbinBuilder().Add(EntryKind::kElf, 90, "cubin").Add(EntryKind::kPtx, 90, ptx, Packing::kLz4).Build();
  const std::vector<uint8_t> bare = FatbinBuilder().Add(EntryKind::kElf, 90, "cubin").Build();
  both.insert(both.end(), bare.begin(), bare.end());
  const std::string path = Library(both);
  const auto code = ReadDeviceCode(path, true, ~uint64_t{0});
  unlink(path.c_str());
  ASSERT_TRUE(code);
  EXPECT_EQ(code->units, 2u);
  EXPECT_EQ(code->units_with_ptx, 1u);
  EXPECT_EQ(code->texts, 1u);
  EXPECT_EQ(code->cubins, 2u);
  EXPECT_EQ(code->kernels, (std::set<std::string>{"add(float*, int)", "plain"}));
}

TEST(DeviceCode, AFileThatIsNoLibraryHasNone) {
  EXPECT_FALSE(ReadDeviceCode("/etc/passwd", true, ~uint64_t{0}));
  EXPECT_FALSE(ReadDeviceCode("/nowhere", true, ~uint64_t{0}));
}

TEST(DeviceCode, NamesAreComparedWithoutArguments) {
  EXPECT_EQ(BareName(FullName("_Z3addPfi")), "add");
  EXPECT_EQ(BareName("void at::native::f<4, at::native::g<float>>(int, float*)"), "at::native::f");
  EXPECT_EQ(BareName("void at::native::(anonymous namespace)::h<2>(int)"), "at::native::h");
  EXPECT_EQ(BareName("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n"), "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n");
}

}  // namespace
}  // namespace tutti::gpu
