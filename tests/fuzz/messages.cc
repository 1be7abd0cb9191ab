// Any bytes on a socket, in place of every message.
#include "wire/messages.h"

#include "wire/server_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tutti::wire;
  if (size == 0) return 0;
  tutti::ByteReader in(std::span(data + 1, size - 1));
  switch (data[0] % 15) {
    case 0: (void)ReadHead(in); break;
    case 1: (void)GetHello(in); break;
    case 2: (void)GetRefuse(in); break;
    case 3: (void)GetLoadModule(in); break;
    case 4: (void)GetLoadModuleReply(in); break;
    case 5: (void)GetQueryModule(in); break;
    case 6: (void)GetQueryModuleReply(in); break;
    case 7: (void)GetServerReady(in); break;
    case 8: (void)GetAttach(in); break;
    case 9: (void)GetServerQuery(in); break;
    case 10: (void)GetServerReply(in); break;
    case 11: (void)GetServerSet(in); break;
    case 12: (void)GetTerminateClient(in); break;
    case 13: (void)GetServerShutdown(in); break;
    default: break;
  }
  return 0;
}
