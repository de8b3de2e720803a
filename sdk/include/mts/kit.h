/*
 * kit.h: from the outputs of networks to answers: boxes, points, masks, classes. libmtskit.
 *
 * The functions are pure: they call no device, allocate nothing, print nothing and keep no state.
 * They need mts/types.h alone, so that a program may use them with tensors of any other run-time.
 *
 *     mts_kit_ssd ssd;                mts_kit_ssd_default(MTS_KIT_SSD_FACE, &ssd);
 *     mts_kit_anchors(&ssd, anchors, MTS_KIT_ANCHORS_MAX);
 *     for each frame, after the detector has run on `region` of it:
 *         count = mts_kit_ssd_decode(&ssd, anchors, boxes, scores, found);
 *         count = mts_kit_nms(&ssd.nms, found, count);
 *         mts_kit_map_of_region(&region, frame.width, frame.height, 128, 128, &map);
 *         mts_kit_detections_map(&map, found, count);          found is in pixels of the frame now
 *         mts_kit_roi_of_detection(&rule, &found[0], &roi);    the part that the next network sees
 *
 * Coordinates: x goes to the right and y downwards. A decoder gives parts of the network's input:
 * 0, 0 is its upper left corner and 1, 1 its lower right one. A mts_kit_map turns them into pixels
 * of the frame as it lies in memory, where the middle of the first pixel is 0.5, 0.5. Angles are in
 * radians and clockwise.
 *
 * Numbers of a network that are not finite give no detection and no answer; points keep them.
 * Pointers are not NULL unless a comment allows it. docs/KIT.md has the sources of the methods, the
 * constants of the known networks, and what was compared with which library.
 *
 * Thread-safety: calls are independent of each other.
 */
#ifndef MTS_KIT_H
#define MTS_KIT_H

#include "mts/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most key points of a detection. */
#define MTS_KIT_POINTS_MAX 8
/* Most layers of anchors. */
#define MTS_KIT_LAYERS_MAX 8
/* Most anchors that mts_kit_anchors makes. */
#define MTS_KIT_ANCHORS_MAX 65536

/* Something that a detector has found. Fixed layout: it has no size. */
typedef struct mts_kit_detection {
    /* Its box, left < right and top < bottom. */
    float left, top, right, bottom;
    /* Probability, 0..1. */
    float score;
    /* Class. 0 if the detector has one class. */
    uint32_t label;
    /* Number of the candidate among the detector's. */
    uint32_t index;
    /* Key points: x, y of each. */
    uint32_t point_count;
    float points[MTS_KIT_POINTS_MAX][2];
} mts_kit_detection;

/* A landmark. */
typedef struct mts_kit_landmark {
    /* Place. z has the unit of x; what is nearer to the camera has a smaller z. 0: there is none. */
    float x, y, z;
    /* Probability that it is not hidden, and that it lies inside the frame. 1: the network gives none. */
    float visibility, presence;
} mts_kit_landmark;

/* A rectangle of a frame, maybe turned: what a network sees. */
typedef struct mts_kit_roi {
    /* Middle, in pixels of the frame. */
    float x, y;
    /* Sides, in pixels of the frame. */
    float width, height;
    /* Radians, clockwise: the direction of the rectangle's rows. */
    float angle;
} mts_kit_roi;

/* Parts of an input to pixels of a frame: (x, y) -> (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]). */
typedef struct mts_kit_map {
    double m[6];
} mts_kit_map;

/* ---- from inputs to the frame, and back ---- */

/*
 * Finds where the pixels of an input lie in the frame, letterbox bars, rotation and mirror included.
 * @param region what the input shows; all zeros: the whole frame, stretched. Where its fit is
 * MTS_FIT_TASK, put mts_task_desc.fit there first
 * @param frame_width, frame_height pixels of the frame, at least 1
 * @param input_width, input_height pixels of the network's input, at least 1
 * @param map written
 */
MTS_API void mts_kit_map_of_region(const mts_region *region, uint32_t frame_width, uint32_t frame_height,
                                   uint32_t input_width, uint32_t input_height, mts_kit_map *map);
/*
 * @param map of mts_kit_map_of_region
 * @param point x, y in parts of the input; becomes pixels of the frame
 */
