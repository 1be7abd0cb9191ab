// For tests: a channel, and a client's end of it. The test has the server's.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <utility>

#include "ipc/peer_watch.h"
#include "ipc/ring_producer.h"
#include "os/fd.h"
#include "os/memory.h"
#include "os/socket.h"
#include "wire/channel_layout.h"

namespace tutti::ipc {

class ChannelTest : public testing::Test {
 protected:
  ChannelTest()
      : memory_(os::CreateMemory("channel-test", sizeof(wire::Channel)).value()),
        mapping_(os::Mapping::Shared(memory_.get(), sizeof(wire::Channel)).value()),
        channel_(reinterpret_cast<wire::Channel*>(mapping_.data())),
        bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        sockets_(os::SocketPair().value()),
        watch_(&channel_->header, sockets_.first.get()),
        producer_(channel_, bell_.get(), &watch_) {}

  os::Fd memory_;
  os::Mapping mapping_;
  wire::Channel* channel_;
  os::Fd bell_;
  std::pair<os::Fd, os::Fd> sockets_;  // the client's, the server's
  PeerWatch watch_;
  RingProducer producer_;
};

}  // namespace tutti::ipc
