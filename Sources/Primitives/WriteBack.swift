import CSystem

/// Has the kernel write what of a file is in its memory alone.
public enum WriteBack {
    /// Begins with it, and does not wait: it promises nothing, but whoever has it promised later waits the less.
    public static func begin(_ descriptor: Int32) {
        csystem_begin_writing(descriptor)
    }
}
