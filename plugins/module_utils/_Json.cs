// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// JSON as the Python core reads it, from anything that a server may have sent: what is not JSON, has a field twice, or
// a number that none can mean, is refused. Values are null, bool, long, decimal, double, string,
// List<object> and Dictionary<string, object>. Integers beyond 28 digits are read as double.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Errors;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Json
{
    public static class Json
    {
        public const int LongestQuote = 200;
        // Deeper than this nobody means a value that is handed on.
        public const int DeepestValue = 32;

        public static object Parse(byte[] body)
        {
            string text = Text.FromUtf8(body);
            try
            {
                return new Reader(text).Document();
            }
            catch (FormatException error)
            {
                throw new DocumentException("not JSON: " + error.Message + ": " + Quote(text));
            }
        }

        public static string Write(object value)
        {
            var text = new StringBuilder();
            Write(value, text);
            return text.ToString();
        }

        // Show a value in an error: enough to recognise it, however large it is.
        public static string Quote(object value)
        {
            var text = value as string;
            string shown = text != null ? Text.Repr(Text.First(text, LongestQuote + 1))
                : IsDeeperThan(DeepestValue, value) ? "something nested deeper than " + DeepestValue + " levels"
                : Write(value);
            return Text.Length(shown) <= LongestQuote ? shown : Text.First(shown, LongestQuote) + "\u2026";
        }

        public static bool IsDeeperThan(int levels, object value)
        {
            var fields = value as Dictionary<string, object>;
            var list = value as List<object>;
            if (fields == null && list == null) return false;
            if (levels == 0) return true;
            foreach (object child in fields != null ? (IEnumerable<object>)fields.Values : list)
            {
                if (IsDeeperThan(levels - 1, child)) return true;
            }
            return false;
        }

        // Equal as Python compares: 1, 1.0 and true are.
        public static bool AreEqual(object one, object other)
        {
            if (IsNumber(one) && IsNumber(other)) return CompareNumbers(one, other);
            var fields = one as Dictionary<string, object>;
            var otherFields = other as Dictionary<string, object>;
            if (fields != null && otherFields != null)
            {
                if (fields.Count != otherFields.Count) return false;
                foreach (KeyValuePair<string, object> field in fields)
                {
                    object value;
                    if (!otherFields.TryGetValue(field.Key, out value) || !AreEqual(field.Value, value)) return false;
                }
                return true;
            }
            var list = one as List<object>;
            var otherList = other as List<object>;
            if (list != null && otherList != null)
            {
                if (list.Count != otherList.Count) return false;
                for (int at = 0; at < list.Count; at++)
                {
                    if (!AreEqual(list[at], otherList[at])) return false;
                }
                return true;
            }
            return object.Equals(one, other);
        }

        private static bool IsNumber(object value)
        {
            return value is bool || value is long || value is decimal || value is double;
        }

        private static bool CompareNumbers(object one, object other)
        {
            if (!(one is double) && !(other is double))
                return Convert.ToDecimal(one, CultureInfo.InvariantCulture) == Convert.ToDecimal(other, CultureInfo.InvariantCulture);
            return Convert.ToDouble(one, CultureInfo.InvariantCulture) == Convert.ToDouble(other, CultureInfo.InvariantCulture);
        }

        private static void Write(object value, StringBuilder text)
        {
            var fields = value as Dictionary<string, object>;
            var list = value as List<object>;
            string separator = "";
            if (value == null) text.Append("null");
            else if (value is bool) text.Append((bool)value ? "true" : "false");
            else if (value is double) text.Append(((double)value).ToString("R", CultureInfo.InvariantCulture));
            else if (fields != null)
            {
                text.Append('{');
                foreach (KeyValuePair<string, object> field in fields)
                {
                    text.Append(separator);
                    WriteText(field.Key, text);
                    text.Append(": ");
                    Write(field.Value, text);
                    separator = ", ";
                }
                text.Append('}');
            }
            else if (list != null)
            {
                text.Append('[');
                foreach (object child in list)
                {
                    text.Append(separator);
                    Write(child, text);
                    separator = ", ";
                }
                text.Append(']');
            }
            else if (value is string) WriteText((string)value, text);
            else text.Append(Convert.ToString(value, CultureInfo.InvariantCulture));
        }

        private static void WriteText(string value, StringBuilder text)
        {
            text.Append('"');
            foreach (char one in value)
            {
                if (one == '"' || one == '\\') text.Append('\\').Append(one);
                else if (one == '\n') text.Append("\\n");
                else if (one == '\r') text.Append("\\r");
                else if (one == '\t') text.Append("\\t");
                else if (one == '\b') text.Append("\\b");
                else if (one == '\f') text.Append("\\f");
                else if (one >= ' ' && one <= '~') text.Append(one);
                else text.AppendFormat(CultureInfo.InvariantCulture, "\\u{0:x4}", (int)one);
            }
            text.Append('"');
        }

        // One text, read from its beginning to its end. What is wrong with it is a FormatException.
        private sealed class Reader
        {
            // Python's own recursion ends there, more or less.
            private const int Deepest = 950;
            // Of any number. 128 bits need 39.
            private const int LongestNumeral = 100;

            private readonly string text;
            private int at;

            public Reader(string text) { this.text = text; }

            public object Document()
            {
                object value = Value(0);
                SkipSpace();
                if (at < text.Length) throw new FormatException("extra data at character " + at);
                return value;
            }

            private object Value(int depth)
            {
                if (depth > Deepest) throw new DocumentException("not JSON that can be read: nested too deeply");
                SkipSpace();
                switch (Next())
                {
                    case '{': return Fields(depth);
                    case '[': return List(depth);
                    case '"': return String();
                    case 't': return Word("true", true);
                    case 'f': return Word("false", false);
                    case 'n': return Word("null", null);
                    default: return Number();
                }
            }

            private object Fields(int depth)
            {
                var fields = new Dictionary<string, object>(StringComparer.Ordinal);
                bool isTwice = false;
                at++;
                SkipSpace();
                if (Next() == '}')
                {
                    at++;
                    return fields;
                }
                while (true)
                {
                    SkipSpace();
                    if (Next() != '"') throw Unexpected();
                    string name = String();
                    SkipSpace();
                    Expect(':');
                    isTwice = isTwice || fields.ContainsKey(name);
                    fields[name] = Value(depth + 1);
                    SkipSpace();
                    if (Next() == '}') break;
                    Expect(',');
                }
                at++;
                // Readers differ in which of the two they take.
                if (isTwice) throw new FormatException("an object has a field twice");
                return fields;
            }

            private object List(int depth)
            {
                var list = new List<object>();
                at++;
                SkipSpace();
                if (Next() == ']')
                {
                    at++;
                    return list;
                }
                while (true)
                {
                    list.Add(Value(depth + 1));
                    SkipSpace();
                    if (Next() == ']') break;
                    Expect(',');
                }
                at++;
                return list;
            }

            private string String()
            {
                var value = new StringBuilder();
                at++;
                while (Next() != '"')
                {
                    char one = text[at++];
                    if (one < ' ') throw new FormatException("a control character in a string");
                    if (one == '\\') one = Escaped();
                    value.Append(one);
                }
                at++;
                return value.ToString();
            }

            private char Escaped()
            {
                char one = Next();
                at++;
                switch (one)
                {
                    case '"': case '\\': case '/': return one;
                    case 'b': return '\b';
                    case 'f': return '\f';
                    case 'n': return '\n';
                    case 'r': return '\r';
                    case 't': return '\t';
                    case 'u': break;
                    default: throw new FormatException("an escape that JSON does not have");
                }
                int value = 0;
                for (int digit = 0; digit < 4; digit++, at++)
                {
                    int found = "0123456789abcdef".IndexOf(char.ToLowerInvariant(Next()));
                    // The sign for kelvin and the like become ASCII in lower case, but none of these letters.
                    if (found < 0) throw new FormatException("an escape without four digits");
                    value = value * 16 + found;
                }
                return (char)value;
            }

            private object Number()
            {
                int begin = at;
                if (Next() == '-') at++;
                if (Next() == '0') at++;
                else if (Digits() == 0) throw Unexpected();
                int end = at;
                // What only looks like a fraction or an exponent is not part of the number.
                if (at < text.Length && text[at] == '.')
                {
                    at++;
                    if (Digits() > 0) end = at;
                    at = end;
                }
                if (at < text.Length && (text[at] == 'e' || text[at] == 'E'))
                {
                    at++;
                    if (at < text.Length && (text[at] == '+' || text[at] == '-')) at++;
                    if (Digits() > 0) end = at;
                    at = end;
                }
                string numeral = text.Substring(begin, end - begin);
                bool isInteger = numeral.IndexOfAny(new[] { '.', 'e', 'E' }) < 0;
                if (numeral.Length > LongestNumeral)
                    throw new FormatException("a number of " + numeral.Length + " characters");
                long whole;
                decimal large;
                if (isInteger && long.TryParse(numeral, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out whole))
                    return whole;
                if (isInteger && decimal.TryParse(numeral, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out large))
                    return large;
                double number;
                // Too large a number is refused by .NET Framework and infinite elsewhere.
                if (!double.TryParse(numeral, NumberStyles.Float, CultureInfo.InvariantCulture, out number) || double.IsInfinity(number))
                    throw new FormatException(numeral + " is beyond any number");
                // Of -0.0, .NET Framework forgets the sign.
                return number == 0 && numeral[0] == '-' ? -0.0 : number;
            }

            private int Digits()
            {
                int begin = at;
                while (at < text.Length && text[at] >= '0' && text[at] <= '9') at++;
                return at - begin;
            }

            private object Word(string word, object value)
            {
                if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0) throw Unexpected();
                at += word.Length;
                return value;
            }

            private void SkipSpace()
            {
                while (at < text.Length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) at++;
            }

            private char Next()
            {
                if (at >= text.Length) throw new FormatException("it ends too early");
                return text[at];
            }

            private void Expect(char one)
            {
                if (Next() != one) throw Unexpected();
                at++;
            }

            private FormatException Unexpected() { return new FormatException("unexpected character " + at); }
        }
    }
}
