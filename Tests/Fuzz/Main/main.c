// libFuzzer provides the main function and calls Entry.swift. SwiftPM requires a source file in an executable target.
// The file is not in Swift, because SwiftPM would then expect a main function in Swift.
typedef int larder_fuzz_has_no_main;
