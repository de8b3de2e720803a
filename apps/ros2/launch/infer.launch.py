"""A camera and the node in one process, so that images are handed over without a copy.

    ros2 launch mts_ros infer.launch.py bundle:=app.mtsb camera_package:=v4l2_camera camera_plugin:=v4l2_camera::V4L2Camera
"""
import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import ComposableNodeContainer, LoadComposableNodes
from launch_ros.descriptions import ComposableNode


def generate_launch_description():
    share = get_package_share_directory("mts_ros")
    package = LaunchConfiguration("camera_package")
    infer = ComposableNode(
        package="mts_ros", plugin="mts_ros::InferNode", name="infer",
        parameters=[LaunchConfiguration("parameters"), {"bundle": LaunchConfiguration("bundle")}],
        remappings=[("image", LaunchConfiguration("image"))],
        extra_arguments=[{"use_intra_process_comms": True}])
    camera = ComposableNode(
        package=package, plugin=LaunchConfiguration("camera_plugin"), name="camera",
        extra_arguments=[{"use_intra_process_comms": True}])
    return LaunchDescription([
        DeclareLaunchArgument("bundle", description="file of the compiled tasks"),
        DeclareLaunchArgument("image", default_value="image_raw", description="topic of images"),
        DeclareLaunchArgument("parameters", default_value=os.path.join(share, "config", "infer.yaml")),
        DeclareLaunchArgument("camera_package", default_value="", description="package of a camera's component; none: empty"),
        DeclareLaunchArgument("camera_plugin", default_value="", description="class of that component"),
        ComposableNodeContainer(name="vision", namespace="", package="rclcpp_components",
                                executable="component_container_mt", composable_node_descriptions=[infer]),
        LoadComposableNodes(target_container="vision", composable_node_descriptions=[camera],
                            condition=IfCondition(PythonExpression(["'", package, "' != ''"]))),
    ])
