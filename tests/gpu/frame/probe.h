// A probe is a question that only a GPU can answer, the steps that answer it, and the rule that turns the answers into
// a decision of the plan.
//
// A step is a process of its own with a time limit, so a hanging or dying step affects no other. It writes records, and
// returns when it is done. A step may have peers: further processes, each in a role of the probe.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "frame/channel.h"
#include "frame/evidence.h"

namespace tutti::gpu {

struct Step {
  std::string_view name;
  void (*run)(std::string_view step);
  double seconds = 8;
  bool under_mps = false;  // with NVIDIA's control daemon beside it
};

struct Role {
  std::string_view name;
  // The channel is to the process that started this one.
  void (*run)(Channel& step, std::string_view argument);
};

struct Probe {
  std::string_view id;
  std::string_view question;
  std::span<const Step> steps;
  std::span<const Role> roles;
  // One sentence from what the steps have found.
  std::string (*decide)(const Evidence& evidence);
};

struct Section {
  std::string_view name;
  std::string_view title;
  double share;  // of the time, beside the shares of the other sections
  std::span<const Probe* const> probes;
};

// All sections, in the order in which they run.
std::span<const Section> Sections();

}  // namespace tutti::gpu
