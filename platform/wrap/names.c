/*
 * names.c: the names of calls and objects, for reports and traces.
 */
#include "platform/wrap/wrap.h"

const char *mts_wrap_kind_name(mts_wrap_kind kind)
{
    static const char *const names[MTS_WRAP_KIND_COUNT] = {"device_destroy",       "buffer_create",
                                                           "buffer_destroy",       "buffer_write",
                                                           "buffer_read",          "buffer_fill",
                                                           "kernel_create",        "kernel_destroy",
                                                           "command_list_create",  "command_list_destroy",
                                                           "command_list_submit",  "wait",
                                                           "command_list_profile", "command_list_update",
                                                           "buffer_send",          "buffer_read_async",
                                                           "event_record",         "event_query",
                                                           "host_create",          "host_destroy",
                                                           "command_list_trace",   "command_list_calibrate",
                                                           "buffer_map",           "buffer_unmap"};
    return (unsigned)kind < MTS_WRAP_KIND_COUNT ? names[kind] : "unknown";
}

const char *mts_wrap_type_name(mts_wrap_type type)
{
    static const char *const names[] = {"buffer", "kernel", "command list", "host memory"};
    return (unsigned)type < sizeof names / sizeof names[0] ? names[type] : "object";
}
