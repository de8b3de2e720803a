/*
 * status.h: how the camera program and its sources end. Exit statuses are documented in
 * docs/CAMERA.md.
 */
#ifndef MTS_CAMERA_STATUS_H
#define MTS_CAMERA_STATUS_H

typedef enum camera_status {
    CAMERA_OK = 0,
    CAMERA_FAILURE = 1,  /* bundle, device, files that are written */
    CAMERA_USAGE = 2,    /* a mistake on the command line or in the source's address */
    CAMERA_ABSENT = 3,   /* the source cannot be opened */
    CAMERA_FORMAT = 4,   /* it is there, and gives nothing that the library takes */
    CAMERA_VANISHED = 5, /* it gave frames and failed, or ended where it should not */
    CAMERA_STALLED = 6,  /* it is there, and no frame came in time */
    /* never exit statuses */
    CAMERA_WAITING = 100, /* no frame yet */
    CAMERA_END = 101      /* of a clip: all frames have been given */
} camera_status;

#endif
