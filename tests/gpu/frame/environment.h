// environment.txt describes the machine and the surroundings of a run, to explain unexpected numbers.
#pragma once

#include <string>

#include "frame/settings.h"

namespace tutti::gpu {

std::string DescribeEnvironment(const Settings& settings);

}  // namespace tutti::gpu
