/* SHA-256 against the examples of FIPS 180-4 and its test vectors. */
#include "sha256.h"

#include <stdlib.h>

#include "check.h"

static void check_digest(const void *bytes, size_t count, const char *expected) {
    uint8_t digest[UOCR_SHA256_BYTES];
    char text[2 * UOCR_SHA256_BYTES + 1];
    uocr_sha256_of(bytes, count, digest);
    for (int i = 0; i < UOCR_SHA256_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    if (!CHECK(strcmp(text, expected) == 0)) fprintf(stderr, "    found %s, expected %s\n", text, expected);
}

static void published_messages_have_their_published_digests(void) {
    static const struct {
        const char *message, *digest;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
         "mnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check_digest(vectors[i].message, strlen(vectors[i].message), vectors[i].digest);

    enum { MILLION = 1000000 };
    char *a = malloc(MILLION);
    memset(a, 'a', MILLION);
    check_digest(a, MILLION, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(a);
}

/* Lengths around the block and padding borders, cut in two at every place. */
static void pieces_give_the_digest_of_the_whole(void) {
    uint8_t message[200], whole[UOCR_SHA256_BYTES], pieces[UOCR_SHA256_BYTES];
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof message; i++) message[i] = (uint8_t)check_random(&random);
    for (size_t length = 0; length <= sizeof message; length++) {
        uocr_sha256_of(message, length, whole);
        int equal = 1;
        for (size_t cut = 0; cut <= length; cut++) {
            uocr_sha256 hash;
            uocr_sha256_begin(&hash);
            uocr_sha256_add(&hash, message, cut);
            uocr_sha256_add(&hash, message + cut, length - cut);
            uocr_sha256_end(&hash, pieces);
            equal &= memcmp(whole, pieces, sizeof whole) == 0;
        }
        CHECK(equal);
    }
}

int main(void) {
    published_messages_have_their_published_digests();
    pieces_give_the_digest_of_the_whole();
    return check_result();
}
