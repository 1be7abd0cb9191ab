#include "daemon/shell/completion.h"

#include <gmock/gmock.h>

namespace tutti::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kHelp =
    "get_server_list                 process ids of the servers\n"
    "start_server -uid UID           starts the server of a user\n"
    "set_policy share|time_slice [PID]  how clients share the device\n"
    "server create [<name>]          makes a server\n"
    "server delete <name>            ends a server\n";

TEST(Completion, OffersCommandsAndTheirWords) {
  EXPECT_THAT(Completions(kHelp, "ge"), ElementsAre("get_server_list"));
  EXPECT_THAT(Completions(kHelp, "s"), ElementsAre("server", "set_policy", "start_server"));
  EXPECT_THAT(Completions(kHelp, "start_server "), ElementsAre("-uid"));
  EXPECT_THAT(Completions(kHelp, "server "), ElementsAre("create", "delete"));
  EXPECT_THAT(Completions(kHelp, "set_policy t"), ElementsAre("time_slice"));
}

TEST(Completion, OffersNothingForValues) {
  EXPECT_THAT(Completions(kHelp, "server create "), IsEmpty());
  EXPECT_THAT(Completions(kHelp, "get_server_list "), IsEmpty());
  EXPECT_THAT(Completions(kHelp, "nonsense "), IsEmpty());
  EXPECT_THAT(Completions("", "x"), IsEmpty());
}

TEST(Completion, FillsInWhatAllHaveInCommon) {
  EXPECT_EQ(CommonStart({"get_server_list", "get_server_status"}), "get_server_");
  EXPECT_EQ(CommonStart({}), "");
}

}  // namespace
}  // namespace tutti::daemon
