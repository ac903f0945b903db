// The main function comes with libFuzzer, which calls Entry.swift. SwiftPM wants a source in an executable, and none in
// Swift, for then it would look for a main function of Swift's.
typedef int larder_fuzz_has_no_main;
