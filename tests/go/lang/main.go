// Command lang answers tables of cases with the Go libraries the External Secrets Operator uses.
//
// Usage: lang LANGUAGE < cases.json > answers.json
//
// Cases and answers are JSON arrays of the same length. Texts that are not UTF-8 are objects {"b64": "..."}.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"unicode/utf8"
)

var languages = map[string]func(json.RawMessage) any{
	"regexp":   answerRegexp,
	"classes":  answerClass,
	"gojson":   answerJSON,
	"duration": answerDuration,
	"gjson":    answerGJSON,
	"jsonpath": answerJSONPath,
	"cron":     answerCron,
	"float":    answerFloat,
	"base64":   answerBase64,
}

func main() {
	if len(os.Args) != 2 || languages[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: lang LANGUAGE < cases.json")
		os.Exit(2)
	}
	var cases []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
		os.Exit(1)
	}
	answers := make([]any, 0, len(cases))
	for _, c := range cases {
		answers = append(answers, answer(languages[os.Args[1]], c))
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, "answers:", err)
		os.Exit(1)
	}
}

// answer turns a panic of a library into an answer, so that one case cannot hide the others.
func answer(language func(json.RawMessage) any, c json.RawMessage) (result any) {
	defer func() {
		if fault := recover(); fault != nil {
			result = map[string]any{"panic": fmt.Sprint(fault)}
		}
	}()
	return language(c)
}

func read(c json.RawMessage, into any) {
	if err := json.Unmarshal(c, into); err != nil {
		panic(fmt.Sprintf("bad case %s: %v", c, err))
	}
}

// text is a string of a case or an answer that may hold any bytes.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		*t = text(plain)
		return nil
	}
	var coded struct{ B64 []byte }
	if err := json.Unmarshal(raw, &coded); err != nil {
		return err
	}
	*t = text(coded.B64)
	return nil
}

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string]string{"b64": base64.StdEncoding.EncodeToString([]byte(t))})
}

func texts(list []string) []text {
	out := make([]text, 0, len(list))
	for _, s := range list {
		out = append(out, text(s))
	}
	return out
}
