/* The run time of Objective-C and a little Foundation; see mock.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock.h"

enum { MOST_ALIVE = 1 << 16, MOST_POOLED = 1 << 14 };

static mock_object *alive[MOST_ALIVE];
static long alive_count;
static unsigned complaints;
static mock_object *pooled[MOST_POOLED]; /* a pool begins with NULL */
static size_t pooled_count;
long mock_activities;

void mock_complain(const char *format, ...) {
    va_list values;
    complaints++;
    fprintf(stderr, "Apple's frameworks would object: ");
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
}

unsigned mock_complaints(void) { return complaints; }
long mock_alive(void) { return alive_count; }

void mock_print_alive(void) {
    for (long i = 0; i < alive_count; i++)
        fprintf(stderr, "alive: %s, %ld references\n", alive[i]->isa->name, alive[i]->references);
}

/* ---- references ---- */

mock_object *mock_new(mock_class *class) {
    mock_object *object = calloc(1, class->bytes);
    if (!object || alive_count == MOST_ALIVE) abort();
    *object = (mock_object){class, 1};
    alive[alive_count++] = object;
    return object;
}

void *mock_retain(void *any) {
    mock_object *object = any;
    if (object && object->references > 0) object->references++;
    return any;
}

/* Class objects and literals have no references, and stay. */
void mock_let_go(void *any) {
    mock_object *object = any;
    if (!object || object->references == 0 || --object->references > 0) return;
    if (object->isa->dealloc) object->isa->dealloc(object);
    for (long i = alive_count - 1; i >= 0; i--)
        if (alive[i] == object) {
            alive[i] = alive[--alive_count];
            free(object);
            return;
        }
    abort(); /* let go of too often */
}

void *mock_autoreleased(void *object) {
    if (!object) return NULL;
    if (pooled_count == 0) {
        mock_complain("an object is autoreleased with no pool in place: it leaks");
        return object;
    }
    if (pooled_count == MOST_POOLED) abort();
    return pooled[pooled_count++] = object;
}

void mock_set(void *place, void *object) {
    mock_object **strong = place, *old = *strong;
    *strong = mock_retain(object);
    mock_let_go(old);
}

void __objc_exec_class(void *module) { (void)module; }
void *objc_retain(void *object) { return mock_retain(object); }
void objc_release(void *object) { mock_let_go(object); }
void objc_storeStrong(void *place, void *object) { mock_set(place, object); }
void *objc_autorelease(void *object) { return mock_autoreleased(object); }
void *objc_autoreleaseReturnValue(void *object) { return mock_autoreleased(object); }
void *objc_retainAutorelease(void *object) { return mock_autoreleased(mock_retain(object)); }
void *objc_retainAutoreleaseReturnValue(void *object) { return objc_retainAutorelease(object); }
void *objc_retainAutoreleasedReturnValue(void *object) { return mock_retain(object); }

void *objc_autoreleasePoolPush(void) {
    if (pooled_count == MOST_POOLED) abort();
    pooled[pooled_count++] = NULL;
    return &pooled[pooled_count - 1];
}

void objc_autoreleasePoolPop(void *pool) {
    while (&pooled[pooled_count - 1] > (mock_object **)pool) mock_let_go(pooled[--pooled_count]);
    pooled_count--;
}

/* ---- messages ---- */

typedef struct nothing { double in_xmm; long in_rax; } nothing; /* both kinds of zero */
static nothing answer_of_nil(void) { return (nothing){0, 0}; }

static mock_object *method_alloc(mock_class *self) { return mock_new(self); }
static const mock_method of_every_class[] = {MOCK_METHOD("alloc", method_alloc), MOCK_METHOD("new", method_alloc), {0}};

static mock_imp found_in(const mock_method *methods, const char *selector) {
    for (; methods && methods->selector; methods++)
        if (strcmp(methods->selector, selector) == 0) return methods->imp;
    return NULL;
}

typedef struct selector { const char *name, *types; } selector;

mock_imp objc_msg_lookup(mock_object *receiver, const selector *wanted) {
    if (!receiver) return (mock_imp)answer_of_nil;
    mock_imp imp = found_in(receiver->isa->methods, wanted->name);
    if (!imp) imp = found_in(of_every_class, wanted->name);
    if (imp) return imp;
    fprintf(stderr, "%s does not answer %s\n", receiver->isa->name, wanted->name);
    abort();
}

/* ---- strings, paths, errors, arrays ---- */

static const char *string_text(mock_string *self) { return self->text; }
static void string_dealloc(mock_object *self) { free(((mock_string *)(void *)self)->text); }
static mock_string *string_from(mock_class *self, MOCK_SELECTOR, const char *text) {
    (void)self;
    return mock_autoreleased(mock_string_new(text));
}
static const mock_method string_methods[] = {MOCK_METHOD("UTF8String", string_text), {0}};
static const mock_method string_class[] = {MOCK_METHOD("stringWithUTF8String:", string_from), {0}};
MOCK_CLASS(NSString, mock_string, string_methods, string_class, string_dealloc);

mock_string *mock_string_new(const char *text) {
    mock_string *string = (mock_string *)(void *)mock_new(&_OBJC_CLASS_NSString);
    string->text = strdup(text);
    return string;
}

