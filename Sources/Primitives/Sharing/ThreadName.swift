import CSystem

/// The name of a thread in debuggers and `top -H`. Foundation's `Thread.name` does not reach them.
package enum ThreadName {
    /// Names the calling thread. The system shows only the first 15 bytes of a name.
    package static func set(_ name: String) {
        csystem_name_this_thread(name)
    }
}
