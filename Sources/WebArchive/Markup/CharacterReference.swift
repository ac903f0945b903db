import Primitives

/// Decodes the character references in attribute values and in text (WHATWG HTML §13.2.5.72). The table has all names
/// that need no semicolon, those of HTML 4, and those of texts that begin with a character up to U+00FF. Any other name
/// stays as it is, because a URL contains no such character in practice.
enum CharacterReference {
    /// The longest name in the tables.
    static let longestName = 24

    /// The characters from U+00A0 to U+00FF; browsers accept their names without a semicolon.
    private static let latin = """
        nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute \
        micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring \
        AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml \
        times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil \
        egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash \
        ugrave uacute ucirc uuml yacute thorn yuml
        """
    /// More names that need no semicolon, each with its code point in hexadecimal.
    private static let plain = """
        AMP 26 COPY a9 GT 3e LT 3c QUOT 22 REG ae amp 26 gt 3e lt 3c quot 22
        """
    /// Names that need a semicolon, each with its code point in hexadecimal.
    private static let strict = """
        Tab 9 NewLine a excl 21 num 23 dollar 24 percnt 25 apos 27 lpar 28 rpar 29 ast 2a midast 2a plus 2b comma 2c \
        period 2e sol 2f colon 3a semi 3b equals 3d quest 3f commat 40 lbrack 5b lsqb 5b bsol 5c rbrack 5d rsqb 5d Hat \
        5e UnderBar 5f lowbar 5f DiacriticalGrave 60 grave 60 lbrace 7b lcub 7b VerticalLine 7c verbar 7c vert 7c \
        rbrace 7d rcub 7d NonBreakingSpace a0 Dot a8 DoubleDot a8 die a8 circledR ae strns af PlusMinus b1 pm b1 \
        DiacriticalAcute b4 CenterDot b7 centerdot b7 Cedilla b8 half bd angst c5 div f7 OElig 152 oelig 153 Scaron \
        160 scaron 161 Yuml 178 fnof 192 circ 2c6 tilde 2dc Alpha 391 Beta 392 Gamma 393 Delta 394 Epsilon 395 Zeta \
        396 Eta 397 Theta 398 Iota 399 Kappa 39a Lambda 39b Mu 39c Nu 39d Xi 39e Omicron 39f Pi 3a0 Rho 3a1 Sigma 3a3 \
        Tau 3a4 Upsilon 3a5 Phi 3a6 Chi 3a7 Psi 3a8 Omega 3a9 alpha 3b1 beta 3b2 gamma 3b3 delta 3b4 epsilon 3b5 zeta \
        3b6 eta 3b7 theta 3b8 iota 3b9 kappa 3ba lambda 3bb mu 3bc nu 3bd xi 3be omicron 3bf pi 3c0 rho 3c1 sigmaf 3c2 \
        sigma 3c3 tau 3c4 upsilon 3c5 phi 3c6 chi 3c7 psi 3c8 omega 3c9 thetasym 3d1 upsih 3d2 piv 3d6 ensp 2002 emsp \
        2003 thinsp 2009 zwnj 200c zwj 200d lrm 200e rlm 200f ndash 2013 mdash 2014 lsquo 2018 rsquo 2019 sbquo 201a \
        ldquo 201c rdquo 201d bdquo 201e dagger 2020 Dagger 2021 bull 2022 hellip 2026 permil 2030 prime 2032 Prime \
        2033 lsaquo 2039 rsaquo 203a oline 203e frasl 2044 euro 20ac image 2111 weierp 2118 real 211c trade 2122 \
        alefsym 2135 larr 2190 uarr 2191 rarr 2192 darr 2193 harr 2194 crarr 21b5 lArr 21d0 uArr 21d1 rArr 21d2 dArr \
        21d3 hArr 21d4 forall 2200 part 2202 exist 2203 empty 2205 nabla 2207 isin 2208 notin 2209 ni 220b prod 220f \
        sum 2211 minus 2212 lowast 2217 radic 221a prop 221d infin 221e ang 2220 and 2227 or 2228 cap 2229 cup 222a \
        int 222b there4 2234 sim 223c cong 2245 asymp 2248 ne 2260 equiv 2261 le 2264 ge 2265 sub 2282 sup 2283 nsub \
        2284 sube 2286 supe 2287 oplus 2295 otimes 2297 perp 22a5 sdot 22c5 lceil 2308 rceil 2309 lfloor 230a rfloor \
        230b lang 2329 rang 232a loz 25ca spades 2660 clubs 2663 hearts 2665 diams 2666
        """
    /// Names with a semicolon for two characters, of which the first is ASCII.
    private static let pairs = ["nvlt": "<\u{20d2}", "nvgt": ">\u{20d2}", "bne": "=\u{20e5}", "fjlig": "fj"]
    private static let loose = table(plain).merging(
        zip(latin.split(separator: " ").map(String.init), (0xa0...0xff).map { String(Unicode.Scalar($0)!) })
    ) { $1 }
    private static let all = table(strict).merging(loose) { $1 }.merging(pairs) { $1 }

    private static func table(_ text: String) -> [String: String] {
        let words = text.split(separator: " ")
        return Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: words.count, by: 2).map {
                (String(words[$0]), String(Unicode.Scalar(UInt32(words[$0 + 1], radix: 16)!)!))
            })
    }

    /// The characters in place of the references `&#x80;` to `&#x9f;`, which browsers read as Windows-1252.
    private static let windows: [UInt32] = [
        0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d,
        0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d,
        0x17e, 0x178,
    ]

    /// Reads a reference at the ampersand at `start`. Returns its text and the index behind it; `nil` if the
    /// ampersand is a plain character. In an attribute, a name without a semicolon is no reference if an equals sign or
    /// an alphanumeric character follows, as in `?a=1&copy=2`.
    static func decode(_ bytes: Span<UInt8>, at start: Int) -> (text: String, end: Int)? {
        guard start + 1 < bytes.count else { return nil }
        return bytes[start + 1] == UInt8(ascii: "#") ? number(bytes, from: start + 2) : name(bytes, from: start + 1)
    }

    private static func number(_ bytes: Span<UInt8>, from start: Int) -> (text: String, end: Int)? {
        guard start < bytes.count else { return nil }
        let isHex = bytes[start].lowercased == UInt8(ascii: "x")
        var index = isHex ? start + 1 : start
        let first = index
        var value: UInt32 = 0
        while index < bytes.count, let digit = bytes[index].hexDigitValue, isHex || digit < 10 {
            value = min(value * (isHex ? 16 : 10) + UInt32(digit), 0x110000)
            index += 1
        }
        guard index > first else { return nil }
        if index < bytes.count, bytes[index] == UInt8(ascii: ";") { index += 1 }
        if (0x80...0x9f).contains(value) { value = windows[Int(value) - 0x80] }
        return (String(value == 0 ? "\u{fffd}" : Unicode.Scalar(value) ?? "\u{fffd}"), index)
    }

    private static func name(_ bytes: Span<UInt8>, from start: Int) -> (text: String, end: Int)? {
        var end = start
        while end < bytes.count, end - start < longestName, bytes[end].isAlphanumeric { end += 1 }
        guard end > start else { return nil }
        let isClosed = end < bytes.count && bytes[end] == UInt8(ascii: ";")
        if isClosed, let found = all[bytes.text(start..<end)] { return (found, end + 1) }
        // A longer text is no reference without a semicolon, because alphanumeric characters follow the name.
        guard !isClosed, end == bytes.count || bytes[end] != UInt8(ascii: "=") else { return nil }
        return loose[bytes.text(start..<end)].map { ($0, end) }
    }
}
