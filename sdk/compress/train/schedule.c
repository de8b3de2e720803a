/*
 * schedule.c: see schedule.h.
 */
#include "compress/train/schedule.h"

#include <math.h>

#include "platform/os/os.h"

#define WARM_STEPS 20      /* over which the rate rises, where there are many */
#define WARM_FRACTION 0.05 /* of the training, where there are few */
#define PI 3.14159265358979323846

static double seconds_since(uint64_t start)
{
    return (double)(mts_os_clock_ns() - start) * 1e-9;
}

/* The first step makes what later ones find made; it says little about them. */
static void measure(mts_schedule *s)
{
    const double taken = seconds_since(s->begun);
    if (s->step >= 2) {
        s->step_seconds = s->step_seconds > 0 ? 0.9 * s->step_seconds + 0.1 * taken : taken;
    }
}

void mts_schedule_init(mts_schedule *schedule, uint64_t start, double seconds, uint64_t most, float peak)
{
    *schedule = (mts_schedule){.start = start, .seconds = seconds, .most = most, .peak = peak};
}

bool mts_schedule_next(mts_schedule *s)
{
    const double left = s->seconds - seconds_since(s->start);
    if (s->step) {
        measure(s);
        if (s->step >= s->most || left < s->step_seconds || left <= 0) {
            return false;
        }
    }
    double steps = (double)s->most;
    if (s->step_seconds > 0) {
        steps = fmin(steps, (double)s->step + floor(left / s->step_seconds));
    }
    s->fraction = (double)s->step / steps;
    const double warm = fmax((double)(s->step + 1) / WARM_STEPS, s->fraction / WARM_FRACTION);
    s->rate = (float)(s->peak * fmin(1, warm) * 0.5 * (1 + cos(PI * s->fraction)));
    s->begun = mts_os_clock_ns();
    s->step++;
    return true;
}

void mts_schedule_lower(mts_schedule *s, float part)
{
    s->peak *= part;
    s->rate *= part;
}

double mts_schedule_left(const mts_schedule *s)
{
    const double time = fmax(0, s->seconds - seconds_since(s->start));
    return s->step_seconds > 0 ? fmin(time, (double)(s->most - s->step) * s->step_seconds) : time;
}
