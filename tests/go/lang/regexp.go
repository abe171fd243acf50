package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"
)

func answerRegexp(c json.RawMessage) any {
	var in struct {
		Pattern, Text, Replace text
		Limit                  int
	}
	read(c, &in)
	re, err := regexp.Compile(string(in.Pattern))
	if err != nil {
		return map[string]any{"error": text(err.Error())}
	}
	s := string(in.Text)
	return map[string]any{
		"match":    re.MatchString(s),
		"names":    re.SubexpNames(),
		"captures": re.FindStringSubmatchIndex(s),
		"all":      re.FindAllStringIndex(s, -1),
		"some":     re.FindAllStringIndex(s, in.Limit),
		"replace":  text(re.ReplaceAllString(s, string(in.Replace))),
		"literal":  text(re.ReplaceAllLiteralString(s, string(in.Replace))),
		"split":    texts(re.Split(s, -1)),
		"pieces":   texts(re.Split(s, in.Limit)),
		"quoted":   text(regexp.QuoteMeta(s)),
	}
}

// answerClass lists the code points of some windows that a pattern of one class matches, as ranges of offsets in the
// text of all of them.
func answerClass(c json.RawMessage) any {
	var in struct {
		Pattern string
		Windows [][2]rune
	}
	read(c, &in)
	re, err := regexp.Compile("(?:" + in.Pattern + ")+")
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	var all []byte
	for _, window := range in.Windows {
		for r := window[0]; r <= window[1]; r++ {
			if utf8.ValidRune(r) {
				all = utf8.AppendRune(all, r)
			}
		}
	}
	return fmt.Sprint(re.FindAllIndex(all, -1))
}
