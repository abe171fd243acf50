package main

import (
	"encoding/base64"
	"encoding/json"
)

func answerBase64(c json.RawMessage) any {
	var in text
	read(c, &in)
	decode := func(encoding *base64.Encoding) any {
		out, err := encoding.DecodeString(string(in))
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any{"bytes": text(out)}
	}
	return map[string]any{"standard": decode(base64.StdEncoding), "url": decode(base64.URLEncoding)}
}
