/*
 * kit.h: from the outputs of networks to answers: boxes, points, masks, classes. libmtskit.
 *
 * The functions are pure: they call no device, allocate nothing, print nothing and keep no state.
 * They use only the types of mts/types.h. A program can pass them tensors of any other run-time.
 *
 *     mts_kit_ssd ssd;                mts_kit_ssd_default(MTS_KIT_SSD_FACE, &ssd);
 *     mts_kit_anchors(&ssd, anchors, MTS_KIT_ANCHORS_MAX);
 *     for each frame, after the detector has run on its `region`:
 *         count = mts_kit_ssd_decode(&ssd, anchors, boxes, scores, found);
 *         count = mts_kit_nms(&ssd.nms, found, count);
 *         mts_kit_map_of_region(&region, frame.width, frame.height, 128, 128, &map);
 *         mts_kit_detections_map(&map, found, count);          found is in pixels of the frame now
 *         mts_kit_roi_of_detection(&rule, &found[0], &roi);    the part that the next network sees
 *
 * Coordinates: x goes to the right and y downwards. A decoder gives fractions of the network's
 * input: 0, 0 is its upper left corner and 1, 1 its lower right corner. A mts_kit_map converts them
 * to pixels of the frame as it lies in memory. The centre of the first pixel is 0.5, 0.5. Angles
 * are clockwise, in radians.
 *
 * A candidate whose score is NaN gives no detection, and neither does one whose box is not finite.
 * A logit may be infinite: its score is 1 or 0. An infinite score gives no detection.
 * Landmark functions do not check for NaN and infinity. Pointers must not be NULL unless a comment
 * allows it. docs/KIT.md names the sources of the methods, the constants of the known networks, and
 * the libraries that the results were compared with.
 *
 * Thread-safety: calls are independent of each other.
 */
#ifndef MTS_KIT_H
#define MTS_KIT_H

#include "mts/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of key points of a detection. */
#define MTS_KIT_POINTS_MAX 8
/* The largest number of layers of anchors. */
#define MTS_KIT_LAYERS_MAX 8
/* The largest number of anchors of a detector. */
#define MTS_KIT_ANCHORS_MAX 65536

/* Something that a detector has found. It has no `size`: its layout is fixed. */
typedef struct mts_kit_detection {
    /* Its box, left < right and top < bottom: fractions of the input, or pixels of the frame after
       mts_kit_detections_map. */
    float left, top, right, bottom;
    /* Probability, 0..1. */
    float score;
    /* Class. 0 if the detector has one class. */
    uint32_t label;
    /* Index of the candidate among all candidates of the detector. */
    uint32_t index;
    /* Number of key points. */
    uint32_t point_count;
    /* x, y of each key point, in the unit of the box. */
    float points[MTS_KIT_POINTS_MAX][2];
} mts_kit_detection;

/* A landmark: a point that a network finds. */
typedef struct mts_kit_landmark {
    /* Position. z has the unit of x, and is smaller nearer to the camera. z is 0 if the network
       gives none. */
    float x, y, z;
    /* Probabilities that the landmark is not hidden, and that it lies inside the frame. Each is 1
       if the network gives none. */
    float visibility, presence;
} mts_kit_landmark;

/* A rectangle of a frame, possibly rotated, that becomes the input of a network. */
typedef struct mts_kit_roi {
    /* Centre, in pixels of the frame. */
    float x, y;
    /* Sides before rotation, in pixels of the frame. */
    float width, height;
    /* Rotation around the centre: radians, clockwise. */
    float angle;
} mts_kit_roi;

/* Converts fractions of an input to pixels of a frame:
   (x, y) -> (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]). */
typedef struct mts_kit_map {
    double m[6];
} mts_kit_map;

/* ---- from inputs to the frame, and back ---- */

/*
 * Computes where each point of an input lies in the frame. The map accounts for letterbox bars,
 * rotation and mirror.
 * @param region what the input shows; all zeros: the whole frame, stretched. MTS_FIT_TASK counts as
 * MTS_FIT_STRETCH: for a task with a fit or a crop of its own, call mts_kit_region_of_task before
 * @param frame_width, frame_height pixels of the frame, at least 1
 * @param input_width, input_height pixels of the network's input, at least 1
 * @param map written
 */
