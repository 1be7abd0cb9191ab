#include "cli/timeline_page.h"

#include <gtest/gtest.h>

namespace tutti::cli {
namespace {

TEST(TimelinePage, HoldsTheTraceAndNeedsNothingElse) {
  const TraceModel model{.processes = {{7, "./a"}},
                         .kernels = {"saxpy"},
                         .rows = {{0, 0}},
                         .spans = {{1, 3, 0, 0, 0, 4}},
                         .duration_us = 3};
  const std::string page = TimelinePage(model);
  EXPECT_NE(page.find("spans:[[[1.00,2.00,0,0,4]]"), std::string::npos);
  EXPECT_NE(page.find("{pid:7,name:\"./a\"}"), std::string::npos);
  EXPECT_EQ(page.find("/*TRACE*/"), std::string::npos);
  for (const char* elsewhere : {"http://", "https://", "src=", "@import"})
    EXPECT_EQ(page.find(elsewhere), std::string::npos) << elsewhere;
}

TEST(TimelinePage, ANameCannotEndTheScript) {
  const std::string clean = TimelinePage({});
  const std::string page =
      TimelinePage({.processes = {{1, "</script><script>alert(1)</script>"}}, .kernels = {"<!--"}});
  const auto count = [](const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count(page, "</script"), count(clean, "</script"));
  EXPECT_EQ(page.find("<!--"), std::string::npos);
}

}  // namespace
}  // namespace tutti::cli
