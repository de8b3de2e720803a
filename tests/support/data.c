/*
 * data.c: paths of test data that the repository does not hold, and comparison with a reference.
 */
#include "support/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *data_path(const char *source, const char *relative, char path[DATA_PATH])
{
    const char *folder = getenv("MTS_TEST_DATA");
    const int length = folder && *folder
                           ? snprintf(path, DATA_PATH, "%s/%s", folder, relative)
                           : snprintf(path, DATA_PATH, "%s/../shared/data/%s", source, relative);
    if (length < 0 || length >= DATA_PATH) {
        path[0] = 0;
    }
    return path;
}

bool data_exists(const char *path)
{
    return *path && access(path, R_OK) == 0;
}

static double share_of(float got, float want, double rtol, double atol)
{
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got) ? 0.0 : INFINITY;
    }
    if (isinf(want) || isinf(got)) {
        return isinf(want) && isinf(got) && signbit(want) == signbit(got) ? 0.0 : INFINITY;
    }
    return fabs((double)got - (double)want) / (atol + rtol * fabs((double)want));
}

data_difference data_compare(const float *got, const float *want, size_t count, double rtol, double atol)
{
    data_difference found = {0};
    for (size_t i = 0; i < count; i++) {
        const double share = share_of(got[i], want[i], rtol, atol);
        found.count += share > 1.0;
        if (share > found.worst_share) {
            found.worst = i;
            found.worst_share = share;
            found.worst_error = fabs((double)got[i] - (double)want[i]);
        }
    }
    return found;
}
