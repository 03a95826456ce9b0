use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use gobo_automata::{CharSet, Expr};
use proptest::prelude::*;

use super::*;

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

/// Texts without an offset apart.
fn asked(name: &str, draft: Draft, allow_widening: bool) -> Asked<'_> {
    Asked { name, draft, allow_widening, date_times: DateTimes::Rfc3339 }
}

fn format(
    name: &str,
    draft: Draft,
    allow_widening: bool,
    budget: &Budget,
) -> Result<Option<Format>, CompileError> {
    super::format(asked(name, draft, allow_widening), budget)
}

fn language(name: &str) -> Language {
    of_draft(name, Draft::Draft202012)
}

fn of_draft(name: &str, draft: Draft) -> Language {
    let Format { language, .. } =
        format(name, draft, true, &budget()).unwrap().expect("a format of the standard");
    let Some(longest) = longest(asked(name, draft, true)) else { return language };
    let lengths = Expr::Chars(CharSet::new([('\0', char::MAX)])).repeat(0, Some(longest));
    language.intersection(&Language::expr(&lengths, &budget()).unwrap(), &budget()).unwrap()
}

fn check(name: &str, valid: &[&str], invalid: &[&str]) {
    check_language(name, &language(name), valid, invalid);
}

fn check_language(name: &str, language: &Language, valid: &[&str], invalid: &[&str]) {
    for text in valid {
        assert!(language.accepts(text), "{name} takes {text:?}");
    }
    for text in invalid {
        assert!(!language.accepts(text), "{name} does not take {text:?}");
    }
}

#[test]
fn a_format_is_a_language_a_refusal_or_an_annotation() {
    for name in ["", "Date", "int32", "color", "uri ", "url"] {
        assert!(format(name, Draft::Draft202012, true, &budget()).unwrap().is_none(), "{name}");
    }
    for (name, why) in [("hostname", "xn--"), ("idn-hostname", "xn--"), ("regex", "nest")] {
        let Err(CompileError::Refused(refusal)) = format(name, Draft::Draft202012, false, &budget()) else {
            panic!("{name}")
        };
        assert_eq!((refusal.kind, refusal.place.as_str()), (RefusalKind::Unsupported, ""));
        assert!(refusal.reason.contains(why), "{refusal}");
        assert!(format(name, Draft::Draft202012, true, &budget()).unwrap().is_some());
        assert!(inexact(asked(name, Draft::Draft202012, true)).1.is_some());
    }
    let small = Budget::new(CompileLimits { max_states: 20, ..CompileLimits::default() });
    for _ in 0..2 {
        // The same before and after it is built.
        assert!(matches!(format("date", Draft::Draft202012, true, &small), Err(CompileError::OverBudget(_))));
        format("date", Draft::Draft202012, true, &budget()).unwrap();
    }
    let (first, second) = (budget(), budget());
    format("uuid", Draft::Draft202012, true, &first).unwrap();
    format("uuid", Draft::Draft202012, true, &second).unwrap();
    assert_eq!((first.steps(), first.bytes()), (second.steps(), second.bytes()));
}

#[test]
fn languages_are_small() {
    let most = [
        ("date", 30),
        ("time", 476),
        ("date-time", 505),
        ("duration", 16),
        ("email", 702),
        ("idn-email", 1_639),
        ("hostname", 841),
        ("idn-hostname", 2_297),
        ("ipv4", 25),
        ("ipv6", 152),
        ("uri", 180),
        ("uri-reference", 183),
        ("iri", 183),
        ("iri-reference", 186),
        ("uri-template", 14),
        ("uuid", 38),
        ("json-pointer", 4),
        ("relative-json-pointer", 7),
        ("regex", 2),
    ];
    assert_eq!(most.len() + 1, FORMATS.len());
    for (name, most) in most {
        let states = language(name).len();
        assert!(states <= most, "{name} has {states} states");
    }
    for (format, most) in NAIVE.iter().zip([476, 505]) {
        let states = (format.build)(&budget()).unwrap().len();
        assert!(states <= most, "{} without an offset has {states} states", format.name);
    }
    let states = of_draft("hostname", Draft::Draft4).len();
    assert!(states <= 27_000, "host names of draft 4 have {states} states");
}

