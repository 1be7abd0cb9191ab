// What the machine and the surroundings of a run were: environment.txt, which explains numbers that nobody expected.
#pragma once

#include <string>

#include "frame/settings.h"

namespace tutti::gpu {

std::string DescribeEnvironment(const Settings& settings);

}  // namespace tutti::gpu
