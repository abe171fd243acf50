package main

import (
	"encoding/json"
	"fmt"

	"github.com/PaesslerAG/jsonpath"
)

func answerJSONPath(c json.RawMessage) any {
	var in struct {
		JSON json.RawMessage
		Path string
	}
	read(c, &in)
	var data any
	read(in.JSON, &data)
	value, err := jsonpath.Get(in.Path, data)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"value": marshal(value, false), "type": fmt.Sprintf("%T", value)}
}
