// What a run consists of. The order of the probes is that of their weight: when time runs out, the last ones are cut.
#include "facts/facts.h"
#include "native/native.h"
#include "probes/probes.h"
#include "sharing/sharing.h"

namespace tutti::gpu {
namespace {

constexpr const Probe* kFactsProbes[] = {&kFacts};
constexpr const Probe* kProbes[] = {&kP8, &kP1, &kP2,  &kP5,  &kP3,  &kP12, &kP23, &kP24, &kP16, &kP18, &kP13, &kP14,
                                    &kP4, &kP7, &kP10, &kP11, &kP17, &kP19, &kP22, &kP6,  &kP9,  &kP15, &kP20, &kP21};
constexpr const Probe* kNative[] = {&kN1, &kN2};
constexpr const Probe* kSharing[] = {&kS1, &kS2};
constexpr const Probe* kTutti[] = {&kT6, &kT1, &kT5, &kT4, &kT2, &kT3};

constexpr Section kSections[] = {
    {"facts", "Facts", 6, kFactsProbes},
    {"tutti", "Programs under Tutti", 30, kTutti},
    {"probes", "Probes", 56, kProbes},
    {"native", "One process with the vendor's driver", 12, kNative},
    {"sharing_today", "Several processes, as it is today", 30, kSharing},
};

}  // namespace

std::span<const Section> Sections() { return kSections; }

}  // namespace tutti::gpu