/// Written out by hand, apart from any pattern.
fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

#[test]
fn dates_are_those_of_the_calendar() {
    let (dates, date_times) = (language("date"), language("date-time"));
    for year in 0..10_000 {
        let all = [0, 1, 4, 99, 100, 400, 1582, 1900, 1999, 2000, 2023, 2024, 2100, 9999].contains(&year);
        for month in if all { 0..=13 } else { 2..=2 } {
            for day in if all { 0..=32 } else { 28..=30 } {
                let text = format!("{year:04}-{month:02}-{day:02}");
                let expected = day >= 1 && day <= days(year, month);
                assert_eq!(dates.accepts(&text), expected, "{text}");
                assert_eq!(date_times.accepts(&(text + "T00:00:00Z")), expected);
            }
        }
    }
    let valid = ["0000-02-29", "1985-04-12"];
    let invalid =
        ["", "985-04-12", "1985-4-12", "1985-04-1", "1985-04-12Z", "19850412", " 1985-04-12", "1985-04-12\n"];
    check("date", &valid, &invalid);
    check("date", &[], &["1985-04-1२", "+1985-04-12", "1985-102", "1985-W15-5", "01985-04-12", "1985/04/12"]);
}

#[test]
fn times_are_those_of_the_clock() {
    let times = language("time");
    for (hour, minute) in (0..=25).flat_map(|hour| (0..=61).map(move |minute| (hour, minute))) {
        let is_clock = hour < 24 && minute < 60;
        assert_eq!(times.accepts(&format!("{hour:02}:{minute:02}:07Z")), is_clock, "{hour}:{minute}");
        for sign in ['+', '-'] {
            assert_eq!(
                times.accepts(&format!("05:06:07.8{sign}{hour:02}:{minute:02}")),
                is_clock,
                "{hour}:{minute}"
            );
        }
    }
    for second in 0..100 {
        assert_eq!(times.accepts(&format!("05:06:{second:02}Z")), second < 60, "{second}");
    }
    check(
        "time",
        &["23:59:60Z", "23:59:60.5z", "00:00:00-00:00", "01:02:03.000000000001+23:59"],
        &[
            "01:02:03",
            "01:02:03.Z",
            "01:02Z",
            "1:02:03Z",
            "01:02:03,4Z",
            "01:02:03+1:00",
            "01:02:03+0100",
            "T01:02:03Z",
        ],
    );
    check(
        "time",
        &[],
        &["01:02:03 Z", "01:02:03ZZ", "01:02:03+01", "24:00:00Z", "0२:00:00Z", "23:59:61Z", "01:02:03Z\n"],
    );
    check(
        "date-time",
        &[
            "1985-04-12T23:20:50.52Z",
            "1996-12-19t16:39:57-08:00",
            "1990-12-31T15:59:60-08:00",
            "1937-01-01T12:00:27.87+00:20",
        ],
        &[
            "1985-04-12 23:20:50Z",
            "1985-04-12",
            "1985-04-12T23:20Z",
            "1985-04-31T23:20:50Z",
            "1990-12-31T15:59:60Z",
        ],
    );
}

#[test]
fn leap_seconds_end_a_day_in_utc() {
    const DAY: i32 = 24 * 60;
    let times = language("time");
    let clock = |minutes: i32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    for offset in 1 - DAY..DAY {
        let sign = if offset < 0 { '-' } else { '+' };
        let zone = format!("{sign}{}", clock(offset.abs()));
        for local in 0..DAY {
            let is_last_minute = (local - offset).rem_euclid(DAY) == DAY - 1;
            let expected = is_last_minute && offset % 30 == 0;
            let time = clock(local);
            assert_eq!(times.accepts(&format!("{time}:60{zone}")), expected, "{time} {zone}");
        }
    }
    for local in 0..DAY {
        assert_eq!(times.accepts(&format!("{}:60.25Z", clock(local))), local == DAY - 1);
    }
    check("time", &["23:59:60-00:00"], &[]);
}

