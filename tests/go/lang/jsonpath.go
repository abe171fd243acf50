package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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
	answer := map[string]any{"value": marshal(value, false), "type": fmt.Sprintf("%T", value)}
	// The library walks maps in Go's random order; with more than one order every answer seen is as right as the first.
	seen := map[string]bool{}
	for range 200 {
		if value, err := jsonpath.Get(in.Path, data); err == nil {
			seen[marshal(value, false)] = true
		}
	}
	if len(seen) > 1 {
		answer["among"] = slices.Sorted(maps.Keys(seen))
	}
	return answer
}