MTS_API void mts_kit_map_of_region(const mts_region *region, uint32_t frame_width, uint32_t frame_height,
                                   uint32_t input_width, uint32_t input_height, mts_kit_map *map);
/*
 * Replaces what a region leaves to the task (MTS_FIT_TASK, MTS_FILTER_TASK, a part that is not
 * given) by what the task says, so that the region is what the session shows to this task.
 * @param region as given to the session
 * @param task of mts_bundle_task
 * @param frame_width, frame_height pixels of the frame, at least 1
 * @param shown written; may be `region`
 */
MTS_API void mts_kit_region_of_task(const mts_region *region, const mts_task_desc *task, uint32_t frame_width,
                                    uint32_t frame_height, mts_region *shown);
/*
 * Converts a point from fractions of the input to pixels of the frame.
 * @param map of mts_kit_map_of_region
 * @param point x, y; changed in place
 */
MTS_API void mts_kit_point_map(const mts_kit_map *map, float point[2]);
/*
 * Converts boxes and key points from fractions of the input to pixels of the frame. A rotated box
 * becomes the upright box around its corners.
 * @param map of mts_kit_map_of_region
 * @param detections [count], changed in place
 * @param count may be 0
 */
MTS_API void mts_kit_detections_map(const mts_kit_map *map, mts_kit_detection *detections, uint32_t count);
/*
 * Computes the smallest rectangle around a whole frame that has the aspect ratio of an input. A
 * region of this rectangle shows what MTS_FIT_LETTERBOX shows, but its bars are not rounded to
 * whole pixels.
 * @param frame_width, frame_height pixels of the frame, at least 1
 * @param input_width, input_height pixels of the network's input, at least 1
 * @param roi written
 */
MTS_API void mts_kit_roi_of_frame(uint32_t frame_width, uint32_t frame_height, uint32_t input_width,
                                  uint32_t input_height, mts_kit_roi *roi);
/*
 * Makes the region that shows a rectangle, stretched to the input. Pass it as mts_frame.region or
 * to mts_session_regions.
 * @param roi the rectangle
 * @param outside what the region shows where it reaches beyond the frame
 * @param region written
 */
MTS_API void mts_kit_region_of_roi(const mts_kit_roi *roi, mts_outside outside, mts_region *region);

/* ---- detectors ---- */

/* How mts_kit_nms merges overlapping detections. */
typedef struct mts_kit_nms_options {
    /* sizeof(mts_kit_nms_options). */
    size_t size;
    /* Two boxes overlap if their intersection over union is larger than this, 0..1. */
    float overlap;
    /* 0: the best detection stays unchanged. 1: its box and points become a mean, weighted by
       score, of itself and the detections that it removes, as in MediaPipe. */
    uint32_t blend;
    /* 0: a detection removes only detections of its own label. 1: it removes those of any label. */
    uint32_t across_labels;
} mts_kit_nms_options;

/*
 * Removes overlapping detections (non-maximum suppression): keeps the detection with the highest
 * score, removes those that overlap it, and continues with the rest. Of equal scores the smaller
 * index comes first. The time is proportional to `count` times the number of detections kept.
 * @param options NULL: overlap 0.45, blend 0, across_labels 0
 * @param detections [count], changed in place: the kept ones come first, in order of falling score
 * @param count may be 0
 * @return number of detections kept. 0 also: `overlap` is out of its range, or the size is wrong
 */
MTS_API uint32_t mts_kit_nms(const mts_kit_nms_options *options, mts_kit_detection *detections,
                             uint32_t count);

/* Detectors of MediaPipe whose anchors and constants are known. */
typedef enum mts_kit_ssd_kind {
    /* face_detection_short_range: 128 x 128, 896 anchors, 6 points: eyes, nose, mouth, ears. */
    MTS_KIT_SSD_FACE = 0,
    /* palm_detection: 192 x 192, 2016 anchors, 7 points: wrist, joints of the fingers and the
       thumb. */
    MTS_KIT_SSD_PALM = 1,
    /* pose_detection: 224 x 224, 2254 anchors, 4 points: hips, circle around the body,
       shoulders. */
    MTS_KIT_SSD_POSE = 2
} mts_kit_ssd_kind;

