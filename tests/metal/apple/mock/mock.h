/* Objective-C's run time and Apple's Metal, as far as the Metal device uses them, in plain C for Linux.
 *
 * The device's own source is compiled with reference counting for the run-time interface called "objfw", whose message
 * sends are one function, objc_msg_lookup. Objects count their references; what Metal would refuse with an assertion,
 * and what would leak, is a complaint. Where UOCR_HOST_KERNELS names a library of kernels, dispatches run on it. */
#ifndef UOCR_TESTS_MOCK_H
#define UOCR_TESTS_MOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*mock_imp)(void);
/* The second argument of every method; those that take nothing else leave it out. */
#define MOCK_SELECTOR const void *selector_ __attribute__((unused))
typedef struct mock_method { const char *selector; mock_imp imp; } mock_method;

typedef struct mock_class mock_class;
typedef struct mock_object { /* first in every object */
    mock_class *isa;
    long references;
} mock_object;

struct mock_class { /* an object itself: its isa holds the class methods */
    mock_class *isa;
    const char *name;
    size_t bytes;
    const mock_method *methods;       /* ends with NULL */
    void (*dealloc)(mock_object *); /* lets go of what it holds; NULL: nothing */
};

/* A class under the name that the compiler refers to. METHOD: of any type. */
#define MOCK_METHOD(selector, function) {selector, (mock_imp)(function)}
#define MOCK_CLASS(class_name, type, instance, of_class, at_dealloc)                          \
    static mock_class class_name##_meta = {.name = "+" #class_name, .methods = of_class};     \
    mock_class _OBJC_CLASS_##class_name = {&class_name##_meta, #class_name, sizeof(type), instance, at_dealloc}; \
    char __objc_class_name_##class_name

mock_object *mock_new(mock_class *); /* zeroed, one reference */
void *mock_retain(void *);
void mock_let_go(void *);
void *mock_autoreleased(void *);
void mock_set(void *place, void *object); /* a strong property */
long mock_alive(void);                    /* objects with references */
void mock_print_alive(void);

/* What Apple's frameworks would not have stood. */
__attribute__((format(printf, 1, 2))) void mock_complain(const char *format, ...);
unsigned mock_complaints(void);

/* ---- Foundation ---- */
typedef struct mock_string { mock_object object; char *text; } mock_string;
typedef struct mock_array { mock_object object; size_t count; mock_object *item[16]; } mock_array;
extern mock_class _OBJC_CLASS_NSString;
mock_string *mock_string_new(const char *text);
mock_array *mock_array_new(void);
void mock_array_add(mock_array *, void *object); /* retains */
const char *mock_path(void *url);
void mock_error(void *place, long code, const char *text); /* fills an NSError ** that may be NULL */
extern long mock_activities;                               /* begun and not ended */
void mock_do_what_is_due(void);                            /* what was put off by 10 seconds, once */

/* ---- Metal ---- */
typedef struct mock_faults { /* what goes wrong, all zero: nothing */
    bool no_device, no_default_device, no_metal3, no_apple7, no_queue;
    bool library_damaged, archive_damaged, archive_unwritable, no_archive;
    const char *source_error;     /* a source with this text in it does not compile */
    const char *function_error;   /* kernel that cannot be specialised */
    const char *pipeline_error;   /* kernel whose pipeline cannot be made */
    unsigned long most_threads;   /* of a pipeline, 0: 1024 */
    unsigned long simd_width;     /* 0: 32 */
    unsigned long static_threadgroup;
    size_t largest_buffer;        /* 0: 1 GiB */
    unsigned buffers_left;        /* buffer number n cannot be made, 0: all can */
    unsigned command_buffer_fails, command_buffers_fail_with; /* the n-th that is committed from now on, its code */
    bool no_command_buffer, no_encoder;
} mock_faults;
extern mock_faults mock_fault;

typedef struct mock_counts {
    unsigned committed, finished, dispatches, pipelines, compiled, from_archive, added_to_archive, saved;
    unsigned copies, fills, products, views;
    unsigned language, fast_math;
    size_t view_bytes, private_bytes, shared_bytes, in_flight_at_most;
} mock_counts;
extern mock_counts mock_count;
typedef struct mock_dispatch { /* the newest one */
    const char *kernel;
    uint32_t constants[32];
    const void *place[31]; /* of each argument, NULL: none */
    unsigned long groups[3], threads;
    size_t threadgroup[8];
} mock_dispatch;
extern mock_dispatch mock_last;
/* The calls since the last mock_forget, a word each: "dispatch:gemv commit wait". */
const char *mock_log(void);
void mock_forget(void);
extern void (*mock_at_wait)(void); /* called by whoever waits for a command buffer; NULL: nothing */
extern int mock_order; /* of lanes: MSL_FORWARD.. */
const char *mock_last_launch_error(void);

#endif
