import CSystem

/// What debuggers and `top -H` call a thread. Foundation's `Thread.name` does not reach them.
public enum ThreadName {
    /// Names the thread that calls; of a longer name only the first 15 bytes are shown.
    public static func set(_ name: String) {
        csystem_name_this_thread(name)
    }
}
