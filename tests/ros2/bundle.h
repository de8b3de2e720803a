/*
 * bundle.h: a bundle for the node's test, written by C code: `colour` is a classifier of red, green
 * and blue by the mean of a frame; `boxes` gives back the numbers that a grey frame of ROWS x 6
 * pixels holds, as a detector's output; `means` gives back the colours of 2 x 2 parts.
 */
#ifndef MTS_TESTS_ROS2_BUNDLE_H
#define MTS_TESTS_ROS2_BUNDLE_H

#define BOX_ROWS 8

#ifdef __cplusplus
extern "C" {
#endif

/* 0: it is written. */
int bundle_write(const char *path);

#ifdef __cplusplus
}
#endif

#endif