/* A single-shot detector with anchors of one size (MediaPipe's `fixed_anchor_size`). */
typedef struct mts_kit_ssd {
    /* sizeof(mts_kit_ssd). */
    size_t size;
    /* Pixels of the input. */
    uint32_t width, height;
    /* Number of layers, 1..MTS_KIT_LAYERS_MAX, and the distance of grid cells in each, in pixels of
       the input. Consecutive layers with equal steps share one grid. */
    uint32_t layers, steps[MTS_KIT_LAYERS_MAX];
    /* Anchors of each layer in a grid cell, 1..64. */
    uint32_t anchors_each;
    /* Key points of each detection, 0..MTS_KIT_POINTS_MAX. */
    uint32_t points;
    /* Divisor that turns box numbers of the network into fractions of the input. Usually the side
       of the input in pixels. */
    float scale;
    /* Candidates with a smaller probability are left out. */
    float least_score;
    /* Options for mts_kit_nms; the decoder does not read them. */
    mts_kit_nms_options nms;
} mts_kit_ssd;

/*
 * Fills in a known detector.
 * @param kind which one
 * @param ssd written
 * @param size of the struct in the caller's header; no byte behind it is written
 * @return OK. INVALID_ARGUMENT: the kind is unknown; nothing is written.
 */
MTS_API mts_status mts_kit_ssd_default_sized(mts_kit_ssd_kind kind, mts_kit_ssd *ssd, size_t size);
/* mts_kit_ssd_default_sized with the size that the struct has in this header. */
#define mts_kit_ssd_default(kind, ssd) mts_kit_ssd_default_sized((kind), (ssd), sizeof(mts_kit_ssd))
/*
 * Computes the centres of the anchors (Liu et al., SSD, ECCV 2016, section 2.2; MediaPipe's
 * SsdAnchorsCalculator with offsets of 0.5). They come grid by grid and row by row; the anchors of
 * one cell are consecutive.
 * @param ssd the detector
 * @param anchors [most][2], x and y in fractions of the input; NULL: the function only counts
 * @param most elements of `anchors`; further anchors are not written
 * @return number of anchors of the detector, even if it is larger than `most`. 0: a field of `ssd`
 * is out of its range, or there are more than MTS_KIT_ANCHORS_MAX anchors
 */
MTS_API uint32_t mts_kit_anchors(const mts_kit_ssd *ssd, float *anchors, uint32_t most);
/*
 * Decodes the outputs of a detector, before suppression. For the anchor a and its box numbers n:
 *
 *     centre of the box    a + (n[0], n[1]) / scale
 *     width, height        (n[2], n[3]) / scale
 *     key point i          a + (n[4 + 2 i], n[5 + 2 i]) / scale
 *     score                the logistic function of the anchor's logit
 *
 * @param ssd the detector
 * @param anchors [anchors][2], of mts_kit_anchors
 * @param boxes [anchors][4 + 2 * points]
 * @param scores [anchors], logits; infinity is a score of 1
 * @param detections [anchors]; as many as are found are written, in the order of the anchors
 * @return number of detections found. 0 also: as in mts_kit_anchors
 */
MTS_API uint32_t mts_kit_ssd_decode(const mts_kit_ssd *ssd, const float *anchors, const float *boxes,
                                    const float *scores, mts_kit_detection *detections);

/* Heads of the YOLO family and its relatives. */
typedef enum mts_kit_yolo_kind {
    /* Ultralytics' export of v8 to v12: [4 + classes][rows]. A row has the centre and the sides of
       a box in pixels, and a probability for each class. */
    MTS_KIT_YOLO_V8 = 0,
    /* YOLOv5's export: [rows][5 + classes]. A row has centre and sides in pixels, the probability
       of an object, and a probability for each class. The score is the product of both
       probabilities. */
    MTS_KIT_YOLO_V5 = 1,
    /* YOLOX: like V5, but in units of a grid's step of 8, 16 or 32 pixels. Centres are offsets from
       the row's grid cell, and sides are logarithms. */
    MTS_KIT_YOLO_X = 2,
    /* Exports that need no suppression (v10, v26): [rows][6]. A row has the left upper and the
       right lower corner in pixels, the score and the class. */
    MTS_KIT_YOLO_END_TO_END = 3,
    /* FastestDet: [5 + classes][cells] of one grid. The score is objectness^0.6 * class^0.4. */
    MTS_KIT_YOLO_FASTEST = 4
} mts_kit_yolo_kind;

