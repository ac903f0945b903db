import Primitives
import Subscriptions

/// The events of subscriptions.
extension SubscriptionService {
    func publish(_ kind: Event.Kind, _ report: @autoclosure () -> SubscriptionReport) {
        guard tools.events.isWanted else { return }
        let report = report()
        publish(kind, in: report.namespace, .subscription(report))
    }

    func publishEnd(of holder: HolderName) {
        publish(.subscriptionRemoved, in: holder.namespace, .endedSubscription(name: holder.name))
    }

    private func publish(_ kind: Event.Kind, in namespace: String, _ subject: Event.Subject) {
        guard tools.events.isWanted else { return }
        tools.events.publish([Event(kind: kind, time: tools.clock.now(), namespace: namespace, subject: subject)])
    }
}
