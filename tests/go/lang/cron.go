package main

import (
	"encoding/json"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

func answerCron(c json.RawMessage) any {
	var in struct{ Schedule, From, Zone string }
	read(c, &in)
	schedule, err := cron.ParseStandard(in.Schedule)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		panic(err)
	}
	at, err := time.Parse(time.RFC3339Nano, in.From)
	if err != nil {
		panic(err)
	}
	at = at.In(zone)
	next := []string{}
	for range 6 {
		at = schedule.Next(at)
		if at.IsZero() {
			next = append(next, "never")
			break
		}
		next = append(next, at.UTC().Format(time.RFC3339Nano))
	}
	return map[string]any{"next": next}
}
