#include "kubernetes/check.h"

#include <cstdio>

#include "sharing/offer.h"

namespace tutti::kubernetes {

int CheckConfiguration(const Options& options) {
  // A sample device of an easily divisible size stands for the node's devices.
  const std::vector<sharing::DeviceFacts> devices = {{"a device of 16 GiB", "", 16ull << 30, 0, ""}};
  const auto config = LoadConfig(options);
  const auto offers = config ? sharing::MakeOffers(*config, devices) : std::unexpected(config.error());
  if (!offers) {
    std::fprintf(stderr, "tutti-device-plugin: %s\n", offers.error().text.c_str());
    return 1;
  }
  for (const std::string& warning : config->warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  std::printf("strategy %s\n", sharing::StrategyName(config->strategy));
  for (const sharing::Offer& offer : *offers) {
    const sharing::Portion& portion = offer.portions.front();
    const std::string threads =
        portion.percentage ? std::to_string(static_cast<int>(*portion.percentage)) + "%" : "all";
    const std::string memory = portion.memory_bytes ? std::to_string(*portion.memory_bytes >> 20) + " MiB" : "all";
    std::printf("%s: %lld per device; each: threads %s, memory of 16 GiB: %s\n", offer.resource.c_str(),
                static_cast<long long>(portion.replicas), threads.c_str(), memory.c_str());
  }
  return 0;
}

}  // namespace tutti::kubernetes
