/* The config record of a model file (section kind 1): read field by field, every value against its limits. */
#ifndef UOCR_SRC_MODEL_CONFIG_H
#define UOCR_SRC_MODEL_CONFIG_H

#include <stdint.h>

#include "model_file.h"

enum { UOCR_CONFIG_BYTES = 256 };

/* `path` is for messages. */
uocr_status uocr_config_parse(const uint8_t record[UOCR_CONFIG_BYTES], const char *path, uocr_config *,
                              uocr_error *);

#endif