MTS_API void mts_kit_point_map(const mts_kit_map *map, float point[2]);
/*
 * Maps boxes and points. A turned box becomes the upright one around its corners.
 * @param map of mts_kit_map_of_region
 * @param detections [count], changed in place
 * @param count may be 0
 */
MTS_API void mts_kit_detections_map(const mts_kit_map *map, mts_kit_detection *detections, uint32_t count);
/*
 * The smallest rectangle around a whole frame that has the aspect ratio of an input. As a region it
 * is what letterbox fitting shows, without rounding the bars to whole pixels.
 * @param frame_width, frame_height pixels of the frame, at least 1
 * @param input_width, input_height pixels of the network's input, at least 1
 * @param roi written
 */
MTS_API void mts_kit_roi_of_frame(uint32_t frame_width, uint32_t frame_height, uint32_t input_width,
                                  uint32_t input_height, mts_kit_roi *roi);
/*
 * The region that shows a rectangle, stretched to the input: for mts_frame.region and
 * mts_session_regions.
 * @param roi the rectangle
 * @param outside what pixels outside of the frame are
 * @param region written
 */
MTS_API void mts_kit_region_of_roi(const mts_kit_roi *roi, mts_outside outside, mts_region *region);

/* ---- detectors ---- */

/* How overlapping detections become one. */
typedef struct mts_kit_nms_options {
    /* sizeof(mts_kit_nms_options). */
    size_t size;
    /* Two boxes with more intersection over union than this show the same thing. 0..1. */
    float overlap;
    /* 0 (default): the best one stays as it is. 1: its box and points become the mean of all that
       overlap it, weighted by their scores, as MediaPipe blends. */
    uint32_t blend;
    /* 0 (default): every label alone. 1: boxes suppress each other whatever their labels. */
    uint32_t across_labels;
} mts_kit_nms_options;

/*
 * Non-maximum suppression, in place: the best detection stays, and those that overlap it go, until
 * none is left. Of equal scores the smaller index is better. Takes time in proportion to the number
 * given times the number that stays.
 * @param options NULL: overlap 0.45, no blending, labels alone
 * @param detections [count]; the ones that stay come first, the best first
 * @param count may be 0
 * @return how many stay; 0 also: an option is out of range
 */
MTS_API uint32_t mts_kit_nms(const mts_kit_nms_options *options, mts_kit_detection *detections,
                             uint32_t count);

/* Detectors of MediaPipe whose anchors and constants are known. */
typedef enum mts_kit_ssd_kind {
    /* face_detection_short_range: 128 x 128, 896 anchors, 6 points: eyes, nose, mouth, ears. */
    MTS_KIT_SSD_FACE = 0,
    /* palm_detection: 192 x 192, 2016 anchors, 7 points: wrist, fingers' and thumb's joints. */
    MTS_KIT_SSD_PALM = 1,
    /* pose_detection: 224 x 224, 2254 anchors, 4 points: hips, circle around the body, shoulders. */
    MTS_KIT_SSD_POSE = 2
} mts_kit_ssd_kind;

/* A single-shot detector with anchors of one size (MediaPipe's `fixed_anchor_size`). */
typedef struct mts_kit_ssd {
    /* sizeof(mts_kit_ssd). */
    size_t size;
    /* Pixels of the input. */
    uint32_t width, height;
    /* Layers and the step of each, in pixels of the input. Layers of equal step that follow each other
       share a grid. */
    uint32_t layers, steps[MTS_KIT_LAYERS_MAX];
    /* Anchors that each layer has at a place of the grid. */
    uint32_t anchors_each;
    /* Key points of a box. */
    uint32_t points;
    /* What the network's numbers are divided by: usually the side of the input. */
    float scale;
    /* Candidates with a smaller probability are none. */
    float least_score;
    /* For mts_kit_nms. */
    mts_kit_nms_options nms;
} mts_kit_ssd;

/*
 * Fills in a known detector.
 * @param kind which one
 * @param ssd written
 * @return OK. INVALID_ARGUMENT: the kind is unknown; nothing is written.
 */
MTS_API mts_status mts_kit_ssd_default(mts_kit_ssd_kind kind, mts_kit_ssd *ssd);
/*
 * Middles of the anchors (Liu et al., SSD, ECCV 2016, section 2.2; MediaPipe's SsdAnchorsCalculator
 * with offsets of 0.5): row by row of each grid, the anchors of one place behind each other.
 * @param ssd the detector
 * @param anchors [most][2], x and y in parts of the input; NULL: only counts
 * @param most at most MTS_KIT_ANCHORS_MAX are made
 * @return how many there are, which may be more than were written; 0: an option is out of range
 */