typedef struct url { mock_object object; mock_string *path; } url;
extern mock_class _OBJC_CLASS_NSURL;
static url *url_from(mock_class *self, MOCK_SELECTOR, mock_string *path) {
    url *made = (url *)(void *)mock_new(self);
    mock_set(&made->path, path);
    return mock_autoreleased(made);
}
static void url_dealloc(mock_object *self) { mock_let_go(((url *)(void *)self)->path); }
static const mock_method url_methods[] = {{0}};
static const mock_method url_class[] = {MOCK_METHOD("fileURLWithPath:", url_from), {0}};
MOCK_CLASS(NSURL, url, url_methods, url_class, url_dealloc);
const char *mock_path(void *any) { return any ? ((url *)any)->path->text : NULL; }

typedef struct error { mock_object object; long code; mock_string *text; } error;
static long error_code(error *self) { return self->code; }
static mock_string *error_text(error *self) { return self->text; }
static void error_dealloc(mock_object *self) { mock_let_go(((error *)(void *)self)->text); }
static const mock_method error_methods[] = {
    MOCK_METHOD("code", error_code), MOCK_METHOD("localizedDescription", error_text), {0}};
static mock_class error_class = {NULL, "NSError", sizeof(error), error_methods, error_dealloc};

void mock_error(void *place, long code, const char *text) {
    if (!place) return;
    error *made = (error *)(void *)mock_new(&error_class);
    made->code = code;
    made->text = mock_string_new(text);
    *(void **)place = mock_autoreleased(made);
}

static unsigned long array_count(mock_array *self) { return self->count; }
static mock_object *array_at(mock_array *self, MOCK_SELECTOR, unsigned long i) {
    if (i >= self->count) mock_complain("item %lu of %zu", i, self->count);
    return i < self->count ? self->item[i] : NULL;
}
static bool array_holds(mock_array *self, MOCK_SELECTOR, mock_string *wanted) {
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(((mock_string *)(void *)self->item[i])->text, wanted->text) == 0) return true;
    return false;
}
static void array_dealloc(mock_object *any) {
    mock_array *self = (mock_array *)(void *)any;
    for (size_t i = 0; i < self->count; i++) mock_let_go(self->item[i]);
}
extern mock_class _OBJC_CLASS_NSArray;
static mock_array *array_of(mock_class *class, MOCK_SELECTOR, mock_object *object) {
    mock_array *made = mock_array_new();
    (void)class;
    mock_array_add(made, object);
    return mock_autoreleased(made);
}
static const mock_method array_methods[] = {MOCK_METHOD("count", array_count), MOCK_METHOD("objectAtIndex:", array_at),
                                            MOCK_METHOD("containsObject:", array_holds), {0}};
static const mock_method array_class[] = {MOCK_METHOD("arrayWithObject:", array_of), {0}};
MOCK_CLASS(NSArray, mock_array, array_methods, array_class, array_dealloc);
mock_array *mock_array_new(void) { return (mock_array *)(void *)mock_new(&_OBJC_CLASS_NSArray); }
void mock_array_add(mock_array *array, void *object) { array->item[array->count++] = mock_retain(object); }

/* ---- the process ---- */

enum { MOST_LATER = 64 };
static struct { void (*work)(void *); void *context; } later[MOST_LATER];
static size_t later_count;

uint64_t dispatch_time(uint64_t when, int64_t nanoseconds) { return when + (uint64_t)nanoseconds; }
void *dispatch_get_global_queue(intptr_t identifier, uintptr_t flags) {
    return identifier == 0 && flags == 0 ? &later_count : NULL;
}
void dispatch_after_f(uint64_t when, void *queue, void *context, void (*work)(void *)) {
    if (when != 10000000000u || !queue) mock_complain("later is in %llu nanoseconds", (unsigned long long)when);
    if (later_count == MOST_LATER) abort();
    later[later_count].work = work, later[later_count++].context = context;
}
void mock_do_what_is_due(void) {
    size_t due = later_count;
    for (size_t i = 0; i < due; i++) later[i].work(later[i].context);
    memmove(later, later + due, (later_count -= due) * sizeof *later);
}

static mock_class activity_class = {NULL, "activity", sizeof(mock_object), NULL, NULL};
static mock_object *begin_activity(mock_object *self, MOCK_SELECTOR, uint64_t options, mock_string *reason) {
    (void)self;
    if (options != (0x00FFFFFF | 1 << 20) || !reason->text[0]) mock_complain("an activity without sense");
    mock_activities++;
    return mock_autoreleased(mock_new(&activity_class));
}
static void end_activity(mock_object *self, MOCK_SELECTOR, mock_object *activity) {
    (void)self;
    if (!activity || mock_activities == 0) mock_complain("an activity is ended that never began");
    mock_activities--;
}
static mock_string *system_version(mock_object *self) {
    (void)self;
    return mock_autoreleased(mock_string_new("Version 13.0 (Build 22A380)"));
}
static const mock_method process_methods[] = {MOCK_METHOD("beginActivityWithOptions:reason:", begin_activity),
                                              MOCK_METHOD("endActivity:", end_activity),
                                              MOCK_METHOD("operatingSystemVersionString", system_version), {0}};
extern mock_class _OBJC_CLASS_NSProcessInfo;
static mock_object process = {&_OBJC_CLASS_NSProcessInfo, 0};
static mock_object *process_info(mock_class *self) {
    (void)self;
    return &process;
}
static const mock_method process_class[] = {MOCK_METHOD("processInfo", process_info), {0}};
MOCK_CLASS(NSProcessInfo, mock_object, process_methods, process_class, NULL);
