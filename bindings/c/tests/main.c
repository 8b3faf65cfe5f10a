/* Right use and misuse of every function. `condyle_test TESTDATA`. */
#include "check.h"

unsigned checks;
const char *testdata;

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s TESTDATA\n", argv[0]);
        return 2;
    }
    testdata = argv[1];
    CHECK(condyle_abi_version() == CONDYLE_ABI_VERSION);
    CHECK(strchr(condyle_version(), '.') != NULL);
    test_open();
    test_clips();
    test_poses();
    test_skin();
    test_player();
    test_encode();
    test_solve();
    test_query();
    test_threads();
    printf("%u checks\n", checks);
    return 0;
}
