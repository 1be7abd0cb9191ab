#include "ptx/ast.h"
#include "ptx/name_table.h"

namespace tutti::ptx {
namespace {

// In the order of SpecialRegister.
// clang-format off
constexpr std::string_view kNames[] = {
    "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z",
    "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z",
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid",
    "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt",
    "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi",
    "%envreg0", "%envreg1", "%envreg2", "%envreg3",
    "%total_smem_size", "%dynamic_smem_size", "%reserved_smem_offset_begin",
    "%clusterid.x", "%clusterid.y", "%clusterid.z", "%nclusterid.x", "%nclusterid.y", "%nclusterid.z",
    "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z",
    "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
    "%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster", "%aggr_smem_size",
    "%current_graph_exec", "WARP_SZ",
};
// clang-format on
static_assert(std::size(kNames) == static_cast<size_t>(SpecialRegister::kWarpSz) + 1);

}  // namespace

std::string_view NameOf(SpecialRegister special) { return kNames[static_cast<size_t>(special)]; }

std::optional<SpecialRegister> SpecialRegisterFromName(std::string_view name) {
  static const NameTable<SpecialRegister> table(kNames);
  if (const auto found = table.Find(name)) return found;
  if (name.starts_with("%reserved_smem_offset_")) return SpecialRegister::kReservedSmemOffset;
  if (name.starts_with("%envreg")) return SpecialRegister::kEnvreg0;
  // Performance counters read as a clock: they count up, and never repeat.
  if (name.size() > 3 && name.starts_with("%pm") && name[3] >= '0' && name[3] <= '9')
    return name.ends_with("_64") ? SpecialRegister::kClock64 : SpecialRegister::kClock;
  return std::nullopt;
}

}  // namespace tutti::ptx
