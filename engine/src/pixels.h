/* The 256 values a colour byte can take in the network. */
#ifndef UOCR_SRC_PIXELS_H
#define UOCR_SRC_PIXELS_H

/* table[p] = (p / 255 - 0.5) / 0.5 in f32, rounded half-even to bfloat16: the model was trained on bfloat16
 * pixels, and without that rounding visual rows move by far more than f32 arithmetic does. */
void uocr_pixel_table(float table[256]);

#endif
