// Managed variables on a GPU: what is made of PTX (ptx/managed_variables.h) by whoever reads it for a device, and the
// device that runs it.
//
// Such a variable lies in its client's window, in memory that the host reaches. Its module has a constant with its
// address, which the device fills in before the first launch, and a variable of the variable's own name and size, with
// the initial value, that no code uses.
#pragma once

namespace tutti::guest {

// Before the variable's name, that of the constant. Also a fence's names begin like this (kFencePrefix).
inline constexpr const char* kManagedPrefix = "__tutti_managed_";

}  // namespace tutti::guest
