/*
 * track.h: which boxes of successive frames are the same thing: each gets a number that it
 * keeps. Nothing here knows GStreamer.
 *
 * The box that overlaps most with the last place of a track is that track's next place, the
 * largest overlaps first; there is no model of motion, and pixels are not looked at (Bochinski
 * et al. 2017, "High-Speed Tracking-by-Detection Without Using Image Information"). What moves
 * by more than most of its size from one frame to the next becomes a new track.
 */
#ifndef MTS_GST_TRACK_H
#define MTS_GST_TRACK_H

#include <stdint.h>

#define TRACKS_MOST 64u
/* Least intersection over union of a track's last box and its next one. */
#define TRACK_OVERLAP_LEAST 0.3f
/* Frames in a row on which a track may be missed; its number is given up after that. */
#define TRACK_MISSED_MOST 8u

typedef struct track {
    uint64_t id;    /* 1 and up; never given twice */
    uint64_t first; /* time stamp of the frame that it was first seen on */
    uint32_t age;   /* frames since then, those on which it was missed, too */
    uint32_t missed;
    float box[4]; /* left, top, right, bottom */
} track;

typedef struct tracker {
    track tracks[TRACKS_MOST];
    uint32_t count;
    uint64_t given; /* numbers so far */
} tracker;

/*
 * The boxes of the next frame, up to TRACKS_MOST; out[i] becomes the track of boxes[i]. A box
 * without an area has no overlap with anything. Where all tracks are in use the one that was
 * missed longest makes room.
 */
void tracker_next(tracker *all, uint64_t time, const float (*boxes)[4], uint32_t count, track *out);
/* Forgets all tracks; numbers go on. */
void tracker_reset(tracker *all);

#endif
