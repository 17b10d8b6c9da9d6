/* What the two halves of the mock of Metal share: buffers, functions and pipelines as objects. */
#ifndef UOCR_TESTS_MOCK_PARTS_H
#define UOCR_TESTS_MOCK_PARTS_H

#include "mock.h"

typedef struct buffer { mock_object object; uint8_t *data; size_t bytes; unsigned long options; bool owned; } buffer;
typedef struct values { mock_object object; uint32_t value[32]; unsigned long count; } values;
typedef struct function { mock_object object; char *name; values *constants; } function;
typedef struct state { mock_object object; function *function; unsigned long threads; } state;
mock_object *mock_queue(void);

#endif
