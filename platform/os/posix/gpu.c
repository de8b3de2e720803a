/*
 * gpu.c: whether the system may have a GPU.
 */
#include "platform/os/os.h"

#include <dirent.h>
#include <string.h>

bool mts_os_shows_gpu(const char *folder)
{
#if defined(__ANDROID__) || !defined(__linux__)
    (void)folder;
    return true;
#else
    static const char *const names[] = {"dri",  "nvidia", "nvhost", "nvgpu",   "nvmap", "kfd",
                                        "kgsl", "mali",   "pvr",    "galcore", "dxg"};
    DIR *entries = opendir(folder);
    bool found = !entries;
    for (const struct dirent *entry = NULL; !found && (entry = readdir(entries));) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            found = found || strncmp(entry->d_name, names[i], strlen(names[i])) == 0;
        }
    }
    if (entries) {
        (void)closedir(entries);
    }
    return found;
#endif
}