#[test]
fn durations_leave_no_unit_out() {
    let durations = language("duration");
    let mut expected: HashSet<String> = ["P1W".to_owned()].into();
    let slices = |units: &[&str]| -> Vec<String> {
        let ends = |from: usize| (from + 1..=units.len()).map(move |to| (from, to));
        (0..units.len()).flat_map(ends).map(|(from, to)| units[from..to].concat()).collect()
    };
    for time in slices(&["1H", "1M", "1S"]) {
        expected.insert(format!("PT{time}"));
        for date in slices(&["1Y", "1M", "1D"]) {
            expected.insert(format!("P{date}"));
            expected.insert(format!("P{date}T{time}"));
        }
    }
    let mut texts = vec![String::new()];
    let mut taken = HashSet::new();
    for _ in 0..8 {
        let units = ["P", "T", "1Y", "1M", "1W", "1D", "1H", "1S"];
        let extend = |text: &String| units.map(|unit| format!("{text}{unit}"));
        // What is no beginning of a duration stays none.
        let is_open = |text: &String| expected.iter().any(|whole| whole.starts_with(text)) || text.len() < 6;
        texts = texts.iter().flat_map(extend).filter(is_open).collect();
        taken.extend(texts.iter().filter(|text| durations.accepts(text)).cloned());
    }
    assert_eq!(taken, expected);
    check(
        "duration",
        &["P0D", "P007W", "PT36H", "P123456789Y"],
        &["", "P", "PT", "1D", "P1.5D", "P-1D", "p1d", "P1DT", "P1YD"],
    );
}

#[test]
fn mailboxes_follow_their_grammar() {
    let (longest, too_long) = ("a".repeat(64) + "@b", "a".repeat(65) + "@b");
    let domain = |label: usize, rest: usize| format!("a@{}.{}", "b".repeat(label), "c.".repeat(rest) + "d");
    check(
        "email",
        &[
            "a@b",
            "a.b.c@d.e",
            "!#$%&'*+-/=?^_`{|}~@a",
            r#""a b\"\\@"@c.d"#,
            r#"""@a"#,
            "a@1.2",
            "a@x--y",
            "a@xn--9ca.com",
            "a@[1.2.3.4]",
            "a@[001.02.255.0]",
            "a@[IPv6:1::2]",
            "a@[ipv6:::1.2.3.4]",
            "a@[IPv6:1:2:3:4:5:6:1.2.3.4]",
            &longest,
            &domain(63, 31),
        ],
        &[
            "",
            "a",
            "@b",
            "a@",
            ".a@b",
            "a.@b",
            "a..b@c",
            "a b@c",
            "a@-b",
            "a@b-",
            "a@b.",
            "a@.b",
            "a@b..c",
            "a@b_c",
            "a@b@c",
            r#""a"b@c"#,
            r#""a@b"#,
            "\"a\tb\"@c",
            "é@b",
            "a@é",
            "a@[1.2.3]",
            "a@[1.2.3.256]",
            "a@[::1]",
            "a@[IPv6:1::2::3]",
            "a@[IPv6:1:2:3:4:5:6:7::]",
            "a@[x:y]",
            "a(b)@c",
            "A <a@b>",
            "a@b,c@d",
            "a@b\n",
            &too_long,
            &domain(64, 1),
            &domain(1, 32),
        ],
    );
    let (longest, too_long) = ("é".repeat(32) + "@b", "é".repeat(32) + "a@b");
    check(
        "idn-email",
        &[
            "a@b",
            "日本@日本.例え",
            "\"日 本\"@b.COM",
            "𝄞@b",
            "e\u{301}@e\u{301}.com",
            "δοκιμή@δοκιμή.gr",
            "\u{fffe}@a",
            "a@[1.2.3.4]",
            &longest,
        ],
        &[
            "a\u{ff20}b",
            "日本",
            "a@\u{301}e",
            "a@é-",
            "a@ab--é",
            "a@À",
            "\"\\é\"@a",
            "é.@a",
            "a@א",
            "a@日。本",
            &too_long,
        ],
    );
}

