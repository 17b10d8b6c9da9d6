/* The profile: sums by phase and operator in a fixed table. */
#include "profile.h"

#include "check.h"

static void calls_of_one_operator_in_one_phase_are_summed(void) {
    uocr_profile profile = {.enabled = true, .phase = "decode"};
    uocr_profile_add(&profile, "experts", 0.5, 100, 10);
    profile.phase = "prefill";
    uocr_profile_add(&profile, "experts", 2, 1, 1);
    profile.phase = "decode";
    uocr_profile_add(&profile, "experts", 0.25, 50, 5);
    CHECK_EQUAL(profile.count, 2);
    CHECK(strcmp(profile.row[0].name, "decode/experts") == 0);
    CHECK(strcmp(profile.row[1].name, "prefill/experts") == 0);
    CHECK_EQUAL(profile.row[0].calls, 2);
    CHECK_EQUAL(profile.row[0].bytes, 150);
    CHECK(profile.row[0].seconds == 0.75 && profile.row[0].flops == 15);
}

static void a_profile_that_is_off_stays_empty(void) {
    uocr_profile profile = {.enabled = false, .phase = "decode"};
    uocr_profile_add(&profile, "experts", 1, 1, 1);
    uocr_profile_add(NULL, "experts", 1, 1, 1);
    CHECK_EQUAL(profile.count, 0);
}

static void a_full_table_collects_the_rest_in_its_last_row(void) {
    uocr_profile profile = {.enabled = true};
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "op%d", i);
        uocr_profile_add(&profile, name, 1, 1, 1);
    }
    CHECK_EQUAL(profile.count, UOCR_PROFILE_ROWS);
    CHECK(strcmp(profile.row[UOCR_PROFILE_ROWS - 2].name, "op62") == 0);
    CHECK(strcmp(profile.row[UOCR_PROFILE_ROWS - 1].name, "other") == 0);
    CHECK_EQUAL(profile.row[UOCR_PROFILE_ROWS - 1].calls, 100 - (UOCR_PROFILE_ROWS - 1));
}

static void a_long_name_is_cut_and_still_found_again(void) {
    uocr_profile profile = {.enabled = true, .phase = "decode"};
    for (int i = 0; i < 3; i++) uocr_profile_add(&profile, "an_operator_with_a_name_past_the_row", 1, 1, 1);
    CHECK_EQUAL(profile.count, 1);
    CHECK_EQUAL(profile.row[0].calls, 3);
    CHECK_EQUAL(strlen(profile.row[0].name), sizeof profile.row[0].name - 1);
}

static void the_clock_never_goes_back(void) {
    double last = uocr_now();
    for (int i = 0; i < 1000; i++) {
        double now = uocr_now();
        CHECK(now >= last);
        last = now;
    }
}

int main(void) {
    calls_of_one_operator_in_one_phase_are_summed();
    a_profile_that_is_off_stays_empty();
    a_full_table_collects_the_rest_in_its_last_row();
    a_long_name_is_cut_and_still_found_again();
    the_clock_never_goes_back();
    return check_result();
}