/* A detection head and the layout of its output. */
typedef struct mts_kit_yolo {
    /* sizeof(mts_kit_yolo). */
    size_t size;
    /* Layout of the output. */
    mts_kit_yolo_kind kind;
    /* Number of classes, 1..65536. END_TO_END does not need it. */
    uint32_t classes;
    /* Number of candidates: rows or cells. */
    uint32_t rows;
    /* Pixels of the network's input. */
    uint32_t width, height;
    /* Candidates with a smaller score are left out. 0.25 is usual. */
    float least_score;
} mts_kit_yolo;

/*
 * Guesses a head from the shape of its output. The first line that fits decides; C is the number of
 * classes, and `cells` is the number of cells in the grids of step 8, 16 and 32 together.
 *
 *     [1, 5 + C, h, w]                   FASTEST
 *     [1, 4 + C, N], N > 4 + C           V8
 *     [1, N, 6], N <= 1000               END_TO_END
 *     [1, N, 5 + C], N = cells           X
 *     [1, N, 5 + C], N = 3 * cells       V5
 *
 * @param output only its shape is read
 * @param width, height pixels of the network's input
 * @param yolo written, with least_score 0.25
 * @return OK. UNSUPPORTED: no head has this shape; nothing is written.
 */
MTS_API mts_status mts_kit_yolo_guess(const mts_tensor *output, uint32_t width, uint32_t height,
                                      mts_kit_yolo *yolo);
/*
 * Decodes the output of a head, before suppression. END_TO_END needs no suppression.
 * @param yolo the head
 * @param values its output for one image
 * @param detections [yolo->rows]; as many as are found are written, in the order of the rows
 * @return number of detections found. 0 also: a field of `yolo` is out of its range
 */
MTS_API uint32_t mts_kit_yolo_decode(const mts_kit_yolo *yolo, const float *values,
                                     mts_kit_detection *detections);

/*
 * Decodes the outputs of a detector that gives corners and probabilities (UltraFace), before
 * suppression. Empty boxes and boxes outside of the input are left out.
 * @param scores [count][classes], probabilities; class 0 is the background, which is never found
 * @param boxes [count][4]: left, top, right, bottom in fractions of the input
 * @param count number of candidates
 * @param classes number of classes, with the background
 * @param least_score candidates with a smaller score are left out
 * @param detections [count]; as many as are found are written, in order. Label 0 is class 1
 * @return number of detections found. 0 also: `classes` is less than 2
 */
MTS_API uint32_t mts_kit_corners_decode(const float *scores, const float *boxes, uint32_t count,
                                        uint32_t classes, float least_score, mts_kit_detection *detections);

/* ---- landmarks ---- */

/*
 * Converts points of a network to landmarks in pixels of the frame. z is scaled as x is.
 * @param map of mts_kit_map_of_region
 * @param values [count][stride]. A point is x, y, z in pixels of the input, the logit of visibility
 * and the logit of presence. A stride below 5 means that the last of these are absent
 * @param count number of points
 * @param stride numbers of a point, at least 2; those from the sixth on are not read
 * @param input_width, input_height pixels of the network's input
 * @param landmarks [count], written
 */
MTS_API void mts_kit_landmarks_map(const mts_kit_map *map, const float *values, uint32_t count,
                                   uint32_t stride, uint32_t input_width, uint32_t input_height,
                                   mts_kit_landmark *landmarks);
/*
 * Moves each point to the mean position of the cells in a square around it, weighted by their heat
 * (MediaPipe's RefineLandmarksFromHeatmapCalculator). The heat of a cell is the logistic function
 * of its logit. A point stays if it lies outside of the heat map, or if no cell of its square has a
 * heat of at least 0.5. Call this before mts_kit_landmarks_map.
 * @param heat [heat_height][heat_width][count], logits
 * @param heat_width, heat_height cells of the heat map
 * @param side cells along a side of the square, an odd number; 7 for pose_landmark
 * @param input_width, input_height pixels of the network's input
 * @param values [count][stride], as in mts_kit_landmarks_map; x and y are changed in place
 * @param count number of points
 * @param stride numbers of a point, at least 2
 */
