import Foundation

/// The function that libFuzzer calls with each input that it generates. The environment variable `LARDER_FUZZ` names
/// the target. A broken property ends the process, and libFuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do throws(Violation) {
        try chosen.check(bytes)
    } catch {
        preconditionFailure(
            "\(chosen.name): \(error) [input: \(String(decoding: bytes, as: UTF8.self).debugDescription)]")
    }
    return 0
}

private let chosen: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["LARDER_FUZZ"] ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        fatalError("LARDER_FUZZ must be one of \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
    }
    return target
}()
