// register_node_macro.hpp: a stand-in for tests. A test makes nodes by the class's constructor, which
// is what the macro's factory does.
#pragma once

#define RCLCPP_COMPONENTS_REGISTER_NODE(NodeClass)
