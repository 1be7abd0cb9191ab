// What code the program and its libraries hold. The CPU device runs PTX; of a library that has machine code for some of
// its kernels only, the others run, so that is a note, and what can be done about it depends on the library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <filesystem>

#include "cli/doctor_checks.h"
#include "cli/elf_file.h"
#include "cli/loaded_libraries.h"

namespace tutti::cli {
namespace {

constexpr uint64_t kMostDecompressed = 64 << 20;  // of one file, to look for PTX in machine code: a tenth of a second
constexpr const char* kBuildWithPtx = "build it with PTX: nvcc -gencode arch=compute_75,code=compute_75 (or -lineinfo)";

// Libraries for which more is known than that their code is PTX or not, by the beginning of their names.
struct Known {
  std::string_view name;
  const char* remedy;
};
constexpr Known kLibraries[] = {
    {"libcublas", "tutti run -- PROGRAM (puts a cuBLAS of the CPU device in its place: --libraries=ours, the default)"},
};
// Those that make machine code when the program runs.
constexpr Known kMakers[] = {
    {"libcufft.", "tutti run -- PROGRAM (puts a cuFFT of the CPU device in its place: --libraries=ours, the default)"},
    {"libnvrtc.", "tutti run -- PROGRAM (makes it keep PTX in it, as -lineinfo does)"},
    {"libnvJitLink.", "tutti run -- PROGRAM (makes it keep PTX in it, as -lineinfo does)"},
};

template <size_t kCount>
const Known* FindKnown(const Known (&table)[kCount], const std::string& file) {
  const std::string name = std::filesystem::path(file).filename();
  for (const Known& known : table) {
    if (name.starts_with(known.name)) return &known;
  }
  return nullptr;
}

// Programs built with -rdc=true hold their code twice: each translation unit's in __nv_relfatbin, which is what is run
// here, and in .nv_fatbin the machine code that the device linker made of them, which then says nothing.
Result<image::CodeCensus> CodeOf(const ElfFile& file) {
  image::CodeCensus units, others;
  if (const auto bytes = file.Section("__nv_relfatbin"); !bytes.empty())
    TUTTI_TRY(image::CountCode(bytes, kMostDecompressed, &units));
  if (const auto bytes = file.Section(".nv_fatbin"); !bytes.empty())
    TUTTI_TRY(image::CountCode(bytes, kMostDecompressed, &others));
  if (units.images == 0) return others;
  units.images += others.with_ptx;
  units.with_ptx += others.with_ptx;
  units.ptx_archs.merge(others.ptx_archs);
  return units;
}

std::string Remedy(const std::string& file, const image::CodeCensus& census) {
  if (const Known* known = FindKnown(kLibraries, file)) return known->remedy;
  if (census.with_ptx == 0) return kBuildWithPtx;
  return "if a kernel of it has no PTX: another compute capability may choose other kernels "
         "(TUTTI_COMPUTE_CAPABILITY=13.0)";
}

Finding Judge(const std::string& file, const image::CodeCensus& census) {
  const std::string machine_code =
      census.machine_archs.empty() ? "LTO intermediate code"
                                   : fmt::format("machine code for sm_{}", fmt::join(census.machine_archs, ", sm_"));
  Finding finding{.text = fmt::format("{} has PTX ({} image{})", file, census.images, census.images == 1 ? "" : "s"),
                  .code = CodeOfFile{.file = file, .census = census}};
  if (census.all_have_ptx()) return finding;
  finding.remedy = Remedy(file, census);
  if (census.unseen != 0) {
    finding.kind = Finding::Kind::kNote;
    finding.text =
        fmt::format("{} has PTX in {} of {} images; {} hold {} and were not looked into, behind the first {} MiB", file,
                    census.with_ptx, census.images, census.unseen, machine_code, kMostDecompressed >> 20);
  } else if (census.with_ptx == 0) {
    finding.kind = Finding::Kind::kProblem;
    finding.text = fmt::format("{} has {} only, and the CPU device runs PTX", file, machine_code);
  } else {
    finding.kind = Finding::Kind::kNote;
    finding.text = fmt::format("{} has PTX in {} of {} images, in the others {} only", file, census.with_ptx,
                               census.images, machine_code);
  }
  return finding;
}

// Nothing if the file has no CUDA code.
std::optional<Finding> JudgeFile(const std::string& path) {
  if (const Known* maker = FindKnown(kMakers, path))
    return Finding{Finding::Kind::kNote, path + " makes machine code when the program runs", maker->remedy};
  const auto file = ElfFile::Read(path);
  if (!file) return Finding{Finding::Kind::kNote, "code: " + file.error().text, "tutti doctor PROGRAM"};
  const auto census = CodeOf(*file);
  if (!census) return Finding{Finding::Kind::kProblem, path + ": " + census.error().text, kBuildWithPtx};
  if (census->images == 0) return std::nullopt;
  return Judge(path, *census);
}

}  // namespace

std::vector<Finding> CheckCode(const Patient& patient) {
  if (patient.program.empty()) return {Finding{}};
  std::vector<Finding> findings;
  findings.push_back(JudgeFile(patient.program)
                         .value_or(Finding{.text = patient.program +
                                                   " has no CUDA code in itself: it is in a library, or made when it "
                                                   "runs"}));
  const auto libraries = LoadedLibraries(patient.program);  // none of a program that is linked statically
  if (!libraries && libraries.error().code == EPERM) findings.push_back(Finding{.text = libraries.error().text});
  if (!libraries) return findings;
  for (const std::string& library : *libraries) {
    if (auto finding = JudgeFile(library)) findings.push_back(std::move(*finding));
  }
  return findings;
}

}  // namespace tutti::cli
