package bustest

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// AMQP 1.0, part 1, section 1.6: every encoding that Go has a type for.
func TestDecodeValues(t *testing.T) {
	for _, test := range []struct {
		name  string
		bytes string
		want  any
	}{
		{"null", "\x40", nil},
		{"true", "\x41", true},
		{"false", "\x42", false},
		{"boolean", "\x56\x01", true},
		{"ubyte", "\x50\xff", uint8(255)},
		{"ushort", "\x60\x01\x02", uint16(258)},
		{"uint", "\x70\x00\x00\x01\x02", uint32(258)},
		{"smalluint", "\x52\xff", uint32(255)},
		{"uint0", "\x43", uint32(0)},
		{"ulong", "\x80\x00\x00\x00\x00\x00\x00\x01\x02", uint64(258)},
		{"smallulong", "\x53\xff", uint64(255)},
		{"ulong0", "\x44", uint64(0)},
		{"byte", "\x51\xff", int8(-1)},
		{"short", "\x61\xff\xfe", int16(-2)},
		{"int", "\x71\xff\xff\xff\xfe", int32(-2)},
		{"smallint", "\x54\xfe", int32(-2)},
		{"long", "\x81\xff\xff\xff\xff\xff\xff\xff\xfe", int64(-2)},
		{"smalllong", "\x55\xfe", int64(-2)},
		{"float", "\x72\x3f\x80\x00\x00", float32(1)},
		{"double", "\x82\x3f\xf0\x00\x00\x00\x00\x00\x00", float64(1)},
		{"timestamp", "\x83\x00\x00\x01\x4f\xb4\x84\x80\x00", time.UnixMilli(0x14fb4848000).UTC()},
		{"uuid", "\x98" + strings.Repeat("\x07", 16), uuid(bytes.Repeat([]byte{7}, 16))},
		{"vbin8", "\xa0\x02ab", []byte("ab")},
		{"vbin32", "\xb0\x00\x00\x00\x02ab", []byte("ab")},
		{"str8", "\xa1\x02ab", "ab"},
		{"str32", "\xb1\x00\x00\x00\x02ab", "ab"},
		{"sym8", "\xa3\x02ab", symbol("ab")},
		{"sym32", "\xb3\x00\x00\x00\x02ab", symbol("ab")},
		{"list0", "\x45", []any{}},
		{"list8", "\xc0\x03\x02\x41\x40", []any{true, nil}},
		{"list32", "\xd0\x00\x00\x00\x06\x00\x00\x00\x02\x41\x40", []any{true, nil}},
		{"map8", "\xc1\x06\x02\xa3\x01k\x52\x05", map[string]any{"k": uint32(5)}},
		{"map32", "\xd1\x00\x00\x00\x09\x00\x00\x00\x02\xa1\x01k\x52\x05", map[string]any{"k": uint32(5)}},
		{"array8", "\xe0\x06\x02\xa3\x01a\x01b", []any{symbol("a"), symbol("b")}},
		{"array32", "\xf0\x00\x00\x00\x07\x00\x00\x00\x02\x50\x01\x02", []any{uint8(1), uint8(2)}},
		{"described", "\x00\x53\x24\x45", described{0x24, []any{}}},
	} {
		got, rest, err := decode([]byte(test.bytes + "!"))
		if err != nil || string(rest) != "!" {
			t.Errorf("%s: rest %q, %v", test.name, rest, err)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(described{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		for cut := range len(test.bytes) {
			if _, _, err := decode([]byte(test.bytes[:cut])); !errors.Is(err, errShort) {
				t.Errorf("%s cut to %d bytes: %v", test.name, cut, err)
			}
		}
	}
}

func TestDecodeRefusesWhatIsNoValue(t *testing.T) {
	for _, test := range []struct{ name, bytes string }{
		{"no such type", "\x3f"},
		{"no such type of four bytes", "\x7f\x00\x00\x00\x00"},
		{"no such type of any length", "\xaf\x00"},
		{"symbolic descriptor", "\x00\xa3\x01a\x40"},
		{"map of half a pair", "\xc1\x02\x01\x40"},
		{"map with a list for a key", "\xc1\x03\x02\x45\x40"},
		{"more elements than bytes", "\xd0\x00\x00\x00\x04\xff\xff\xff\xff"},
		{"nested without end", strings.Repeat("\x00", 1000)},
	} {
		if v, _, err := decode([]byte(test.bytes)); err == nil {
			t.Errorf("%s: %v", test.name, v)
		}
	}
}

// What is encoded decodes to itself.
func TestEncode(t *testing.T) {
	long := strings.Repeat("long", 100)
	value := []any{
		nil, true, false, uint8(1), uint16(2), uint32(3), uint64(4), int32(-5), "text", long, symbol("symbol"),
		[]byte("bytes"),
		[]any{},
		map[string]any{"b": "2", "a": int32(1)},
		described{0x24, []any{"x"}},
	}
	got, rest, err := decode(encode(nil, value))
	if err != nil || len(rest) != 0 {
		t.Fatalf("rest %q, %v", rest, err)
	}
	if diff := cmp.Diff(any(value), got, cmp.AllowUnexported(described{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got, _, err = decode(encode(nil, []symbol{"a", "b"}))
	if diff := cmp.Diff(any([]any{symbol("a"), symbol("b")}), got); diff != "" || err != nil {
		t.Errorf("array: %v (-want +got):\n%s", err, diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xc1\x06\x02\xa3\x01k\x52\x05"))
	f.Add(encode(nil, described{0x10, []any{"id", map[string]any{"a": []byte{1}}, []symbol{"a"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, rest, err := decode(b); err == nil && len(rest) >= len(b) {
			t.Errorf("%d bytes left of %d", len(rest), len(b))
		}
		_, _, _ = parse(b)
	})
}
