// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// Which parts of somebody else's text are handed on, and how is text written as Python writes it? As
// scheduled_events/text.py, whose tests say what is meant.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Text
{
    public static class Text
    {
        private const char Replacement = '\ufffd';

        // Text that is meant for people, and may have several lines.
        public static string HarmlessProse(string text) { return Replace(text, false); }

        // An id, a name, a type: text that is compared, and stands in lines with others.
        public static string HarmlessWord(string text) { return Replace(text, true); }

        // The name of a field that we do not know. What begins with two underscores is an order to Ansible.
        public static string HarmlessName(string name)
        {
            string word = HarmlessWord(name);
            return word.StartsWith("__", StringComparison.Ordinal) ? Replacement + word.Substring(1) : word;
        }

        // Text to be quoted in a message: one line of at most `longest` characters.
        public static string HarmlessLine(string text, int longest)
        {
            string line = HarmlessWord(string.Join(" ", Split(First(text, 4 * longest))));
            return Length(line) <= longest ? line : First(line, longest) + "\u2026";
        }

        // The first characters of a text, where a pair of surrogates is one character.
        public static string First(string text, int count)
        {
            int at = 0;
            for (; at < text.Length && count > 0; count--) at += Width(text, at);
            return text.Substring(0, at);
        }

        public static int Length(string text)
        {
            int count = 0;
            for (int at = 0; at < text.Length; at += Width(text, at)) count++;
            return count;
        }

        // White space as Python has it: .NET leaves out the separators U+001C to U+001F.
        public static bool IsSpace(char one)
        {
            return (one >= '\t' && one <= '\r') || (one >= '\x1c' && one <= ' ') || one == '\x85' || one == '\xa0'
                || one == '\u1680' || (one >= '\u2000' && one <= '\u200a') || one == '\u2028' || one == '\u2029'
                || one == '\u202f' || one == '\u205f' || one == '\u3000';
        }

        public static string Strip(string text)
        {
            int begin = 0, end = text.Length;
            while (begin < end && IsSpace(text[begin])) begin++;
            while (begin < end && IsSpace(text[end - 1])) end--;
            return text.Substring(begin, end - begin);
        }

        public static List<string> Split(string text)
        {
            var words = new List<string>();
            int begin = -1;
            for (int at = 0; at <= text.Length; at++)
            {
                bool isEnd = at == text.Length || IsSpace(text[at]);
                if (!isEnd && begin < 0) begin = at;
                if (isEnd && begin >= 0)
                {
                    words.Add(text.Substring(begin, at - begin));
                    begin = -1;
                }
            }
            return words;
        }

        // Whether two VM names, or two event ids, mean the same: equal as a whole, without case.
        public static bool SameName(string one, string other)
        {
            return string.Equals(NameKey(one), NameKey(other), StringComparison.Ordinal);
        }

        // What two spellings of one name have in common, and two names have not. In lower case alone, the sign for
        // kelvin is a k, and names of others would become ours.
        public static string NameKey(string name)
        {
            return Lower(name) + "\0" + name.ToUpperInvariant();
        }

        // As Python has it. .NET Framework leaves out the signs for kelvin, angstrom and ohm, which have letters of their
        // own.
        public static string Lower(string text)
        {
            return text.ToLowerInvariant().Replace('\u212a', 'k').Replace('\u212b', '\u00e5').Replace('\u2126', '\u03c9');
        }

        // By code points, as Python compares. Units of UTF-16 put U+E000 to U+FFFF behind all that needs two of them.
        public static int Compare(string one, string other)
        {
            int shorter = Math.Min(one.Length, other.Length);
            for (int at = 0; at < shorter; at++)
            {
                if (one[at] != other[at]) return Rank(one[at]) - Rank(other[at]);
            }
            return one.Length - other.Length;
        }

        // Text as Python's repr shows it in messages.
        public static string Repr(string text)
        {
            char quote = text.IndexOf('\'') >= 0 && text.IndexOf('"') < 0 ? '"' : '\'';
            var shown = new StringBuilder().Append(quote);
            for (int at = 0; at < text.Length; at += Width(text, at))
            {
                char one = text[at];
                if (one == quote || one == '\\') shown.Append('\\').Append(one);
                else if (one == '\t') shown.Append("\\t");
                else if (one == '\n') shown.Append("\\n");
                else if (one == '\r') shown.Append("\\r");
                else if (one == ' ' || IsShown(CharUnicodeInfo.GetUnicodeCategory(text, at)))
                    shown.Append(text, at, Width(text, at));
                else if (Width(text, at) == 2)
                    shown.AppendFormat(CultureInfo.InvariantCulture, "\\U{0:x8}", char.ConvertToUtf32(text, at));
                else if (one < 256) shown.AppendFormat(CultureInfo.InvariantCulture, "\\x{0:x2}", (int)one);
                else shown.AppendFormat(CultureInfo.InvariantCulture, "\\u{0:x4}", (int)one);
            }
            return shown.Append(quote).ToString();
        }

        // A number as Python's %g writes it.
        public static string General(double number)
        {
            if (double.IsNaN(number)) return "nan";
            if (double.IsInfinity(number)) return number > 0 ? "inf" : "-inf";
            if (number == 0) return "0";
            string[] parts = number.ToString("e5", CultureInfo.InvariantCulture).Split('e');
            int exponent = int.Parse(parts[1], CultureInfo.InvariantCulture);
            if (exponent >= -4 && exponent < 6)
                return WithoutZeros(number.ToString("f" + (5 - exponent), CultureInfo.InvariantCulture));
            return WithoutZeros(parts[0]) + (exponent < 0 ? "e-" : "e+")
                + Math.Abs(exponent).ToString("00", CultureInfo.InvariantCulture);
        }

        // UTF-8 as Python reads it with "replace": one U+FFFD for each longest beginning of a character. Runtimes of
        // .NET differ in how many they write. A mark at the beginning that says UTF-8 is left out.
        public static string FromUtf8(byte[] bytes)
        {
            int at = bytes.Length >= 3 && bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf ? 3 : 0;
            var text = new StringBuilder(bytes.Length);
            while (at < bytes.Length)
            {
                int first = bytes[at++];
                if (first < 0x80)
                {
                    text.Append((char)first);
                    continue;
                }
                int more = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2
                    : first >= 0xf0 && first <= 0xf4 ? 3 : 0;
                // What may come second depends: neither surrogates, nor what has a shorter form, nor beyond U+10FFFF.
                int low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
                int high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
                int value = first & (0x3f >> more);
                int left = more;
                for (; left > 0 && at < bytes.Length && bytes[at] >= low && bytes[at] <= high; left--, at++)
                {
                    value = value << 6 | (bytes[at] & 0x3f);
                    low = 0x80;
                    high = 0xbf;
                }
                if (more == 0 || left > 0) text.Append(Replacement);
                else if (value < 0x10000) text.Append((char)value);
                else text.Append(char.ConvertFromUtf32(value));
            }
            return text.ToString();
        }

        private static int Width(string text, int at)
        {
            return char.IsHighSurrogate(text[at]) && at + 1 < text.Length && char.IsLowSurrogate(text[at + 1]) ? 2 : 1;
        }

        private static int Rank(char unit) { return char.IsSurrogate(unit) ? unit + 0x10000 : unit; }

        private static string WithoutZeros(string digits)
        {
            return digits.IndexOf('.') < 0 ? digits : digits.TrimEnd('0').TrimEnd('.');
        }

        private static bool IsShown(UnicodeCategory category)
        {
            switch (category)
            {
                case UnicodeCategory.Control:
                case UnicodeCategory.Format:
                case UnicodeCategory.Surrogate:
                case UnicodeCategory.PrivateUse:
                case UnicodeCategory.OtherNotAssigned:
                case UnicodeCategory.LineSeparator:
                case UnicodeCategory.ParagraphSeparator:
                case UnicodeCategory.SpaceSeparator:
                    return false;
                default:
                    return true;
            }
        }

        private static string Replace(string text, bool isWord)
        {
            StringBuilder changed = null;
            for (int at = 0; at < text.Length; at += Width(text, at))
            {
                int width = Width(text, at);
                int one = width == 2 ? char.ConvertToUtf32(text, at) : text[at];
                bool isHarmful = IsHarmful(one) || (isWord && IsHarmfulInWords(one));
                if (isHarmful && changed == null) changed = new StringBuilder(text, 0, at, text.Length);
                if (changed == null) continue;
                if (isHarmful) changed.Append(Replacement);
                else changed.Append(text, at, width);
            }
            return changed == null ? text : changed.ToString();
        }

        // Terminals act on the C0 and the C1 characters; a lone surrogate cannot be written; some turn writing around.
        private static bool IsHarmful(int one)
        {
            return one <= 0x08 || one == 0x0b || one == 0x0c || (one >= 0x0e && one <= 0x1f)
                || (one >= 0x7f && one <= 0x9f) || (one >= 0xd800 && one <= 0xdfff)
                || (one >= 0x202a && one <= 0x202e) || (one >= 0x2066 && one <= 0x2069);
        }

        // And what would make two words look alike, or one word two lines.
        private static bool IsHarmfulInWords(int one)
        {
            return one == '\t' || one == '\n' || one == '\r' || one == 0xad || one == 0x061c || one == 0x180e
                || (one >= 0x200b && one <= 0x200f) || one == 0x2028 || one == 0x2029
                || (one >= 0x2060 && one <= 0x206f) || one == 0xfeff || (one >= 0xfff9 && one <= 0xfffb)
                || (one >= 0xe0000 && one <= 0xe007f);
        }
    }
}