MTS_API void mts_kit_landmarks_refine(const float *heat, uint32_t heat_width, uint32_t heat_height,
                                      uint32_t side, uint32_t input_width, uint32_t input_height,
                                      float *values, uint32_t count, uint32_t stride);
/*
 * Computes the logistic function, 1 / (1 + e^-x).
 * @param x the number
 * @return its value, 0..1; NaN of NaN
 */
MTS_API float mts_kit_sigmoid(float x);

/* ---- the part that the next network sees ---- */

/* Steps of MediaPipe's graphs: each makes the rectangle that the next network sees from what an
   earlier network found. */
typedef enum mts_kit_roi_kind {
    /* From a detected face, for face_landmark. */
    MTS_KIT_ROI_FACE = 0,
    /* From a detected palm, for hand_landmark. */
    MTS_KIT_ROI_HAND = 1,
    /* From a detected pose, for pose_landmark. */
    MTS_KIT_ROI_POSE = 2,
    /* From landmarks 362 and 263 of the 468 of a face, for iris_landmark: the person's left eye.
       The network was trained on right eyes, so the region needs mirror 1. */
    MTS_KIT_ROI_LEFT_IRIS = 3,
    /* The same for the person's right eye, from landmarks 33 and 133. It needs no mirror. */
    MTS_KIT_ROI_RIGHT_IRIS = 4,
    /* From landmarks 15, 17 and 19 of a pose (wrist, little finger and index finger), for
       hand_recrop: the person's left hand. */
    MTS_KIT_ROI_LEFT_RECROP = 5,
    /* The same for the person's right hand, from landmarks 16, 18 and 20. */
    MTS_KIT_ROI_RIGHT_RECROP = 6,
    /* From the two points of hand_recrop, for hand_landmark. Use mts_kit_roi_of_landmarks. */
    MTS_KIT_ROI_RECROPPED_HAND = 7,
    /* From landmarks 0 to 10 of a pose, for the face detector. It then finds faces that are small
       in the frame. */
    MTS_KIT_ROI_POSE_FACE = 8
} mts_kit_roi_kind;

/* How a rectangle is made of a box and points. It begins as `circle` says, is rotated, and then
   changed by shift, square and scale, in this order. */
typedef struct mts_kit_roi_rule {
    /* sizeof(mts_kit_roi_rule). */
    size_t size;
    /* Two points. The rectangle is rotated so that the line from point `from` to point `to` has the
       angle `target` inside of it. If both are equal, the rectangle is not rotated. */
    uint32_t from, to;
    /* Radians, counter-clockwise: 0 points to the right side of the rectangle, pi / 2 to its upper
       side. */
    float target;
    /* 0: the rectangle begins as the box. 1: it begins as a square. Its centre is point `from`, and
       half of its side is the distance to point `to`. 2: the same with the centre at point `to`. */
    uint32_t circle;
    /* Shift: the centre moves along the rotated sides by these fractions of them. */
    float shift_x, shift_y;
    /* Square: 1 makes both sides as long as the longer one. 0 leaves them. */
    uint32_t square;
    /* Scale: the sides are multiplied by these. */
    float scale_x, scale_y;
} mts_kit_roi_rule;

/*
 * Fills in the rule of a known step.
 * @param kind which one
 * @param rule written
 * @param size of the struct in the caller's header; no byte behind it is written
 * @return OK. INVALID_ARGUMENT: the kind is unknown; nothing is written.
 */
MTS_API mts_status mts_kit_roi_default_sized(mts_kit_roi_kind kind, mts_kit_roi_rule *rule, size_t size);
/* mts_kit_roi_default_sized with the size that the struct has in this header. */
#define mts_kit_roi_default(kind, rule) mts_kit_roi_default_sized((kind), (rule), sizeof(mts_kit_roi_rule))
/*
 * Makes the rectangle of a detection from its box and its key points.
 * @param rule how it is made
 * @param detection in pixels of the frame, after mts_kit_detections_map
 * @param roi written if the call returns OK
 * @return OK. INVALID_ARGUMENT: the rule names a point that the detection lacks, or has a wrong
 * size or `circle`. UNSUPPORTED: the rectangle is empty or not finite.
 */
