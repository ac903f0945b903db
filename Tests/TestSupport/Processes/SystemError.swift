import Foundation

/// A system call that failed.
package struct SystemError: Error, CustomStringConvertible {
    /// The call.
    package let call: String
    /// Its `errno`.
    package let code: Int32

    /// Takes the current `errno` by default.
    package init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// For example `connect: Connection refused (111)`.
    package var description: String { "\(call): \(String(cString: strerror(code))) (\(code))" }
}
