import CSystem

/// Starts the write of a file's dirty pages, which exist only in the kernel's memory, to disk.
package enum WriteBack {
    /// Starts the write and does not wait for its end. The call has no guarantee, but it shortens a later sync of the
    /// file.
    package static func begin(_ descriptor: Int32) {
        csystem_begin_writing(descriptor)
    }
}