MTS_API uint32_t mts_kit_anchors(const mts_kit_ssd *ssd, float *anchors, uint32_t most);
/*
 * Candidates of a detector, before suppression. The middle of a box is the anchor plus numbers 0, 1 /
 * scale, its sides are numbers 2, 3 / scale, point i is the anchor plus numbers 4 + 2 i, 5 + 2 i /
 * scale, and the probability is the logistic function of the score.
 * @param ssd the detector
 * @param anchors [anchors][2], of mts_kit_anchors
 * @param boxes [anchors][4 + 2 * points]
 * @param scores [anchors], logits
 * @param detections room for one per anchor
 * @return how many were found, in the order of the anchors; 0 also: an option is out of range
 */
MTS_API uint32_t mts_kit_ssd_decode(const mts_kit_ssd *ssd, const float *anchors, const float *boxes,
                                    const float *scores, mts_kit_detection *detections);

/* Heads of the YOLO family and its relatives. */
typedef enum mts_kit_yolo_kind {
    /* Ultralytics' export of v8 to v12: [4 + classes][rows], middles and sides in pixels, probabilities. */
    MTS_KIT_YOLO_V8 = 0,
    /* YOLOv5's export: [rows][5 + classes], number 4 is the probability that a row is an object. */
    MTS_KIT_YOLO_V5 = 1,
    /* YOLOX: like V5, but middles and sides count from the cells of grids with steps 8, 16, 32. */
    MTS_KIT_YOLO_X = 2,
    /* Exports that suppress by themselves (v10, v26): [rows][6]: corners in pixels, score, class. */
    MTS_KIT_YOLO_END_TO_END = 3,
    /* FastestDet: [5 + classes][cells], one grid; scores are objectness^0.6 * class^0.4. */
    MTS_KIT_YOLO_FASTEST = 4
} mts_kit_yolo_kind;

/* A head, and the tensor that it gives. */
typedef struct mts_kit_yolo {
    /* sizeof(mts_kit_yolo). */
    size_t size;
    /* How the numbers lie. */
    mts_kit_yolo_kind kind;
    /* Classes; not read for END_TO_END. */
    uint32_t classes;
    /* Rows, or cells: candidates of the head. */
    uint32_t rows;
    /* Pixels of the network's input. */
    uint32_t width, height;
    /* Candidates with a smaller score are none. 0.25 is usual. */
    float least_score;
} mts_kit_yolo;

/*
 * Guesses a head from the shape of its output: [1, 4 + C, N] with N > 4 + C is V8, [1, N, 6] with
 * N <= 1000 is END_TO_END, [1, 5 + C, h, w] is FASTEST, and [1, N, 5 + C] with grids of steps 8, 16 and
 * 32 is V5 where a cell has three rows and YOLOX where it has one.
 * @param output its shape is read alone
 * @param width, height pixels of the network's input
 * @param yolo written, with least_score 0.25
 * @return OK. UNSUPPORTED: no head has this shape; nothing is written.
 */
MTS_API mts_status mts_kit_yolo_guess(const mts_tensor *output, uint32_t width, uint32_t height,
                                      mts_kit_yolo *yolo);
/*
 * Candidates of a head, before suppression (which END_TO_END does not need).
 * @param yolo the head
 * @param values its output, one image
 * @param detections room for yolo->rows
 * @return how many were found, in the order of the rows; 0 also: an option is out of range
 */
MTS_API uint32_t mts_kit_yolo_decode(const mts_kit_yolo *yolo, const float *values,
                                     mts_kit_detection *detections);

/*
 * Candidates of a detector whose boxes are corners in parts of the input and whose scores are
 * probabilities (UltraFace).
 * @param scores [count][classes]; class 0 is the background and gives none
 * @param boxes [count][4]: left, top, right, bottom
 * @param count candidates
 * @param classes numbers of a candidate in `scores`, with the background
 * @param least_score candidates with a smaller score are none
 * @param detections room for `count`; label 0 is class 1
 * @return how many were found, in order. Empty boxes and boxes outside of the input are none.
 */
