extension URLReference {
    /// Returns a link as ``resolve(_:_:)`` does; `nil` without a reference, and for a reference or a link over
    /// ``SourceLimits/fieldBytes``. Throws ``SourceFault`` when all links together are over the limit.
    static func resolve(
        _ reference: String?, _ base: String?, _ limits: SourceLimits, _ budget: inout LinkBudget
    ) throws(SourceFault) -> String? {
        guard let reference, reference.utf8.count <= limits.fieldBytes else { return nil }
        try budget.spend(LinkBudget.overhead + reference.utf8.count + (base?.utf8.count ?? 0))
        let link = resolve(reference, base)
        return link.utf8.count <= limits.fieldBytes ? link : nil
    }
}
