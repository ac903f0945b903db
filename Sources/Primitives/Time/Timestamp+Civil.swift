extension Timestamp {
    /// The instant that is `secondOfDay` after the midnight that begins a day in UTC. The seconds may be negative or
    /// more than a day has, as a time zone requires. `nil` for a day that does not exist, and a year before 1 or after
    /// 9999.
    package init?(year: Int, month: Int, day: Int, secondOfDay: Int) {
        let civil = CivilDay(year: Int64(year), month: month, day: day)
        guard (1...9999).contains(year), (0...1000).contains(day), civil.exists else { return nil }
        self.init(seconds: civil.daysSinceEpoch * 86_400 + Int64(secondOfDay))
    }

    /// The instant on the day with a number in its year, from 1 to 365 or 366. `nil` for another number.
    package init?(year: Int, dayOfYear: Int, secondOfDay: Int) {
        let first = CivilDay(year: Int64(year), month: 1, day: 1).daysSinceEpoch
        guard (1...9999).contains(year), (1...366).contains(dayOfYear),
            CivilDay(daysSinceEpoch: first + Int64(dayOfYear) - 1).year == Int64(year)
        else { return nil }
        self.init(seconds: (first + Int64(dayOfYear) - 1) * 86_400 + Int64(secondOfDay))
    }
}
