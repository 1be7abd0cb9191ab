#include "kubernetes/node_patch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tutti::kubernetes {
namespace {

using Json = nlohmann::json;

const NodeMarks kShared = {{{"nvidia.com/gpu.replicas", "4"}, {"scheduling.cast.ai/gpu-shared", "4"}},
                           {{"scheduling.cast.ai/node-template", "gpus", "NoSchedule"}}};

Json Node(const Json& labels, const Json& annotations, const Json& taints) {
  return {{"kind", "Node"},
          {"metadata", {{"name", "n"}, {"resourceVersion", "7"}, {"labels", labels}, {"annotations", annotations}}},
          {"spec", {{"taints", taints}}}};
}

Json Patch(const Json& node, const NodeMarks& marks) {
  const auto patch = MakeNodePatch(node.dump(), marks);
  EXPECT_TRUE(patch) << (patch ? "" : patch.error().text);
  return patch && !patch->empty() ? Json::parse(*patch) : Json();
}

// What an API server makes of a node and a patch.
Json Patched(Json node, const NodeMarks& marks) {
  node.merge_patch(Patch(node, marks));
  return node;
}

TEST(NodePatch, APlainNodeGetsLabelsAndTaintsAndKeepsItsOwn) {
  const Json node = Patched(Node({{"kubernetes.io/os", "linux"}}, Json::object(),
                                 Json::array({{{"key", "mine"}, {"effect", "NoExecute"}, {"timeAdded", "now"}}})),
                            kShared);
  EXPECT_EQ(
      node["metadata"]["labels"],
      Json({{"kubernetes.io/os", "linux"}, {"nvidia.com/gpu.replicas", "4"}, {"scheduling.cast.ai/gpu-shared", "4"}}));
  ASSERT_EQ(node["spec"]["taints"].size(), 2u);
  EXPECT_EQ(node["spec"]["taints"][0]["timeAdded"], "now");
  EXPECT_EQ(node["spec"]["taints"][1],
            Json({{"key", "scheduling.cast.ai/node-template"}, {"value", "gpus"}, {"effect", "NoSchedule"}}));
}

TEST(NodePatch, ANodeThatIsAsWantedGetsNoPatch) {
  EXPECT_EQ(Patch(Patched(Node(Json::object(), Json::object(), Json::array()), kShared), kShared), Json());
  EXPECT_EQ(Patch({{"kind", "Node"}}, {}), Json());
}

TEST(NodePatch, APatchNamesTheVersionItWasMadeFrom) {
  EXPECT_EQ(Patch(Node(Json::object(), Json::object(), Json::array()), kShared)["metadata"]["resourceVersion"], "7");
}

TEST(NodePatch, WhatAnEarlierPluginPutOnIsTakenOff) {
  const Json marked = Patched(
      Node({{"zone", "a"}}, Json::object(), Json::array({{{"key", "mine"}, {"effect", "NoExecute"}}})), kShared);
  const Json bare = Patched(marked, {});
  EXPECT_EQ(bare["metadata"]["labels"], Json({{"zone", "a"}}));
  EXPECT_EQ(bare["spec"]["taints"], Json::array({{{"key", "mine"}, {"effect", "NoExecute"}}}));
  EXPECT_FALSE(bare["metadata"]["annotations"].contains(kLabelsAnnotation));
}

TEST(NodePatch, ATaintOfTheSameKeyAndEffectGetsOurValue) {
  const Json node = Patched(
      Node(Json::object(), Json::object(),
           Json::array({{{"key", "scheduling.cast.ai/node-template"}, {"value", "old"}, {"effect", "NoSchedule"}}})),
      kShared);
  ASSERT_EQ(node["spec"]["taints"].size(), 1u);
  EXPECT_EQ(node["spec"]["taints"][0]["value"], "gpus");
}

TEST(NodePatch, AnAnnotationCannotMakeUsRemoveWhatWasNeverOurs) {
  const Json node = Node({{"kubernetes.io/hostname", "n"}, {"nvidia.com/gpu.count", "1"}},
                         {{kLabelsAnnotation, "kubernetes.io/hostname,nvidia.com/gpu.count,,"}}, Json::array());
  EXPECT_EQ(Patched(node, {})["metadata"]["labels"], Json({{"kubernetes.io/hostname", "n"}}));
}

TEST(NodePatch, WhatIsNoNodeIsRefused) {
  for (const char* text : {"", "{", "[]", "null", "{\"kind\": \"Status\"}", "{\"kind\": 7}"})
    EXPECT_FALSE(MakeNodePatch(text, kShared)) << text;
}

TEST(NodePatch, ANodeOfUnexpectedShapeIsTakenForAnEmptyOne) {
  const Json patch = Patch(
      {{"kind", "Node"}, {"metadata", {{"labels", "none"}, {"annotations", 3}}}, {"spec", Json::array({1})}}, kShared);
  EXPECT_EQ(patch["metadata"]["labels"].size(), 2u);
  EXPECT_EQ(patch["spec"]["taints"].size(), 1u);
}

}  // namespace
}  // namespace tutti::kubernetes
