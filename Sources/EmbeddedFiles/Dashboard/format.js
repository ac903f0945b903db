const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const instant = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** Returns a number as in `1,204`. */
export function count(number) {
    return whole.format(number);
}

/** Returns a number with its noun, as in `1 entry` and `1,204 entries`. */
export function counted(number, one, many = `${one}s`) {
    return `${count(number)} ${number === 1 ? one : many}`;
}

/** Returns a number of bytes as in `512 B` and `1.2 MiB`. */
export function bytes(number) {
    const power = number < 1 ? 0 : Math.min(Math.floor(Math.log2(number) / 10), UNITS.length - 1);
    const value = number / 1024 ** power;
    return `${value >= 100 || power === 0 ? whole.format(Math.round(value)) : short.format(value)} ${UNITS[power]}`;
}

/** Returns a share of 0 to 1 as in `98.7 %`. */
export function percent(share) {
    return `${short.format(share * 100)} %`;
}

/** Returns a rate as in `0.4`, `87` and `1,204`. */
export function rate(number) {
    return number < 10 ? short.format(number) : whole.format(Math.round(number));
}

/** Returns a short time as in `12 ms` and `1.4 s`. */
export function latency(seconds) {
    return seconds < 1 ? `${whole.format(Math.round(seconds * 1000))} ms` : `${short.format(seconds)} s`;
}

const SPANS = [["y", 31_536_000], ["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];

/** Returns whole seconds in at most `units` units, the largest first, as in `6 d 23 h`, `12 min 4 s` and `0 s`. */
export function duration(seconds, units = 2) {
    let rest = Math.max(0, Math.floor(seconds));
    const first = SPANS.findIndex(([, size]) => rest >= size);
    if (first < 0) return "0 s";
    const parts = SPANS.slice(first, first + units).map(([unit, size]) => {
        const value = Math.floor(rest / size);
        rest -= value * size;
        return value > 0 ? `${value} ${unit}` : null;
    });
    return parts.filter((part) => part !== null).join(" ");
}

/** Returns an RFC 3339 time in the time zone of this machine, as in `31 Jan 2026, 08:05:09`. */
export function dateTime(text) {
    return instant.format(new Date(text));
}
