/*
 * library.c: shared libraries by dlopen.
 */
#include "platform/os/os.h"

#include <dlfcn.h>
#include <stdio.h>

mts_os_library *mts_os_library_open(const char *name, char *reason, size_t reason_size)
{
    int flags = RTLD_NOW | RTLD_LOCAL;
#ifdef RTLD_NODELETE
    flags |= RTLD_NODELETE;
#endif
    void *handle = dlopen(name, flags);
    if (!handle && reason && reason_size) {
        const char *text = dlerror();
        (void)snprintf(reason, reason_size, "%s", text ? text : "unknown reason");
    }
    return handle;
}

void *mts_os_library_symbol(mts_os_library *library, const char *name)
{
    return dlsym(library, name);
}

void mts_os_library_close(mts_os_library *library)
{
    if (library) {
        (void)dlclose(library);
    }
}
