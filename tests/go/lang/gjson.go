package main

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

func answerGJSON(c json.RawMessage) any {
	var in struct{ JSON, Path text }
	read(c, &in)
	r := gjson.Get(string(in.JSON), string(in.Path))
	return map[string]any{"exists": r.Exists(), "type": r.Type.String(), "raw": text(r.Raw), "text": text(r.String())}
}
