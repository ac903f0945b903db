import Primitives

extension APIClient {
    /// Asks again and again, until `isEnd` is true for an answer, and returns this answer. `interval` is the pause
    /// between two questions; it is longer if the rate limit of the token is used up. Other errors end the wait.
    func poll<Answer>(
        every interval: Duration, _ ask: () async throws -> Answer, until isEnd: (Answer) -> Bool
    ) async throws -> Answer {
        while true {
            var pause = interval
            do {
                let answer = try await ask()
                if isEnd(answer) { return answer }
            } catch ClientError.refused(let problem) where problem.status == 429 {
                // The rate limit does not end the work that the caller waits for.
                pause = problem.retryAfter ?? .seconds(1)
            }
            try await Task.sleep(for: pause)
        }
    }
}
