#!/usr/bin/env bash
# colcon and ament_cmake build and install the package of apps/ros2, beside an installed MTS SDK and packages that stand
# in for rclcpp and the messages (stubs/). What a robot's own distribution has is not shown: the stand-ins are headers.
# By hand: colcon comes from PyPI (colcon-core, colcon-cmake, colcon-ros), ament_cmake from Debian 12.
# usage: colcon.sh SOURCE BUILD    (PATH has colcon; AMENT is a prefix with ament_cmake, /usr by default)
set -euo pipefail
source=$(cd "$1" && pwd) build=$(cd "$2" && pwd)
ament=${AMENT:-/usr}
command -v colcon >/dev/null || { echo "no colcon: skipped"; exit 77; }
[ -e "$ament/share/ament_cmake/cmake/ament_cmakeConfig.cmake" ] || { echo "no ament_cmake in $ament: skipped"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for component in runtime development compiler compress; do
    cmake --install "$build" --prefix "$place/sdk" --component $component >"$place/log" 2>&1 ||
        { cat "$place/log"; exit 1; }
done

# stand_in PACKAGE TARGETS: what find_package(PACKAGE) finds; all of them are the same headers
stand_in() {
    local target
    mkdir -p "$place/stand-ins/share/$1/cmake"
    for target in $2; do
        printf 'if(NOT TARGET %s)\n  add_library(%s INTERFACE IMPORTED)\n' "$target" "$target"
        printf '  target_include_directories(%s INTERFACE %s)\nendif()\n' "$target" "$source/tests/ros2/stubs"
    done >"$place/stand-ins/share/$1/cmake/$1Config.cmake"
    printf 'set(%s_TARGETS %s)\n' "$1" "$2" >>"$place/stand-ins/share/$1/cmake/$1Config.cmake"
}
for package in std_msgs sensor_msgs vision_msgs diagnostic_msgs rcl_interfaces; do
    stand_in $package "$package::$package"
done
stand_in rclcpp rclcpp::rclcpp
stand_in rclcpp_components rclcpp_components::component
# The real function also makes a program, whose text is its own.
echo 'function(rclcpp_components_register_node)
endfunction()' >>"$place/stand-ins/share/rclcpp_components/cmake/rclcpp_componentsConfig.cmake"

mkdir -p "$place/work/src"
cp -r "$source/apps/ros2" "$place/work/src/mts_ros"
cd "$place/work"
export AMENT_PREFIX_PATH=$ament PYTHONPATH=$ament/lib/python3/dist-packages${PYTHONPATH:+:$PYTHONPATH}
colcon build --event-handlers console_direct+ --cmake-args \
    "-DCMAKE_PREFIX_PATH=$place/sdk;$place/stand-ins;$ament" "-DPython3_EXECUTABLE=$(command -v python3)" \
    >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
for file in lib/libmts_ros.so share/mts_ros/package.xml share/mts_ros/launch/infer.launch.py share/mts_ros/config \
    share/mts_ros/cmake/mts_rosConfig.cmake share/ament_index/resource_index/packages/mts_ros; do
    [ -e "install/mts_ros/$file" ] || { find install -type f; echo "colcon did not install $file"; exit 1; }
done
nm -DC install/mts_ros/lib/libmts_ros.so | grep 'mts_ros::InferNode::InferNode' >/dev/null ||
    { echo "the library has no node"; exit 1; }
python3 -m py_compile install/mts_ros/share/mts_ros/launch/infer.launch.py
tail -n 1 "$place/log"