MTS_API uint32_t mts_kit_corners_decode(const float *scores, const float *boxes, uint32_t count,
                                        uint32_t classes, float least_score, mts_kit_detection *detections);

/* ---- landmarks ---- */

/*
 * Points of a network to points of the frame. z is scaled as x is.
 * @param map of mts_kit_map_of_region
 * @param values [count][stride]: x, y, z in pixels of the input; with stride 2 there is no z; with
 * stride 5 the last two are logits of visibility and presence
 * @param count points
 * @param stride 2, 3, 4 or 5
 * @param input_width, input_height pixels of the network's input
 * @param landmarks [count], written
 */
MTS_API void mts_kit_landmarks_map(const mts_kit_map *map, const float *values, uint32_t count,
                                   uint32_t stride, uint32_t input_width, uint32_t input_height,
                                   mts_kit_landmark *landmarks);
/*
 * Moves points of a network to the middle of the heat in a square around them, where the heat of any
 * cell of it is at least 0.5 (MediaPipe's RefineLandmarksFromHeatmapCalculator). Before
 * mts_kit_landmarks_map.
 * @param heat [heat_height][heat_width][count], logits
 * @param heat_width, heat_height cells of the heat map
 * @param side cells of the square's side, odd: 7 for pose_landmark
 * @param input_width, input_height pixels of the network's input
 * @param values [count][stride], as mts_kit_landmarks_map reads them; x and y are changed in place
 * @param count points
 * @param stride numbers of a point, at least 2
 */
MTS_API void mts_kit_landmarks_refine(const float *heat, uint32_t heat_width, uint32_t heat_height,
                                      uint32_t side, uint32_t input_width, uint32_t input_height,
                                      float *values, uint32_t count, uint32_t stride);
/*
 * The logistic function, 1 / (1 + e^-x).
 * @param x the number
 * @return its value, 0..1; NaN of NaN
 */
MTS_API float mts_kit_sigmoid(float x);

/* ---- the part that the next network sees ---- */

/* Steps of MediaPipe's graphs from something found to the rectangle of the next network. */
typedef enum mts_kit_roi_kind {
    /* Detected face, to face_landmark. */
    MTS_KIT_ROI_FACE = 0,
    /* Detected palm, to hand_landmark. */
    MTS_KIT_ROI_HAND = 1,
    /* Detected pose, to pose_landmark. */
    MTS_KIT_ROI_POSE = 2,
    /* 468 landmarks of a face, to iris_landmark, of the person's left eye: landmarks 362 and 263. The
       network was trained on right eyes, so that the region needs mirror 1. */
    MTS_KIT_ROI_LEFT_IRIS = 3,
    /* The person's right eye: landmarks 33 and 133. */
    MTS_KIT_ROI_RIGHT_IRIS = 4,
    /* Landmarks of a pose, to hand_recrop: wrist, little finger and index of the person's left hand,
       landmarks 15, 17 and 19. */
    MTS_KIT_ROI_LEFT_RECROP = 5,
    /* The person's right hand: landmarks 16, 18 and 20. */
    MTS_KIT_ROI_RIGHT_RECROP = 6,
    /* The two points of hand_recrop, to hand_landmark. */
    MTS_KIT_ROI_RECROPPED_HAND = 7,
    /* Landmarks of a pose, to the face detector, which then finds faces that are small in the frame:
       landmarks 0 to 10. */
    MTS_KIT_ROI_POSE_FACE = 8
} mts_kit_roi_kind;

/* How a rectangle is made of a box or of points. */
typedef struct mts_kit_roi_rule {
    /* sizeof(mts_kit_roi_rule). */
    size_t size;
    /* The rectangle turns so that the line from point `from` to point `to` has the angle `target` in
       it: 0 points to its right, pi / 2 to its upper side. Equal: it is not turned. */
    uint32_t from, to;
    float target;
    /* 0: the rectangle begins as the box. 1: as the square around point `from` that reaches as far as
       point `to`. 2: as the square around `to` that reaches as far as `from`. */
    uint32_t circle;
    /* First the middle moves by these parts of the sides, along the turned sides. */
    float shift_x, shift_y;
    /* 1: then both sides become the longer one. */
    uint32_t square;
    /* Then the sides are multiplied by these. */
    float scale_x, scale_y;
} mts_kit_roi_rule;

/*
 * Fills in the rule of a known step.
 * @param kind which one
 * @param rule written
 * @return OK. INVALID_ARGUMENT: the kind is unknown; nothing is written.
 */
