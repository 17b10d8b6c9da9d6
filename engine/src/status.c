/* See status.h. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>

/* Shortens text that was cut at `length` bytes so that it does not end inside a UTF-8 character. */
static void trim_split_character(char *text, size_t length) {
    size_t start = length; /* of the last character */
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) start--;
    if (start == 0) return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (length - (start - 1) < need) text[start - 1] = '\0';
}

uocr_status uocr_fail(uocr_error *error, uocr_status status, uint64_t number, uint64_t limit,
                      const char *format, ...) {
    /* A caller built against a shorter struct gets what fits; one that did not set `size` gets nothing. */
    if (error == NULL || error->size <= offsetof(uocr_error, message)) return status;
    size_t room = error->size - offsetof(uocr_error, message);
    if (room > sizeof error->message) room = sizeof error->message;

    error->status = status;
    error->number = number;
    error->limit = limit;
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(error->message, room, format, arguments);
    va_end(arguments);
    if (wanted < 0) error->message[0] = '\0';
    else if ((size_t)wanted >= room) trim_split_character(error->message, room - 1);
    return status;
}
