# CMake generated Testfile for 
# Source directory: /root/wt/real
# Build directory: /root/wt/real/build2
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
subdirs("sdk")
subdirs("apps/kit")
subdirs("apps/mts")
subdirs("apps/samples")
subdirs("apps/camera")
subdirs("tests")
