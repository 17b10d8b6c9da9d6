/* Errors: one sentence in the caller's struct, never more bytes than it has. */
#include "status.h"

#include "check.h"

static void a_failure_carries_status_numbers_and_sentence(void) {
    uocr_error error = {.size = sizeof error};
    CHECK_EQUAL(uocr_fail(&error, UOCR_OVER_BUDGET, 7, 5, "%d pages need %s.", 3, "more"), UOCR_OVER_BUDGET);
    CHECK_EQUAL(error.status, UOCR_OVER_BUDGET);
    CHECK_EQUAL(error.number, 7);
    CHECK_EQUAL(error.limit, 5);
    CHECK_EQUAL(error.size, sizeof error);
    CHECK(strcmp(error.message, "3 pages need more.") == 0);
}

static void a_caller_without_a_struct_gets_the_status(void) {
    CHECK_EQUAL(uocr_fail(NULL, UOCR_BUSY, 0, 0, "x"), UOCR_BUSY);
    uocr_error unset;
    memset(&unset, 0, sizeof unset);
    unset.message[0] = '!';
    CHECK_EQUAL(uocr_fail(&unset, UOCR_BUSY, 1, 1, "x"), UOCR_BUSY);
    CHECK_EQUAL(unset.status, UOCR_OK);
    CHECK(unset.message[0] == '!');
}

static void a_shorter_struct_is_not_written_past_its_end(void) {
    uocr_error error;
    memset(&error, '!', sizeof error);
    error.size = offsetof(uocr_error, message) + 8;
    uocr_fail(&error, UOCR_STATE, 0, 0, "%s", "0123456789");
    CHECK(memcmp(error.message, "0123456\0!", 9) == 0);
}

static void a_long_sentence_is_cut_between_characters(void) {
    char text[2000];
    for (size_t lead = 0; lead < 3; lead++) { /* "é" is two bytes: some cut falls inside one */
        size_t used = 0;
        for (; used < lead; used++) text[used] = 'x';
        for (; used + 2 < sizeof text; used += 2) memcpy(text + used, "\xC3\xA9", 2);
        text[used] = '\0';
        uocr_error error = {.size = sizeof error};
        uocr_fail(&error, UOCR_STATE, 0, 0, "%s", text);
        size_t length = strlen(error.message);
        CHECK(length >= sizeof error.message - 2 && length < sizeof error.message);
        CHECK_EQUAL((length - lead) % 2, 0);
        CHECK(memcmp(error.message, text, length) == 0);
    }
}

int main(void) {
    a_failure_carries_status_numbers_and_sentence();
    a_caller_without_a_struct_gets_the_status();
    a_shorter_struct_is_not_written_past_its_end();
    a_long_sentence_is_cut_between_characters();
    return check_result();
}
