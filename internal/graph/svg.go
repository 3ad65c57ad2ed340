package graph

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"
)

// Colors that people with any color vision can distinguish: https://jfly.uni-koeln.de/color/.
const (
	green     = "#009e73"
	vermilion = "#d55e00"
	orange    = "#e69f00"
	sky       = "#56b4e9"
	blue      = "#0072b2"
	gray      = "#6b7280"

	ink       = "#1f2933" // text
	pale      = "#52606d" // text of less weight
	outline   = "#9aa5b1"
	paper     = "#ffffff"
	tint      = "#f5f7fa"
	padding   = 16.0
	textSize  = 11.0
	titleSize = 14.0
	rowHeight = 15.0
	typeSize  = 9.0
)

// box is where something is drawn, in pixels.
type box struct{ X, Y, Width, Height float64 }

// canvas is an SVG drawing. It has its own background, so that it is legible on any page.
type canvas struct{ out strings.Builder }

func (c *canvas) printf(format string, values ...any) { fmt.Fprintf(&c.out, format, values...) }

// add adds elements.
func (c *canvas) add(elements string) { c.out.WriteString(elements) }

// newCanvas begins a drawing of a size.
func newCanvas(width, height float64, title string) *canvas {
	c := &canvas{}
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f"`, width, height)
	c.printf(` viewBox="0 0 %.0f %.0f"`, width, height)
	c.printf(` font-family="Helvetica, Arial, sans-serif" font-size="%.0f">`+"\n<title>%s</title>\n", textSize, escape(title))
	c.rect(box{0, 0, width, height}, 0, `fill="`+paper+`"`)
	return c
}

// end ends the drawing and returns it.
func (c *canvas) end() string {
	c.add("</svg>\n")
	return c.out.String()
}

// rect draws a rectangle with round corners.
func (c *canvas) rect(b box, round float64, style string) {
	c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.0f" %s/>`+"\n", b.X, b.Y, b.Width, b.Height, round, style)
}

// label is a line of text.
type label struct {
	X, Y float64 // of the baseline
	Text string
	// Size is textSize by default, Color ink, and Room unlimited. Text that is longer than Room is
	// cut, and shown as a whole when the pointer is on it.
	Size  float64
	Color string
	Bold  bool
	Room  float64
}

// text draws a line of text.
func (c *canvas) text(l label) {
	weight, whole := "", ""
	if l.Bold {
		weight = ` font-weight="bold"`
	}
	shown := l.shown()
	if all := printable(l.Text); all != shown {
		whole = "<title>" + escape(all) + "</title>"
	}
	c.printf(
		`<text x="%.1f" y="%.1f" font-size="%.0f" fill="%s"%s>%s%s</text>`+"\n",
		l.X, l.Y, cmp.Or(l.Size, textSize), cmp.Or(l.Color, ink), weight, whole, escape(shown),
	)
}

// shown returns the text that fits into the room.
func (l *label) shown() string {
	return fit(printable(l.Text), cmp.Or(l.Size, textSize), l.Bold, l.Room)
}

// printable replaces characters that are not shown, and could change the text around them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// escape returns a text for XML.
func escape(text string) string {
	var w strings.Builder
	_ = xml.EscapeText(&w, []byte(text)) // A strings.Builder returns no errors.
	return w.String()
}

// fit cuts a text to the width of a room, 0 for any.
func fit(text string, size float64, bold bool, room float64) string {
	if room == 0 || width(text, size, bold) <= room {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && width(string(runes)+"…", size, bold) > room {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// width estimates the width of a text, rather too high: fonts differ.
func width(text string, size float64, bold bool) float64 {
	const narrow, usual, wide, widest, heavier = 0.4, 0.65, 1, 1.1, 1.13
	sum := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("fijltI.,:;'|!()[]/ ", r):
			sum += narrow
		case strings.ContainsRune("mwMW@%", r):
			sum += wide
		case r > unicode.MaxLatin1:
			sum += widest
		default:
			sum += usual
		}
	}
	if bold {
		sum *= heavier
	}
	return sum * size
}

// wrap breaks a text into lines of a width, between words.
func wrap(text string, room float64) []string {
	var lines []string
	for word := range strings.FieldsSeq(printable(text)) {
		last := len(lines) - 1
		if last >= 0 && width(lines[last]+" "+word, textSize, false) <= room {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
