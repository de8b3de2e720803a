/*
 * track.c: see track.h. Frames have few boxes: pairs are searched for one by one.
 */
#include "track.h"

#include <math.h>
#include <stdbool.h>

#define NONE UINT32_MAX

static float area(const float box[4])
{
    const float width = box[2] - box[0], height = box[3] - box[1];
    return width > 0 && height > 0 ? width * height : 0;
}

/* Intersection over union, 0..1; 0 also where a number is none. */
static float overlap(const float a[4], const float b[4])
{
    const float both[4] = {fmaxf(a[0], b[0]), fmaxf(a[1], b[1]), fminf(a[2], b[2]), fminf(a[3], b[3])};
    const float common = area(both), whole = area(a) + area(b) - common;
    return whole > 0 && isfinite(whole) ? common / whole : 0;
}

/* Of all pairs of a track and a box that have no partner yet, the one with the largest overlap. */
static bool best_pair(const tracker *all, uint32_t known, const float (*boxes)[4], uint32_t count,
                      const uint32_t *track_of, const bool *seen, uint32_t pair[2])
{
    float best = TRACK_OVERLAP_LEAST;
    bool found = false;
    for (uint32_t t = 0; t < known; t++) {
        for (uint32_t i = 0; i < count && !seen[t]; i++) {
            const float now = track_of[i] == NONE ? overlap(all->tracks[t].box, boxes[i]) : 0;
            if (now > best || (now >= best && !found)) {
                best = now;
                found = true;
                pair[0] = t;
                pair[1] = i;
            }
        }
    }
    return found;
}

/* A place for a new track: behind the others, or that of one without a box, missed longest. */
static uint32_t place_for(tracker *all, const bool *seen)
{
    if (all->count < TRACKS_MOST) {
        return all->count++;
    }
    uint32_t place = NONE;
    for (uint32_t t = 0; t < all->count; t++) {
        if (!seen[t] && (place == NONE || all->tracks[t].missed > all->tracks[place].missed)) {
            place = t;
        }
    }
    return place; /* there is one: boxes are no more than places */
}

/* Tracks that this frame did not show grow older, and end where that lasts too long. */
static void age_missed(tracker *all, const bool *seen)
{
    uint32_t kept = 0;
    for (uint32_t t = 0; t < all->count; t++) {
        all->tracks[t].missed = seen[t] ? 0 : all->tracks[t].missed + 1;
        if (all->tracks[t].missed <= TRACK_MISSED_MOST) {
            all->tracks[kept++] = all->tracks[t];
        }
    }
    all->count = kept;
}

void tracker_next(tracker *all, uint64_t time, const float (*boxes)[4], uint32_t count, track *out)
{
    uint32_t track_of[TRACKS_MOST], pair[2] = {0, 0};
    bool seen[TRACKS_MOST] = {false};
    const uint32_t known = all->count;
    count = count < TRACKS_MOST ? count : TRACKS_MOST;
    for (uint32_t i = 0; i < count; i++) {
        track_of[i] = NONE;
    }
    for (uint32_t t = 0; t < known; t++) {
        all->tracks[t].age++;
    }
    while (best_pair(all, known, boxes, count, track_of, seen, pair)) {
        track_of[pair[1]] = pair[0];
        seen[pair[0]] = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (track_of[i] == NONE) {
            track_of[i] = place_for(all, seen);
            seen[track_of[i]] = true;
            all->tracks[track_of[i]] = (track){.id = ++all->given, .first = time};
        }
        track *mine = &all->tracks[track_of[i]];
        mine->missed = 0;
        for (int k = 0; k < 4; k++) {
            mine->box[k] = boxes[i][k];
        }
        out[i] = *mine;
    }
    age_missed(all, seen);
}

void tracker_reset(tracker *all)
{
    all->count = 0;
}
