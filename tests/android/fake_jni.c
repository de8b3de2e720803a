/*
 * fake_jni.c: Java's table of functions for the app (fake_ndk.h). Arrays live until everything is reset.
 */
#include "fake_ndk.h"

#include <stdlib.h>
#include <string.h>

#define ARRAYS_MOST 65536

static void *arrays[ARRAYS_MOST];
static size_t array_count;

void fake_arrays_release(void)
{
    while (array_count > 0) {
        free(arrays[--array_count]);
    }
}

typedef struct array {
    size_t bytes;
    float data[]; /* aligned for both kinds */
} array;

const void *fake_array(jobject object, size_t *bytes)
{
    const array *read = object;
    *bytes = read->bytes;
    return read->data;
}

static jobject array_make(size_t bytes)
{
    array *new_array =
        fake_call_fails() || array_count == ARRAYS_MOST ? NULL : calloc(1, sizeof *new_array + bytes);
    if (new_array) {
        new_array->bytes = bytes;
        arrays[array_count++] = new_array;
    }
    return new_array;
}

static jobject new_global(JNIEnv *env, jobject object)
{
    (void)env;
    if (fake_call_fails()) {
        return NULL;
    }
    fake_count(1);
    return object;
}

static void delete_global(JNIEnv *env, jobject object)
{
    (void)env;
    (void)object;
    fake_count(-1);
}

static const char *get_text(JNIEnv *env, jstring text, jboolean *copied)
{
    (void)env;
    (void)copied;
    if (fake_call_fails()) {
        return NULL;
    }
    fake_count(1);
    return text;
}

static void release_text(JNIEnv *env, jstring text, const char *chars)
{
    (void)env;
    (void)text;
    (void)chars;
    fake_count(-1);
}

static jbyteArray new_bytes(JNIEnv *env, jsize length)
{
    (void)env;
    return array_make((size_t)length);
}

static void set_bytes(JNIEnv *env, jbyteArray to, jsize start, jsize length, const jbyte *from)
{
    (void)env;
    memcpy((char *)((array *)to)->data + start, from, (size_t)length);
}

static jfloatArray new_floats(JNIEnv *env, jsize length)
{
    (void)env;
    return array_make((size_t)length * sizeof(jfloat));
}

static void set_floats(JNIEnv *env, jfloatArray to, jsize start, jsize length, const jfloat *from)
{
    (void)env;
    memcpy(((array *)to)->data + start, from, (size_t)length * sizeof *from);
}

JNIEnv *fake_env(void)
{
    static const struct JNINativeInterface table = {.NewGlobalRef = new_global,
                                                    .DeleteGlobalRef = delete_global,
                                                    .GetStringUTFChars = get_text,
                                                    .ReleaseStringUTFChars = release_text,
                                                    .NewByteArray = new_bytes,
                                                    .SetByteArrayRegion = set_bytes,
                                                    .NewFloatArray = new_floats,
                                                    .SetFloatArrayRegion = set_floats};
    static JNIEnv env = &table;
    return &env;
}
