// `tutti-device-plugin --check`: validates a configuration and prints what it offers.
#pragma once

#include "kubernetes/options.h"

namespace tutti::kubernetes {

// Prints to stdout, errors to stderr. Returns the exit status: 0 valid, 1 invalid.
int CheckConfiguration(const Options& options);

}  // namespace tutti::kubernetes