/// Each language that leaves counts out has the format's texts up to its bound, once the head is counted.
#[test]
fn shorter_addresses_are_those_of_the_language_with_fewer_counts() {
    let budget = budget();
    let email = format("email", Draft::Draft202012, false, &budget).unwrap().unwrap();
    let parts = email.parts.unwrap();
    let up_to =
        |most: u64, after: &str| pattern::regex(&format!("(?s:.{{0,{most}}}){after}"), &budget).unwrap();
    let within = |one: &Language, other: &Language| one.intersection(other, &budget).unwrap();
    for Capped { most, language, head } in &parts.capped {
        let counted = match head {
            Some(head) => within(language, &up_to(u64::from(*head), "@[^@]*")),
            None => language.clone(),
        };
        let lengths = up_to(*most, "");
        assert_eq!(within(&counted, &lengths), within(&email.language, &lengths), "up to {most}");
    }
    assert_eq!(parts.capped.last().unwrap().most, parts.longest);
    assert_eq!(email.language.lengths(&budget).unwrap(), (3, u32::try_from(parts.longest).ok()));
}

#[test]
fn host_names_have_labels_of_letters_digits_and_hyphens() {
    let label = |chars: usize| "a".repeat(chars);
    check(
        "hostname",
        &[
            "a",
            "A.b",
            "1and1.com",
            "3com",
            "a-b",
            "a--b",
            "abc--d",
            "xn--9ca",
            "a.XN--9ca.com",
            "x1",
            "1.a2",
            &label(63),
            &(label(63) + ".com"),
            &format!("{}.{}", label(63), label(63)),
        ],
        &[
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "-a",
            "a-",
            "a.-b",
            "a-.b",
            "a_b",
            "a b",
            "é",
            "ab--c",
            "xa--c",
            "a.ab--c",
            "1",
            "1.2.3.4",
            "a.1",
            "a\n",
            "a。b",
            &label(64),
            &("a.".to_owned() + &label(64)),
            &("a.".repeat(33) + "a"),
        ],
    );
    // Up to draft 6, RFC 1034 alone.
    let long = [label(63), label(63), label(63), label(61)].join(".");
    let dotted = "a.".repeat(126);
    for draft in [Draft::Draft4, Draft::Draft6] {
        assert!(format("hostname", draft, false, &budget()).unwrap().is_some());
        assert_eq!(inexact(asked("hostname", draft, false)), (None, None));
        let hosts = of_draft("hostname", draft);
        let valid =
            ["a", "1", "1.2.3.4", "ab--c", "xn--a", "xn--9ca", "X", "a-b.c", &long, &(dotted.clone() + "a")];
        let invalid = [
            "", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "a-.b", "a_b", "a b", "é", "a\n", "a。b", "xn--",
        ];
        check_language("hostname", &hosts, &valid, &invalid);
        let (more, deeper) = (long.clone() + "a", dotted.clone() + "aa");
        check_language("hostname", &hosts, &[&label(63)], &[&label(64), &more, &deeper]);
    }
    check(
        "idn-hostname",
        &[
            "a",
            "Example.com",
            "例え.テスト",
            "faß.de",
            "δοκιμή.δοκιμή",
            "a。b．c｡d",
            "실례",
            "ёж",
            &label(63),
        ],
        &[
            "",
            "。",
            "a。",
            "À",
            "Aé",
            "e\u{301}",
            "\u{301}",
            "a·l",
            "・",
            "אב",
            "é-",
            "-é",
            "ab--é",
            "1",
            "日 本",
            "\u{200d}a",
            "日".repeat(10).as_str(),
        ],
    );
}

/// RFC 3492, section 6.3: the length of a label in Punycode.
fn encoded(label: &str) -> u32 {
    let code_points: Vec<u32> = label.chars().map(u32::from).collect();
    let basic = u32::try_from(code_points.iter().filter(|&&code| code < 128).count()).unwrap();
    let (mut n, mut delta, mut bias, mut handled, mut len) =
        (128, 0, 72, basic, basic + u32::from(basic > 0));
    while handled < u32::try_from(code_points.len()).unwrap() {
        let next = *code_points.iter().filter(|&&code| code >= n).min().unwrap();
        delta += (next - n) * (handled + 1);
        n = next;
        for &code in &code_points {
            delta += u32::from(code < n);
            if code == n {
                let mut rest = delta;
                let mut k = 36;
                loop {
                    len += 1;
                    let threshold = if k <= bias { 1 } else { (k - bias).min(26) };
                    if rest < threshold {
                        break;
                    }
                    rest = (rest - threshold) / (36 - threshold);
                    k += 36;
                }
                let mut adapted = if handled == basic { delta / 700 } else { delta / 2 };
                adapted += adapted / (handled + 1);
                bias = 0;
                while adapted > 455 {
                    adapted /= 35;
                    bias += 36;
                }
                bias += 36 * adapted / (adapted + 38);
                delta = 0;
                handled += 1;
            }
        }
        delta += 1;
        n += 1;
    }
    len
}

