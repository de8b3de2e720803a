# MTS_TEST_PYTHON: the Python that tests run with. The environment that toolchains/host makes has what they need; without
# it any python3 is tried, and tests whose packages it lacks skip.
set(MTS_TEST_VENV ${PROJECT_SOURCE_DIR}/build/venv)
if(EXISTS ${MTS_TEST_VENV}/bin/python3)
  set(MTS_TEST_PYTHON ${MTS_TEST_VENV}/bin/python3)
else()
  find_program(MTS_PYTHON3 python3)
  set(MTS_TEST_PYTHON ${MTS_PYTHON3})
endif()
