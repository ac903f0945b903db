import Dispatch
import Primitives

/// What each listener gets, and when it ends. All of it on `queue`.
extension EventHub {
    /// How many events are looked at for one piece.
    private static let pieceLimit = 64
    /// How long somebody may take for the rest of a stream that has ended.
    private static let grace = DispatchTimeInterval.seconds(1)

    /// Somebody listens from now on.
    func begin(_ newcomer: Listener, after lastID: String?) {
        guard !isStopped else {
            leave(newcomer.address)
            return newcomer.sink.finish()
        }
        lastNumber += 1
        let number = lastNumber
        var listener = newcomer
        listener.place = window.end
        var missed: Event?
        if let lastID {
            switch window.place(after: lastID) {
            case .success(let place): listener.place = place
            case .failure(let failure): missed = Event(reset: failure.reason, at: clock.now())
            }
        }
        listeners[number] = listener
        emptySince = nil
        // First of all, so that who leaves before anything happens can say where it was.
        listener.sink.mark(window.id(at: listener.place))
        if let missed { _ = listener.sink.write([PublishedEvent(missed, id: window.endID)]) }
        feed(number)
        listener.sink.onClose { [self] in queue.async { [self] in end(number) } }
        if !isBeating {
            isBeating = true
            beatLater()
        }
    }

    /// Tells a listener what it wants to know and has not been told, as far as it has room; cuts it off when some of
    /// that is not there any more.
    func feed(_ number: UInt64) {
        guard var listener = listeners[number] else { return }
        guard window.events(after: listener.place, limit: 0) != nil else { return drop(number) }
        if listener.isFull { return }
        while !listener.isFull, let next = window.events(after: listener.place, limit: Self.pieceLimit),
            next.place > listener.place
        {
            listener.place = next.place
            let events = next.events.filter { listener.filter.matches($0.event) }
            if events.isEmpty { continue }
            sent.increment(by: events.count)
            if case .room = listener.sink.write(events) { continue }
            listener.isFull = true
        }
        listeners[number] = listener
        guard listener.isFull else { return }
        listener.sink.onRoom { [self] in
            queue.async { [self] in
                listeners[number]?.isFull = false
                feed(number)
            }
        }
    }

    /// It did not keep up: it may come back, and will be told that it has missed something.
    private func drop(_ number: UInt64) {
        dropped.increment()
        listeners[number]?.sink.abort()
        end(number)
    }

    /// A listener is gone.
    private func end(_ number: UInt64) {
        guard let listener = listeners.removeValue(forKey: number) else { return }
        leave(listener.address)
    }

    // MARK: - Time

    private func beatLater() {
        let pause = DispatchTimeInterval.milliseconds(Int(limits.heartbeat.milliseconds))
        queue.asyncAfter(deadline: .now() + pause) { [self] in beat() }
    }

    /// Tells everyone that the server is there, and ends those who may not listen any more.
    private func beat() {
        guard !listeners.isEmpty, !isStopped else {
            isBeating = false
            return
        }
        for (number, listener) in listeners {
            if !listener.mayStay() {
                listener.sink.finish()
                end(number)
            } else if !listener.isFull {
                listener.sink.mark(window.id(at: listener.place))
            }
        }
        beatLater()
    }

    /// The server stops: what has happened is told, and that was all.
    func endAll() {
        while !tellPiece() {}
        isStopped = true
        for listener in listeners.values { listener.sink.finish() }
        queue.asyncAfter(deadline: .now() + Self.grace) { [self] in
            for listener in listeners.values { listener.sink.abort() }
        }
    }
}
