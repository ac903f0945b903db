import Dispatch
import Primitives

/// Delivers events to each listener, and ends listeners. All methods run on `queue`.
extension EventHub {
    /// The most places of the ``ReplayWindow`` that one write to a listener covers.
    private static let pieceLimit = 64
    /// The time that a client has to read the rest of a stream after the hub has stopped.
    private static let grace = DispatchTimeInterval.seconds(1)

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
            case .failure(let reason): missed = Event(reset: reason, at: clock.now())
            }
        }
        listeners[number] = listener
        emptySince = nil
        // The first heartbeat comes before any event. Its id lets a client that disconnects early continue from here.
        listener.sink.mark(window.id(at: listener.place))
        if let missed { _ = listener.sink.write([PublishedEvent(missed, id: window.endID)]) }
        feed(number)
        listener.sink.onClose { [self] in queue.async { [self] in end(number) } }
        if !isBeating {
            isBeating = true
            beatLater()
        }
    }

    /// Delivers the events that a listener has not got yet, while its sink has room. If the first of these events has
    /// left the window, cuts off the listener. If the client connects again, it gets a ``Event/Kind/reset``.
    func feed(_ number: UInt64) {
        guard var listener = listeners[number] else { return }
        guard window.events(after: listener.place, limit: 0) != nil else {
            dropped.increment()
            listener.sink.abort()
            return end(number)
        }
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

    private func end(_ number: UInt64) {
        guard let listener = listeners.removeValue(forKey: number) else { return }
        leave(listener.address)
    }

    private func beatLater() {
        let pause = DispatchTimeInterval.milliseconds(Int(limits.heartbeat.milliseconds))
        queue.asyncAfter(deadline: .now() + pause) { [self] in beat() }
    }

    /// Sends a heartbeat to every listener with room, and ends each listener for which `mayStay` returns `false`.
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

    func endAll() {
        while !tellPiece() {}
        isStopped = true
        for listener in listeners.values { listener.sink.finish() }
        queue.asyncAfter(deadline: .now() + Self.grace) { [self] in
            for listener in listeners.values { listener.sink.abort() }
        }
    }
}
