/*
 * Stub of the NDK's android/log.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_ANDROID_LOG_H
#define STUB_ANDROID_LOG_H

typedef enum android_LogPriority {
    ANDROID_LOG_UNKNOWN = 0,
    ANDROID_LOG_DEFAULT,
    ANDROID_LOG_VERBOSE,
    ANDROID_LOG_DEBUG,
    ANDROID_LOG_INFO,
    ANDROID_LOG_WARN,
    ANDROID_LOG_ERROR,
    ANDROID_LOG_FATAL,
    ANDROID_LOG_SILENT
} android_LogPriority;

int __android_log_write(int prio, const char *tag, const char *text);

#endif
