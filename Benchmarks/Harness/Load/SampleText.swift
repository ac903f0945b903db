/// Writes the documents of ``SampleDocument`` from words that a generator draws.
struct SampleText {
    private var random = SplitMix(state: 1)
    private static let words = """
        the of and a to in is was that for it with as his on be at by had not are but from or have an they which one \
        you were all her she there would their we him been has when who will no more if out so up said its about than \
        into them can only other time new some could these two may first then do any like my now over such our man me \
        even most made after also did many off before must well back through years where much your way down should \
        because long each just state people those too little great night world house water morning history language \
        government experience different something together university development
        """.split(separator: " ")

    mutating func article(sections: Int) -> String {
        var text = head(title: "An article about \(words(3))", scripts: 4)
        for number in 0..<sections {
            text += "<h2 id=\"section-\(number)\"><span class=\"headline\">\(words(4))</span></h2>\n"
            for _ in 0..<Int.random(in: 2...6, using: &random) { text += paragraph() }
            if number % 3 == 0 { text += figure() }
        }
        return text + foot
    }

    mutating func frontPage(cards: Int) -> String {
        var text = head(title: "News of \(words(2))", scripts: 8)
        for number in 0..<cards {
            text += """
                <article class="card card--\(number % 4 == 0 ? "large" : "small")" data-id="\(number)">
                  \(figure())  <div class="card__body">
                    <span class="card__label" style="color: #1a5d9e">\(words(1))</span>
                    <h3 class="card__title"><a href="\(path()).html?ref=front&amp;place=\(number)">\(words(8))</a></h3>
                    <p class="card__text">\(words(28)).</p>
                    <button type="button" class="button" aria-label="Keep"><svg class="icon" width="16" height="16" \
                viewBox="0 0 16 16"><path d="M2 2h12v12l-6-4-6 4V2zm1.5 1.5v7.7L8 8.1l4.5 3.1V3.5h-9z"/></svg></button>
                  </div>
                </article>

                """
        }
        return text + foot
    }

    mutating func sheet(rules: Int) -> String {
        var text = "@charset \"utf-8\";\n/* The styles of the whole site */\n"
        for number in 0..<rules {
            let name = words(1)
            text += """
                .\(name)-\(number) > a:hover, .\(name)__\(words(1)):not(:last-child) {
                  color: #33\(number % 90 + 10)99; margin: 0 auto \(number % 30)px; font: 400 1rem/1.5 "Open Sans", sans-serif;
                  transition: color .2s ease-in-out, transform 120ms cubic-bezier(.4, 0, .2, 1)\n}

                """
            if number % 20 == 0 { text += ".\(name)-icon { background: url(\"..\(path()).svg\") no-repeat }\n" }
            if number % 50 == 0 {
                text += "/* \(words(12)) */\n@media (min-width: \(number)px) { .grid { gap: 1em } }\n"
            }
        }
        return text
    }

    private mutating func head(title: String, scripts: Int) -> String {
        var text = """
            <!DOCTYPE html>
            <html lang="en" class="no-js">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta property="og:image" content="https://static.example\(path()).jpg">
            <title>\(title)</title>
            <link rel="preconnect" href="https://fonts.example">
            <link rel="icon" href="/favicon.ico" sizes="any">
            <style>\(sheet(rules: 60))</style>

            """
        for _ in 0..<scripts {
            text += "<link rel=\"stylesheet\" href=\"\(path()).css\">\n<script src=\"\(path()).js\" defer></script>\n"
            text += "<script>window.settings = window.settings || [];\n"
            for _ in 0..<40 {
                text +=
                    "if (settings.length < 9 && a !== \"\(words(1))\") settings.push({ \"name\": \"\(words(2))\", \"url\": \"\(path())\" });\n"
            }
            text += "</script>\n"
        }
        text += "</head>\n<body>\n<nav class=\"menu\" role=\"navigation\"><ul>\n"
        for _ in 0..<60 {
            text += "<li class=\"menu__item\"><a class=\"menu__link\" href=\"\(path())/\">\(words(2))</a></li>\n"
        }
        return text + "</ul></nav>\n<main id=\"content\">\n"
    }

    private let foot =
        "</main>\n<footer><p>&copy; 2026 Example &mdash; all rights reserved</p></footer>\n</body>\n</html>\n"

    private mutating func paragraph() -> String {
        var text = "<p>"
        for _ in 0..<Int.random(in: 2...5, using: &random) {
            text += words(Int.random(in: 10...30, using: &random))
            text +=
                Bool.random(using: &random)
                ? " <a href=\"\(path())\" title=\"\(words(2))\">\(words(2))</a> " : ", <em>\(words(1))</em> "
            text += words(Int.random(in: 5...20, using: &random)) + ". "
        }
        return text + "</p>\n"
    }

    private mutating func figure() -> String {
        let image = "https://images.example\(path())"
        return """
            <figure class="figure"><img loading="lazy" decoding="async" width="640" height="427" src="\(image)-640.jpg" \
            srcset="\(image)-640.jpg 640w, \(image)-1280.jpg 1280w" sizes="(max-width: 640px) 100vw, 640px" \
            alt="\(words(6))"><figcaption>\(words(9))</figcaption></figure>

            """
    }

    private mutating func words(_ count: Int) -> String {
        var text = ""
        for index in 0..<count {
            if index > 0 { text += " " }
            text += Self.words[Int.random(in: 0..<Self.words.count, using: &random)]
        }
        return text
    }

    private mutating func path() -> String {
        "/\(words(1))/2026/\(words(1))-\(words(1))-\(Int.random(in: 1000...99_999, using: &random))"
    }
}
