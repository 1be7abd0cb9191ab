// `tutti-device-plugin --check`: whether a configuration can be used, and what it offers.
#pragma once

#include "kubernetes/options.h"

namespace tutti::kubernetes {

// Prints to stdout; a complaint goes to stderr. Returns the exit status: 0 it can be used, 1 it cannot.
int CheckConfiguration(const Options& options);

}  // namespace tutti::kubernetes