MTS_API mts_status mts_kit_roi_of_detection(const mts_kit_roi_rule *rule, const mts_kit_detection *detection,
                                            mts_kit_roi *roi);
/*
 * Makes the rectangle of landmarks. The box of the rule is the smallest box around all of them, and
 * the points of the rule are indices of landmarks.
 * @param rule how it is made
 * @param landmarks [count], in pixels of the frame
 * @param count number of landmarks
 * @param roi written if the call returns OK
 * @return as mts_kit_roi_of_detection. INVALID_ARGUMENT also: `count` is 0.
 */
MTS_API mts_status mts_kit_roi_of_landmarks(const mts_kit_roi_rule *rule, const mts_kit_landmark *landmarks,
                                            uint32_t count, mts_kit_roi *roi);
/*
 * Makes the rectangle of a known step from all landmarks of a face or a pose. The function picks
 * those that the step reads.
 * @param kind a step whose comment names landmarks by number
 * @param landmarks [count], in pixels of the frame: 468 of a face, or 33 of a pose
 * @param count number of landmarks
 * @param roi written if the call returns OK
 * @return OK. INVALID_ARGUMENT: the step reads no numbered landmarks, or there are too few.
 * UNSUPPORTED: the rectangle is empty or not finite.
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
 * Resizes a mask to the frame. It interpolates bilinearly between the centres of the mask's pixels,
 * and clamps at its edge. Pixels of the frame that the input did not show become 0.
 * @param map of mts_kit_map_of_region
 * @param mask [height][width][step]. The first number of each pixel is read. For another class of
 * an interleaved output, pass the address of that class in the first pixel
 * @param width, height pixels of the mask
 * @param step numbers from one pixel of the mask to the next; 1: the mask has one class
 * @param kind what the numbers mean
 * @param threshold 0..1: a pixel becomes 255 if its probability is larger, else 0. Negative: a
 * pixel becomes 255 times its probability, rounded
 * @param frame_width, frame_height pixels of the frame
 * @param alpha [frame_height][frame_width], written
 * @return OK. INVALID_ARGUMENT: a side or `step` is 0, or the map cannot be inverted.
 */
MTS_API mts_status mts_kit_mask_resize(const mts_kit_map *map, const float *mask, uint32_t width,
                                       uint32_t height, uint32_t step, mts_kit_mask_kind kind,
                                       float threshold, uint32_t frame_width, uint32_t frame_height,
                                       uint8_t *alpha);

/* ---- classes ---- */

/* A class and its score. */
typedef struct mts_kit_class {
    /* Index of its number in the output. */
    uint32_t index;
    /* The number of the output, or the probability that softmax makes of it. */
    float score;
} mts_kit_class;

/*
 * Counts the elements of a tensor: its bytes divided by the bytes of its type.
 * @param tensor of any type
 * @return number of its elements; 0: the type is unknown
 */
MTS_API size_t mts_kit_count(const mts_tensor *tensor);
/*
 * Reads an element of a tensor.
 * @param tensor of any type
 * @param index 0..mts_kit_count(tensor) - 1
 * @return the number, 64-bit integers rounded to double; NaN: the type is unknown
 */
MTS_API double mts_kit_value(const mts_tensor *tensor, size_t index);
/*
 * Finds the largest numbers of an output. NaN is skipped.
 * @param tensor of any type
 * @param softmax 0: scores are the numbers. 1: scores are e^x / sum(e^x) over the whole tensor. If
 * no number is negative and their sum is 1 within 1e-3, they are probabilities already and are kept
 * @param classes [most], the largest first; of equal numbers the smaller index comes first
 * @param most elements of `classes`; may be 0
 * @return number of classes written
 */
MTS_API uint32_t mts_kit_top(const mts_tensor *tensor, uint32_t softmax, mts_kit_class *classes,
                             uint32_t most);

#ifdef __cplusplus
}
#endif

#endif