#[test]
fn addresses_are_written_as_their_standards_say() {
    let valid = [
        "::",
        "1::",
        "::1",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "::1.2.3.4",
        "ABCD::ef",
    ];
    let invalid = [
        "",
        ":",
        "1",
        ":::",
        "1:::2",
        "1::2::3",
        "1:2:3:4:5:6:7:8::",
        "12345::",
        "::1%eth0",
        "[::1]",
        "::1/64",
    ];
    check("ipv6", &valid, &invalid);
    check(
        "ipv6",
        &[],
        &["::1.2.3", "1.2.3.4::", "::01.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "g::", "1:2:3:4:5:6:7:", "::१"],
    );
    check(
        "ipv4",
        &["0.0.0.0", "255.255.255.255", "1.20.199.249"],
        &[
            "",
            "1.2.3",
            "1.2.3.4.5",
            "256.0.0.0",
            "01.2.3.4",
            "00.0.0.0",
            "1.2.3.4 ",
            "1.2.3.4\n",
            "0x1.2.3.4",
            "1..2.3",
            "1.2.3.२",
        ],
    );
}

#[test]
fn references_follow_their_grammar() {
    let uris = [
        "a:",
        "a:/",
        "a://",
        "a:b:c",
        "http://a",
        "http://a:/",
        "http://a:80?",
        "http://u:p@h.x:1/p;a=1/../q?a=/?#f/?",
        "urn:a:b",
        "mailto:a@b.c",
        "file:///etc/x",
        "http://[::1]:8/",
        "http://[::ffff:1.2.3.4]",
        "http://[v1.a:b]/",
        "http://1.2.3.400/",
        "http://%41/%e9",
        "a+b-c.d:e",
        "A:?#",
        "http://a//b",
        "http://a/(b)*,;!$&'",
    ];
    let no_references = [
        " ",
        "a b",
        "http://a b",
        "http://[::1",
        "http://[1.2.3.4]",
        "http://[::1%25a]",
        "http://a:b",
        "http://a@b@c",
        "a:%",
        "a:%4",
        "a:%4g",
        "a:#b#c",
        "a:\\",
        "a:\"",
        "a:<b>",
        "a:^",
        "a:`",
        "a:{b}",
        "a:|",
        "a:[b]",
        "a:?[",
        "http://a\n",
        "\u{7f}",
        "http://[::01.2.3.4]",
        "1a:b",
        "a_b:c",
        ":a",
    ];
    let relative = ["", "a", "/", "//", "//a", "/a:b", "./a:b", "?", "#", "a/b:c", "../x?y#z", "%41", "@"];
    let wide = [
        "a:é",
        "http://例え.テスト/パス?日#本",
        "é:b/",
        "日本",
        "#é",
        "a:\u{e000}",
        "a:?\u{e000}",
        "a:\u{200e}",
        "a:\u{fffe}",
    ];
    check("uri", &uris, &no_references);
    check("uri", &[], &relative);
    check("uri", &[], &wide);
    check("uri-reference", &uris, &no_references);
    check("uri-reference", &relative, &wide);
    check("iri", &uris, &no_references);
    check("iri", &["a:é", "http://例え.テスト/パス?日#本", "a:?\u{e000}", "a:\u{10000}"], &relative);
    check(
        "iri",
        &[],
        &[
            "é:b/",
            "日本",
            "#é",
            "a:\u{e000}",
            "a:#\u{e000}",
            "a:\u{200e}",
            "a:\u{fffe}",
            "a:\u{fdd0}",
            "a:\u{9f}",
        ],
    );
    check("iri-reference", &uris, &no_references);
    check("iri-reference", &relative, &["é:b/", "\u{e000}", "a:\u{200f}", "a:\u{e0001}", "a\u{2028} "]);
    check("iri-reference", &["日本", "#é", "?\u{f0000}", "//é@日:1/"], &[]);
}

#[test]
fn characters_outside_ascii_are_those_of_the_standards() {
    let [iri, iri_query, template] =
        [("iri", "a:"), ("iri", "a:?"), ("uri-template", "")].map(|(name, before)| (language(name), before));
    let takes =
        |(language, before): &(Language, &str), char: char| language.accepts(&format!("{before}{char}"));
    for char in '\u{80}'..=char::MAX {
        let code = u32::from(char);
        let is_private = matches!(code, 0xE000..=0xF8FF | 0xF_0000..=0xF_FFFD | 0x10_0000..=0x10_FFFD);
        let is_formatting = matches!(code, 0x200E | 0x200F | 0x202A..=0x202E);
        let is_none =
            code < 0xA0 || code & 0xFFFE == 0xFFFE || matches!(code, 0xFDD0..=0xFDEF | 0xFFF0..=0xFFFF);
        let is_ucschar = !is_none && !is_private && !matches!(code, 0xE_0000..=0xE_0FFF);
        assert_eq!(takes(&iri, char), is_ucschar && !is_formatting, "{code:x}");
        assert_eq!(takes(&iri_query, char), (is_ucschar && !is_formatting) || is_private, "{code:x}");
        assert_eq!(takes(&template, char), is_ucschar || is_private, "{code:x}");
    }
}

#[test]
fn templates_follow_their_grammar() {
    check(
        "uri-template",
        &[
            "",
            "a",
            "/{a}",
            "{a,b}",
            "{a*}",
            "{a:3}",
            "{a:9999}",
            "{+a.b,c*}",
            "{#a}",
            "{?q,r:1}",
            "{&a}",
            "{%41_1}",
            "a'b",
            "%41",
            "é{a}é",
            "{=a}",
            "{|a}",
            "\u{e000}",
            "[a]{;b}",
        ],
        &[
            "{",
            "}",
            "{}",
            "{a",
            "a}",
            "{a b}",
            "{a,}",
            "{,}",
            "{a:0}",
            "{a:12345}",
            "{a*:1}",
            "{a.}",
            "{.}",
            "{.a..b}",
            "{a-b}",
            "{é}",
            "{{a}}",
            "a b",
            "%4",
            "a\"",
            "<",
            ">",
            "\\",
            "^",
            "`",
            "|",
            "{++a}",
            "a\n",
            "\u{fffe}",
        ],
    );
}

#[test]
fn pointers_and_identifiers_follow_their_grammar() {
    check(
        "json-pointer",
        &["", "/", "//", "/a~0~1", "/é \"\n\0", "/a/b/0/-"],
        &["a", "#", "#/a", "/~", "/~2", "/a~", " /a"],
    );
    check(
        "relative-json-pointer",
        &["0", "10", "0#", "1/a", "2/", "12/~01"],
        &["", "/a", "00", "01#", "-1", "+1", "0##", "0a", "0#/a", "1/~", "#", "1\n", "0+1"],
    );
    let uuid = "00112233-4455-6677-8899-aAbBcCdDeEfF";
    check(
        "uuid",
        &[uuid, &uuid.to_lowercase()],
        &["", &uuid[1..], &uuid.replace('-', ""), &format!("{{{uuid}}}")],
    );
    check(
        "uuid",
        &[],
        &[&uuid.replace('0', "g"), &format!("urn:uuid:{uuid}"), &uuid.replace('0', "०"), &format!("{uuid}0")],
    );
}

proptest! {
    #[test]
    fn ipv4_is_what_the_standard_library_reads(
        octets in prop::collection::vec(prop_oneof!["[0-9]{1,3}", "25[0-9]", "0[0-9]?", "[0-9]{0,4}"], 3..6),
        dots in prop::sample::select(&[".", ".", ".", ":", ".."][..]),
    ) {
        let text = octets.join(dots);
        prop_assert_eq!(language("ipv4").accepts(&text), text.parse::<Ipv4Addr>().is_ok(), "{}", text);
    }

    #[test]
    fn ipv6_is_what_the_standard_library_reads(
        before in prop::collection::vec("[0-9a-fA-F]{1,4}", 0..9),
        gap in prop::sample::select(&["::", "::", "::", ":", "", ":::"][..]),
        after in prop::collection::vec("[0-9a-fA-F]{1,4}", 0..9),
        end in prop_oneof![
            Just(String::new()),
            "(:|::)?[0-9]{1,2}\\.1[0-9]{2}\\.2[0-9]{2}\\.0",
            "[:g.]",
            "[0-9a-f]{1,2}",
        ],
    ) {
        let text = before.join(":") + gap + &after.join(":") + &end;
        prop_assert_eq!(language("ipv6").accepts(&text), text.parse::<Ipv6Addr>().is_ok(), "{}", text);
    }

    #[test]
    fn international_labels_are_short_enough_in_ascii(
        plain in 0..52_usize,
        wide in prop::collection::vec(prop_oneof![
            prop::sample::select(vec!['ß', 'ÿ', 'ά', 'џ', 'ぁ', 'ヾ', '\u{3400}', '\u{9ffc}', '가', '힣']),
            prop::char::range('가', '힣'),
            prop::char::range('\u{4e00}', '\u{9ffc}'),
        ], 1..10),
        place in any::<prop::sample::Index>(),
    ) {
        let mut label = vec!['a'; plain.min(58 - 6 * wide.len())];
        let at = place.index(label.len() + 1);
        label.splice(at..at, wide);
        let label: String = label.into_iter().collect();
        prop_assert!(language("idn-hostname").accepts(&label), "{}", label);
        prop_assert!(4 + encoded(&label) <= 63, "{}", label);
    }
}

#[test]
fn the_encoder_of_these_tests_is_that_of_punycode() {
    for (label, ascii) in [
        ("bücher", "bcher-kva"),
        ("例え", "r8jz45g"),
        ("테스트", "9t4b11yi5a"),
        ("παράδειγμα", "hxajbheg2az3al"),
    ] {
        assert_eq!(encoded(label) as usize, ascii.len(), "{label}");
    }
}

/// What programs write of a time without a zone: Python's `isoformat`, Pydantic's `model_dump_json`, Java's `LocalDateTime`.
#[test]
fn times_without_an_offset_are_taken_where_they_are_asked_for() {
    let naive =
        |name: &'static str| Asked { date_times: DateTimes::Naive, ..asked(name, Draft::Draft202012, false) };
    for (name, without, with, never) in [
        (
            "date-time",
            &["2024-01-01T12:00:00", "2024-02-29t23:59:59.000001", "0001-01-01T00:00:00.5"][..],
            &["2024-01-01T12:00:00Z", "2024-12-31T23:59:60Z", "2024-01-01T12:00:00.5-05:30"][..],
            &[
                "2024-01-01",
                "2024-01-01T12:00",
                "2024-01-01 12:00:00",
                "2023-02-29T12:00:00",
                "2024-01-01T23:59:60",
                "2024-01-01T24:00:00",
                "2024-01-01T12:00:00.",
                "2024-01-01T12:00:00+5",
            ][..],
        ),
        (
            "time",
            &["12:00:00", "23:59:59.999999"][..],
            &["12:00:00z", "00:59:60+01:00"][..],
            &["12:00", "24:00:00", "12:00:60", "12:60:00", "12:00:00.", ""][..],
        ),
    ] {
        let both = super::format(naive(name), &budget()).unwrap().unwrap().language;
        check_language(name, &both, without, never);
        check(name, with, without);
        check_language(name, &both, with, &[]);
        let (narrowed, widened) = inexact(naive(name));
        assert!(narrowed.is_some() && widened.is_some_and(|why| why.contains("offset")));
    }
    let date = super::format(naive("date"), &budget()).unwrap().unwrap().language;
    check_language("date", &date, &["2024-01-01"], &["2024-01-01T12:00:00"]);
    assert_eq!(inexact(naive("date")), (None, None));
}
