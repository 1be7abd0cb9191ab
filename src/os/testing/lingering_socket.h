// For tests of who closes strangers' descriptors.
#pragma once

#include "os/fd.h"

namespace tutti::os {

// A TCP connection over loopback: whoever closes the last descriptor of `lingering` waits for an hour, since nobody
// reads what was sent to `unread`. Both invalid where there is no TCP over loopback.
struct LingeringSocket {
  Fd lingering, unread;
};
LingeringSocket MakeLingeringSocket();

}  // namespace tutti::os