MTS_API mts_status mts_kit_roi_default(mts_kit_roi_kind kind, mts_kit_roi_rule *rule);
/*
 * The rectangle of a detection, in pixels of the frame.
 * @param rule how it is made
 * @param detection after mts_kit_detections_map
 * @param roi written
 * @return OK. INVALID_ARGUMENT: the rule names a point that the detection lacks. UNSUPPORTED: the
 * rectangle is empty or not finite. Nothing is written then.
 */
MTS_API mts_status mts_kit_roi_of_detection(const mts_kit_roi_rule *rule, const mts_kit_detection *detection,
                                            mts_kit_roi *roi);
/*
 * The rectangle of landmarks: its box is the smallest one around all of them.
 * @param rule how it is made
 * @param landmarks [count], in pixels of the frame
 * @param count points
 * @param roi written
 * @return as mts_kit_roi_of_detection
 */
MTS_API mts_status mts_kit_roi_of_landmarks(const mts_kit_roi_rule *rule, const mts_kit_landmark *landmarks,
                                            uint32_t count, mts_kit_roi *roi);
/*
 * Gathers the landmarks that a step reads and makes the rectangle of them: for the steps whose comment
 * names landmarks, from the 468 of a face or the 33 of a pose.
 * @param kind which step
 * @param landmarks [count], in pixels of the frame
 * @param count points
 * @param roi written
 * @return as mts_kit_roi_of_detection. INVALID_ARGUMENT also: there are too few landmarks.
 */
MTS_API mts_status mts_kit_roi_of_step(mts_kit_roi_kind kind, const mts_kit_landmark *landmarks,
                                       uint32_t count, mts_kit_roi *roi);

/* ---- masks ---- */

/* What a number of a mask means. */
typedef enum mts_kit_mask_kind {
    /* A probability. */
    MTS_KIT_MASK_PROBABILITY = 0,
    /* A logit, whose logistic function is the probability. */
    MTS_KIT_MASK_LOGIT = 1
} mts_kit_mask_kind;

/*
 * A mask at the frame's size: bilinear between the middles of the mask's pixels, clamped at its edge;
 * 0 where the frame was not shown.
 * @param map of mts_kit_map_of_region
 * @param mask [height][width]: every `step`-th number of `mask`, so that one class of an interleaved
 * output can be read
 * @param width, height pixels of the mask
 * @param step numbers from one pixel of the mask to the next
 * @param kind what the numbers mean
 * @param threshold 0..1: 255 where the probability is larger, else 0. Negative: 255 times it
 * @param frame_width, frame_height pixels of the frame
 * @param alpha [frame_height][frame_width], written
 * @return OK. INVALID_ARGUMENT: a side or `step` is 0, or the map cannot be inverted.
 */
MTS_API mts_status mts_kit_mask_resize(const mts_kit_map *map, const float *mask, uint32_t width,
                                       uint32_t height, uint32_t step, mts_kit_mask_kind kind,
                                       float threshold, uint32_t frame_width, uint32_t frame_height,
                                       uint8_t *alpha);

/* ---- classes ---- */

/* A class and what the network says of it. */
typedef struct mts_kit_class {
    uint32_t index;
    /* Probability, or the number of the output. */
    float score;
} mts_kit_class;

/*
 * @param tensor of any type
 * @return number of its elements; 0: the type is unknown
 */
MTS_API size_t mts_kit_count(const mts_tensor *tensor);
/*
 * @param tensor of any type
 * @param index 0..mts_kit_count(tensor) - 1
 * @return the number; 64-bit integers are rounded to double
 */
MTS_API double mts_kit_value(const mts_tensor *tensor, size_t index);
/*
 * The largest numbers of an output.
 * @param tensor of any type
 * @param softmax 1: scores are e^x / sum(e^x) over the whole tensor, unless they are probabilities already:
 * none is negative and their sum is 1 within 1e-3. 0: scores are the numbers
 * @param classes [most], the largest first; of equal numbers the smaller index. NaN is none
 * @param most may be 0
 * @return how many were written
 */
MTS_API uint32_t mts_kit_top(const mts_tensor *tensor, uint32_t softmax, mts_kit_class *classes,
                             uint32_t most);

#ifdef __cplusplus
}
#endif

#endif
