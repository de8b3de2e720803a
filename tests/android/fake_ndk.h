/*
 * fake_ndk.h: the part of Android that the app calls, on this machine: one camera whose pictures a test
 * sends, assets from memory or a file, Java's table of functions. It counts what is alive and what must not
 * happen, and can make any call fail. One test at a time; the app's threads may call it.
 */
#ifndef MTS_TESTS_ANDROID_FAKE_NDK_H
#define MTS_TESTS_ANDROID_FAKE_NDK_H

#include <jni.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_WIDTH 16
#define FAKE_HEIGHT 8

typedef struct fake_ndk {
    /* A test sets these. */
    uint32_t fail_at;  /* this call that can fail does, counted from 1; 0: none */
    bool only_front;   /* there is no camera on the other side */
    bool denied;       /* no permission */
    bool compressed;   /* the asset has no file descriptor */
    const void *asset; /* NULL: there is none */
    size_t asset_size;

    /* And reads these. */
    uint32_t calls; /* that can fail */
    int32_t alive;  /* objects of all kinds */
    int32_t images; /* that the app holds */
    uint32_t sent;
    uint32_t
        mistakes; /* images that outlive their reader, objects that are freed too early, too many images */
    bool front_used;
} fake_ndk;

/* Everything as at first. */
void fake_reset(void);
fake_ndk *fake(void);
/* The camera sends a picture, if it runs: its listener is called on this thread. */
bool fake_send(void);
/* The camera is gone: the app hears of it. */
void fake_disconnect(void);
/* Where the crop of pictures ends; 0: with the picture. Any thread may read it meanwhile. */
void fake_crop(int32_t right);
/* How many pictures the app has given back. */
uint32_t fake_given_back(void);
/* Whether the call that was to fail has been made. */
bool fake_has_failed(void);
/* Whether the log's last error has this part. */
bool fake_log_has(const char *part);
JNIEnv *fake_env(void);
/* What NewByteArray or NewFloatArray made; freed by the next call of fake_reset. */
const void *fake_array(jobject array, size_t *bytes);

/* For fake_jni.c: whether this call is the one that fails; counts objects; frees all arrays. */
bool fake_call_fails(void);
void fake_count(int32_t objects);
void fake_arrays_release(void);

#endif
