package main

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

func answerJSON(c json.RawMessage) any {
	var in text
	read(c, &in)
	out := map[string]any{"any": anyJSON([]byte(in)), "raw": rawJSON([]byte(in)), "string": text(marshal(string(in), true))}
	out["plain"] = text(marshal(string(in), false))
	return out
}

func marshal(value any, escape bool) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(escape)
	if err := encoder.Encode(value); err != nil {
		return "error: " + err.Error()
	}
	return string(bytes.TrimSuffix(buffer.Bytes(), []byte("\n")))
}

func anyJSON(source []byte) any {
	var value any
	if err := json.Unmarshal(source, &value); err != nil {
		return map[string]any{"error": text(err.Error())}
	}
	return map[string]any{"html": text(marshal(value, true)), "plain": text(marshal(value, false))}
}

func rawJSON(source []byte) any {
	var value map[string]json.RawMessage
	if err := json.Unmarshal(source, &value); err != nil {
		return map[string]any{"error": text(err.Error())}
	}
	members := map[string]any{}
	for name, raw := range value {
		members[name] = map[string]any{"raw": text(raw), "html": text(marshal(raw, true)), "plain": text(marshal(raw, false))}
	}
	return members
}

func answerFloat(c json.RawMessage) any {
	var bits string
	read(c, &bits)
	value, err := strconv.ParseFloat(bits, 64)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{
		"json":       marshal(value, true),
		"plain":      strconv.FormatFloat(value, 'f', -1, 64),
		"scientific": strconv.FormatFloat(value, 'e', -1, 64),
		"general":    strconv.FormatFloat(value, 'g', -1, 64),
		"f32":        strconv.FormatFloat(float64(float32(value)), 'g', -1, 32),
	}
}

func answerDuration(c json.RawMessage) any {
	var in string
	read(c, &in)
	d, err := time.ParseDuration(in)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"nanos": strconv.FormatInt(int64(d), 10), "text": d.String()}
}
