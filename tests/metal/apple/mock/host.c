/* So that programs made for the host device run over the Metal device: what they ask of the one, and at their end a
 * failure where Apple's frameworks would have objected or something was left behind. */
#include <stdio.h>
#include <unistd.h>

#include "gpu/device_host.h"
#include "mock.h"

void gpu_host_order(gpu_device *device, uint32_t order) {
    (void)device;
    mock_order = (int)order;
}

__attribute__((destructor)) static void look_back(void) {
    mock_do_what_is_due();
    if (mock_complaints() == 0 && mock_alive() == 0 && mock_activities == 0) return;
    mock_print_alive();
    fprintf(stderr, "%u complaints, %ld objects and %ld activities are left\n", mock_complaints(), mock_alive(),
            mock_activities);
    fflush(NULL);
    _exit(3);
}
